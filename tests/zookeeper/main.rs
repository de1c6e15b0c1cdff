//! The ZooKeeper store over real servers.

mod contract;
mod ground;

tenure_testkit::peer_process!();

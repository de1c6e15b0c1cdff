//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod ground;
mod latch;

tenure_testkit::peer_process!();

//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod ground;
mod interop;
mod latch;
mod quorum;

tenure_testkit::peer_process!();

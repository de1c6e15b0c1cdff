//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod ground;
mod interop;
mod latch;
mod quorum;
mod session;

tenure_testkit::peer_process!();

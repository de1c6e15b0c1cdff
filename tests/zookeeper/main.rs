//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod flood;
mod ground;
mod interop;
mod latch;
mod quorum;
mod schedule;
mod session;
mod stall;
mod storm;
mod tls;

tenure_testkit::peer_process!();

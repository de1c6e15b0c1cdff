//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod flood;
mod interop;
mod latch;
mod listing;
mod quorum;
mod schedule;
mod session;
mod stall;
mod stopped;
mod storm;
mod support;
mod tls;

// What every store must stand.
#[path = "../shared/listing/mod.rs"]
mod shared_listing;

tenure_testkit::peer_process!();

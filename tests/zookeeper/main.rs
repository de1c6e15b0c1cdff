//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod flood;
mod interop;
mod latch;
mod listing;
mod nonsense;
mod orphans;
mod own_nodes;
mod quorum;
mod runs;
mod same_session;
mod schedule;
mod session;
mod stall;
mod stopped;
mod storm;
mod support;
mod tls;
mod turns;

tenure_testkit::peer_process!();

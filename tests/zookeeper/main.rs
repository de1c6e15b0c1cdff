//! The ZooKeeper store over real servers.

mod access;
mod contract;
mod flood;
mod ground;
mod interop;
mod latch;
mod listing;
mod quorum;
mod schedule;
mod session;
mod stall;
mod stopped;
mod storm;
mod tls;

// What every store must stand.
#[path = "../shared/listing/damage.rs"]
mod listing_damage;
#[path = "../shared/listing/ledgers.rs"]
mod listing_ledgers;
#[path = "../shared/listing/prune.rs"]
mod listing_prune;

tenure_testkit::peer_process!();

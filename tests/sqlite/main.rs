//! The SQLite store: the contract, its files, and many processes on one of them.

mod at_once;
mod boots;
mod contract;
mod crash;
mod faults;
mod kills;
mod linger;
mod listing;
mod nonsense;
mod opening;
mod own;
mod places;
mod schedule;
mod strangers;
mod support;
mod waiting;

// What every store must stand.
#[path = "../shared/same_chance.rs"]
mod same_chance;
#[path = "../shared/linger/mod.rs"]
mod shared_linger;
#[path = "../shared/listing/mod.rs"]
mod shared_listing;

tenure_testkit::peer_process!();

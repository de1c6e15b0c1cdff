//! The SQLite store: the contract, its files, and many processes on one of them.

mod boots;
mod contract;
mod crash;
mod faults;
mod kills;
mod linger;
mod listing;
mod nonsense;
mod opening;
mod places;
mod schedule;
mod strangers;
mod support;
mod waiting;

// What every store must stand.
#[path = "../shared/linger/mod.rs"]
mod shared_linger;
#[path = "../shared/listing/mod.rs"]
mod shared_listing;

tenure_testkit::peer_process!();

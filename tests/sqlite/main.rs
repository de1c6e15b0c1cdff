//! The SQLite store: the contract, its files, and many processes on one of them.

mod boots;
mod contract;
mod crash;
mod faults;
mod kills;
mod listing;
mod nonsense;
mod opening;
mod places;
mod schedule;
mod strangers;
mod support;
mod waiting;

// What every store must stand.
#[path = "../shared/listing/damage.rs"]
mod listing_damage;
#[path = "../shared/listing/ledgers.rs"]
mod listing_ledgers;
#[path = "../shared/listing/prune.rs"]
mod listing_prune;

tenure_testkit::peer_process!();

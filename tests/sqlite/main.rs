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
mod small_disk;
mod strangers;
mod support;
mod waiting;

tenure_testkit::peer_process!();

//! The SQLite store: the contract, its files, and many processes on one of them.

mod boots;
mod contract;
mod crash;
mod faults;
mod kills;
mod opening;
mod places;
mod schedule;
mod strangers;
mod support;
mod waiting;

tenure_testkit::peer_process!();

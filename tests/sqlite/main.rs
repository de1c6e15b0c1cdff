//! The SQLite store: the contract, its files, and many processes on one of them.

mod contract;
mod crash;
mod opening;
mod support;

tenure_testkit::peer_process!();

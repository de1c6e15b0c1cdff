//! MySQL and MariaDB: the contract, and what only this store has.

mod accounts;
mod contract;
mod counts;
mod dialect;
mod galera;
mod jvm;
mod listing;
mod odd_tables;
mod purposes;
mod splitter;
mod swapper;
mod tables;
mod zone;

// What both SQL stores must stand.
#[path = "../shared/sql/mod.rs"]
mod sql;

pub(crate) use sql::odd;
pub(crate) use sql::support::{self, SERVER};
pub(crate) use tenure_testkit::servers::MariaDb as Server;

tenure_testkit::peer_process!();

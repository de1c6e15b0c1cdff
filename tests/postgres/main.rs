//! PostgreSQL: the contract, and what only this store has.

mod contract;
mod counts;
mod dialect;
mod disk;
mod frames;
mod listing;
mod notify;
mod odd_tables;
mod pooler;
mod races;
mod session;
mod splitter;
mod standby;

// What both SQL stores must stand.
#[path = "../shared/sql/mod.rs"]
mod sql;

pub(crate) use sql::odd;
pub(crate) use sql::support::{self, SERVER};
pub(crate) use tenure_testkit::servers::Postgres as Server;

tenure_testkit::peer_process!();

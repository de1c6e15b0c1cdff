//! MySQL and MariaDB, on the table `simba_mutex`, which JVM Simba contenders
//! may share: `mysql://user:password@host/database`.
//!
//! No push: one batched look for all who wait in this process sees a graceful
//! release within tens of milliseconds. No order: any waiter may win. The
//! store's number of a grant is the row's `version`. The table has no room for
//! a nonce, so an answer that was lost is found again only under an id that
//! belongs to one bid. `docs/stores/mysql.md` says the rest: options,
//! privileges, costs, what survives which failure.

mod asks;
mod client;
mod config;
mod doctor;
mod driver;
mod ledger;
mod ledger_statements;
mod ledgers;
mod listing;
mod prune;
mod schema;
mod stamp;
mod statements;

pub use client::MySql;
pub(crate) use config::open;
pub use config::schema;

//! PostgreSQL: `postgres://user:password@host/database`.
//!
//! Leases are rows of one table, never advisory locks, so nothing leaks or
//! vanishes under a pooler. A take costs one round trip whether it wins or is
//! refused. A release tells those who wait by NOTIFY; behind a transaction
//! pooler, which cannot carry LISTEN, `notify=off` looks instead. No order: any
//! waiter may win. `docs/stores/postgres.md` says the rest: options,
//! privileges, costs, what survives which failure.

mod asks;
mod client;
mod config;
mod doctor;
mod driver;
mod ledger;
mod ledger_statements;
mod ledgers;
mod listen;
mod prune;
mod schema;
mod statements;
mod wire;

pub use client::Postgres;
pub(crate) use config::open;
pub use config::schema;

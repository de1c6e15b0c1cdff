//! PostgreSQL: `postgres://user:password@host/database`.
//!
//! Leases are rows of one table, never advisory locks, so nothing leaks or
//! vanishes under a pooler. A take costs one round trip whether it wins or is
//! refused. A release tells those who wait by NOTIFY; behind a transaction
//! pooler, which cannot carry LISTEN, `notify=off` looks instead. No order: any
//! waiter may win. `docs/stores/postgres.md` says the rest: options,
//! privileges, costs, what survives which failure.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config` | what the URL says |
//! | `connect` | how a connection is made |
//! | `client` | the client: the seam to the rest |
//! | `statements` | the statements as text |
//! | `calls` | the statements with their values and answers |
//! | `wire` | how a statement travels: one message |
//! | `watch` | hints by LISTEN and NOTIFY |
//! | `ledger` | the run ledger of schedules |
//! | `ledger_statements` | its statements as text |
//! | `ledgers` | all of them, a page at a time |
//! | `list` | mutexes, a page at a time |
//! | `prune` | removing what nobody has used for long |
//! | `schema` | the tables: made, looked at, explained |
//! | `health` | what a person should know |
//! | `error` | the driver's errors as ours |

mod calls;
mod client;
mod config;
mod connect;
mod error;
mod health;
mod ledger;
mod ledger_statements;
mod ledgers;
mod list;
mod prune;
mod schema;
mod statements;
mod watch;
mod wire;

pub use client::Postgres;
pub(crate) use config::open;
pub use config::schema;

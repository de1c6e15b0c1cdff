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
//! | `config` | what the options say |
//! | `options` | the options, set in code |
//! | `words` | what the URLs of others say |
//! | `dialect` | how the server is spoken to; the client is that of `sql` |
//! | `acquire` | taking a mutex, in one statement |
//! | `renew` | renewing a batch, in one statement |
//! | `statements` | the statements as text |
//! | `calls` | the statements with their values and answers |
//! | `wire` | how a statement travels: one message |
//! | `watch` | hints by LISTEN and NOTIFY |
//! | `ledger` | the run ledger of schedules, and pages of them |
//! | `ledger_statements` | its statements as text |
//! | `prune` | removing what no process has used for long |
//! | `schema` | the tables: made, looked at, explained |
//! | `health` | what a person should know |
//! | `error` | the driver's errors as ours |

mod acquire;
mod calls;
mod config;
mod dialect;
mod error;
mod health;
mod ledger;
mod ledger_statements;
mod options;
mod prune;
mod renew;
mod schema;
mod statements;
mod watch;
mod wire;
mod words;

pub(super) use config::open;
pub use config::schema;
pub use options::PostgresOptions;

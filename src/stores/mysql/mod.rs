//! MySQL and MariaDB, on the table `simba_mutex`, which JVM Simba contenders
//! may share: `mysql://user:password@host/database`.
//!
//! No push: one batched look for all who wait in this process sees a graceful
//! release within tens of milliseconds. No order: any waiter may win. The
//! store's number of a grant is the row's `version`. The table has no room for
//! a nonce, so an answer that was lost is found again only under an id that
//! belongs to one bid. `docs/stores/mysql.md` says the rest: options,
//! privileges, costs, what survives which failure.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config` | what the URL says |
//! | `connect` | how a connection is made |
//! | `client` | the client: the seam to the rest |
//! | `statements` | the statements as text |
//! | `calls` | the statements with their values and answers |
//! | `ledger` | the run ledger of schedules |
//! | `ledger_statements` | its statements as text |
//! | `ledgers` | all of them, a page at a time |
//! | `list` | mutexes, a page at a time |
//! | `prune` | removing what nobody has used for long |
//! | `schema` | the tables: made, looked at, explained |
//! | `health` | what a person should know |
//! | `clock` | the server's time in the answer to an UPDATE |
//! | `error` | the driver's errors as ours |

mod calls;
mod client;
mod clock;
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

pub use client::MySql;
pub(crate) use config::open;
pub use config::schema;

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
//! | `config` | what the options say |
//! | `options` | the options, set in code |
//! | `words` | what the URLs of others say |
//! | `dialect` | how these servers are spoken to; the client is that of `sql` |
//! | `acquire` | taking a mutex, in several statements |
//! | `renew` | renewing a batch, and finding out which of it was |
//! | `statements` | the statements as text |
//! | `takes` | those that take a free row |
//! | `purpose` | what a mutex is wanted for, where the table has room for it |
//! | `calls` | the statements with their values and answers |
//! | `ledger` | the run ledger of schedules, and pages of them |
//! | `ledger_statements` | its statements as text |
//! | `list` | mutexes, a page at a time |
//! | `prune` | removing what no process has used for long |
//! | `schema` | the tables: made, looked at, explained |
//! | `health` | what a person should know |
//! | `skew` | whether the clocks of a cluster's nodes agree |
//! | `stamp` | a grant's number and the server's time, in the answer to an UPDATE |
//! | `error` | the driver's errors as ours |
//! | `fuzzing` | rows that a fuzzer makes up |

mod acquire;
mod calls;
mod config;
mod dialect;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod ledger;
mod ledger_statements;
mod list;
mod options;
mod prune;
mod purpose;
mod renew;
mod schema;
mod skew;
mod stamp;
mod statements;
mod takes;
mod words;

pub(super) use config::open;
pub use config::schema;
pub use options::MySqlOptions;

//! What the SQL stores share: the client, over a [`Dialect`] that says how its
//! database is spoken to.
//!
//! | file | what it is |
//! | --- | --- |
//! | `client` | the client: the seam to the rest |
//! | `dialect` | what a database has of its own |
//! | `question` | what every database is asked, and what it replies |
//! | `config` | what the options say that both stores have |
//! | `options` | the same, set in code |
//! | `words` | what URLs for other clients say, of both databases |
//! | `origin` | what a connection is made with, asked for anew every time |
//! | `schema` | the tables: made if they are missing, and explained |
//! | `health` | what a person should know |
//! | `ledger` | the run ledger of schedules |
//! | `ledgers` | all of them, a page at a time |
//! | `list` | mutexes, a page at a time |
//! | `prune` | removing what has been free for long |
//! | `watch` | who waits or observes in this process |
//! | `poll` | one adaptive look for all of them together |
//! | `batch` | many renewals in few statements |
//! | `row` | a row of the mutex table |
//! | `pool` | a few supervised connections; a call that is given up ends without harm |

mod batch;
mod client;
mod config;
mod dialect;
mod health;
mod ledger;
mod ledgers;
mod list;
mod options;
mod origin;
mod poll;
mod pool;
mod prune;
mod question;
mod row;
pub(super) mod schema;
mod watch;
mod words;

pub(super) use batch::{Passed, extended};
#[cfg(feature = "mysql")]
pub(super) use batch::{locked, padded};
pub(super) use client::Client;
pub use config::TlsMode;
pub(super) use config::{Settings, Target, Tls, read, way};
pub(super) use dialect::Dialect;
pub(super) use ledger::{ByNotes, CLAIM_TRIES, LedgerRow, unexplained};
pub(super) use ledgers::ledger_line;
pub(super) use options::sql_options;
pub(super) use origin::{NotConnected, Origin};
pub(super) use poll::POLL;
#[cfg(feature = "postgres")]
pub(super) use pool::Limits;
pub(super) use pool::{Answers, Driver, Effect, Fault, Question};
pub(super) use prune::Removed;
pub(super) use question::questions;
pub(super) use question::{
    ClaimTick, Create, Find, FindMany, FinishTick, Found, Free, Freed, Inspect, LedgerRows, List,
    ListLedgers, ReadLedger, Rows, Survey, Surveyed,
};
pub(super) use row::{Row, text};
#[cfg(feature = "postgres")]
pub(super) use watch::Registry;
pub(super) use words::LIMIT;
#[cfg(feature = "mysql")]
pub(super) use words::ON_OFF;

//! What the SQL stores share: supervised connections, one batched poll for
//! all who wait, and the shape of a row.
//!
//! | file | what it is |
//! | --- | --- |
//! | `pool` | a few supervised connections; a call that is given up ends without harm |
//! | `watch` | who waits or observes in this process |
//! | `poll` | one adaptive look for all of them together |
//! | `batch` | many renewals in few statements |
//! | `row` | a row of the mutex table |
//! | `settings` | the URL options that both stores have |

mod batch;
mod poll;
mod pool;
mod row;
mod settings;
mod watch;

pub(super) use batch::{Passed, Renewing, renew};
#[cfg(feature = "mysql")]
pub(super) use batch::{locked, padded};
pub(super) use poll::{Look, POLL, Seen, poll};
#[cfg(feature = "postgres")]
pub(super) use pool::Limits;
pub(super) use pool::{Ask, Driver, Effect, Fault, Pool};
pub(super) use row::{Row, damaged_ledger, page, text};
pub(super) use settings::{Settings, Tls, TlsMode};
pub(super) use watch::Watch;

//! Ownership in this process's memory: for tests, for one process, and as the
//! reference for the [contract](crate::backend).
//!
//! Complete: first come, first served, push, tokens, ledger. It forgets
//! everything with the process.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config` | what the URL says |
//! | `client` | the client: the seam to the rest |
//! | `table` | the rules of the store, and its ledger |
//! | `queue` | the waiters of one mutex, and the place kept free for the first |
//! | `watch` | who listens in this process, and what they are told |

mod client;
mod config;
mod queue;
mod table;
mod watch;

pub use client::Memory;
pub(crate) use config::open;
#[doc(hidden)]
pub use table::Table;
#[doc(hidden)]
pub use watch::Audience;

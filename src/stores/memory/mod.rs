//! Ownership in this process's memory: for tests, for one process, and as the
//! reference for the [contract](crate::backend).
//!
//! Complete: first come, first served, push, tokens, ledger. It forgets
//! everything with the process.

mod client;
mod config;
mod ears;
mod line;
mod table;

pub use client::Memory;
pub(crate) use config::open;
#[doc(hidden)]
pub use ears::Ears;
#[doc(hidden)]
pub use table::Table;

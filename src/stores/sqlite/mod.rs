//! The embedded store: one SQLite file for the processes of one Linux host.
//!
//! `sqlite:PATH`, relative or absolute. Nothing must be set up: the file is
//! created with its tables, readable and writable for its owner only. Further
//! options: `synchronous=normal|full`, `mode=0600`, `busy_timeout=1s`,
//! `wake=inotify|poll`, and the lease terms. `docs/stores/sqlite.md` tells what
//! survives which failure.
//!
//! - **One clock.** Leases are measured on `CLOCK_BOOTTIME`, which all
//!   processes of a host share and nobody can set; a grant of an earlier boot
//!   is void. That the boot is another is believed only while nobody else has
//!   the file in use. The wall clock decides nothing. Network file systems are refused,
//!   because the processes of another host have another clock.
//! - **One thread** per client owns the connection and its prepared statements.
//! - **A bell.** After the commit of a release the releaser writes to
//!   `PATH-bell`; every waiting process watches that file and reads its rows
//!   once. A waiting process writes nothing.

mod bell;
mod boot;
mod check;
mod client;
mod config;
mod database;
mod ears;
mod epoch;
mod file;
mod header;
mod inode;
mod ledger;
mod listing;
mod prune;
mod safely;
mod schema;
mod survey;
mod table;
mod trouble;
mod worker;

pub use client::Sqlite;

pub(crate) use client::open;
pub(crate) use config::check as check_url;
pub(crate) use schema::TABLES as SETUP;

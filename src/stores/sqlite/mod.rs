//! The embedded store: one SQLite file for the processes of one Linux host.
//!
//! `sqlite:PATH`, relative or absolute. Nothing must be set up: the file is
//! created with its tables, readable and writable for its owner only. Further
//! options: `synchronous=normal|full`, `mode=0600`, `busy_timeout=1s`,
//! `wake=inotify|poll`, and the lease terms. `docs/stores/sqlite.md` tells what
//! survives which failure.
//!
//! - **One clock.** Leases are measured on `CLOCK_BOOTTIME`, which all
//!   processes of a host share and none can set; a grant of an earlier boot
//!   is void. That the boot is another is believed only while no other process
//!   has the file in use. The wall clock decides nothing. Network file systems are refused,
//!   because the processes of another host have another clock.
//! - **One connection** per client, with its prepared statements. A caller uses
//!   it by itself when no other is in the way; what would have to wait is done by
//!   a thread.
//! - **A wake file.** After the commit of a release the releaser writes to
//!   `PATH-bell` if a process waits; every waiting process watches that file and reads its rows
//!   once. A waiting process writes nothing.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config` | what the options say |
//! | `options` | the options, set in code |
//! | `pragmas` | the key of the file, and what the application sets |
//! | `client` | the client: the seam to the rest |
//! | `shared_connection` | who has the connection: a caller, or the thread |
//! | `worker` | what has the connection, and the thread that does what must wait |
//! | `database` | the connection: opened, used, opened again |
//! | `before_open` | what lies at the path, and whether SQLite may open it |
//! | `file` | the files: where they lie, who made them |
//! | `open` | opening a file in a folder that others may write |
//! | `header` | whose a database is, by its bytes alone |
//! | `inode` | the file itself, held open and locked |
//! | `job` | what is given to the thread, and how its answer is told |
//! | `audience` | who listens to the wake file, in this process and in others |
//! | `presence` | the lock that says who lives |
//! | `table` | the rules of the store, over its rows |
//! | `clock` | the clock that all processes of the host share |
//! | `epoch` | where that clock stands, and for which boot |
//! | `watch` | who listens in this process, and what they are told |
//! | `wake_file` | the file that says "look again" |
//! | `ledger` | the run ledger of schedules |
//! | `list` | mutexes, a page at a time |
//! | `prune` | removing what no process has used for long |
//! | `schema` | the tables: made, looked at, explained |
//! | `health` | what a person should know |
//! | `error` | the driver's errors as ours |

mod audience;
mod before_open;
mod client;
mod clock;
mod config;
mod database;
mod epoch;
mod error;
mod file;
mod header;
mod health;
mod inode;
mod job;
mod ledger;
mod list;
mod open;
mod options;
mod pragmas;
mod presence;
mod prune;
mod schema;
mod shared_connection;
mod table;
mod wake_file;
mod watch;
mod worker;

pub use client::Sqlite;
pub use options::{SqliteOptions, Synchronous, Wake};

pub(crate) use config::{check as check_options, open};
pub(crate) use schema::TABLES as SETUP;

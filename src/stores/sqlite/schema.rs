//! The tables, and whose they are.

use rusqlite::Connection;

use super::error::{conflict, failed};
use crate::error::Result;

/// `tenr`, in the header of every file of ours.
pub(super) const APPLICATION_ID: u32 = 0x7465_6e72;

/// The number of the present layout.
const VERSION: i64 = 1;

/// Times are milliseconds since 1970 on the store's clock. A mutex without an
/// owner has the id `''` and keeps its version, so that tokens rise.
pub(crate) const TABLES: &str = "
CREATE TABLE simba_mutex (
    mutex         TEXT    NOT NULL PRIMARY KEY,
    acquired_at   INTEGER NOT NULL,
    ttl_at        INTEGER NOT NULL,
    transition_at INTEGER NOT NULL,
    owner_id      TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    boot_id       TEXT    NOT NULL,
    nonce         BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tenure_schedule (
    mutex         TEXT    NOT NULL PRIMARY KEY,
    plan          TEXT    NOT NULL,
    origin        INTEGER NOT NULL,
    last_tick     INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    token         INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    finished_at   INTEGER,
    run           TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE tenure_clock (
    one           INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    boot_id       TEXT    NOT NULL,
    epoch         INTEGER NOT NULL
) STRICT;
";

/// Whose file this is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// No program's yet: it is empty.
    Nobodys,
    Ours,
}

/// Says whose file it is, and changes nothing.
///
/// # Errors
/// [`Conflict`](crate::ErrorKind::Conflict) when it is another program's, or of a
/// newer layout.
pub(super) fn whose(connection: &Connection) -> Result<Whose> {
    let id: i64 = pragma(connection, "application_id")?;
    let version: i64 = pragma(connection, "user_version")?;
    let tables = tables(connection).map_err(failed)?;
    // Ours without tables: the process that created it died there.
    if (id == 0 || id == i64::from(APPLICATION_ID)) && tables.is_empty() {
        return Ok(Whose::Nobodys);
    }
    if id != i64::from(APPLICATION_ID) {
        let seen = match tables.as_slice() {
            [] => format!("its application id is {id:#x}"),
            tables => format!("it has the tables {}", tables.join(", ")),
        };
        return Err(conflict(format!(
            "the SQLite file belongs to another program ({seen}): give Tenure a file of its own"
        )));
    }
    if version != VERSION {
        return Err(conflict(format!(
            "the SQLite file has layout {version}, this program knows {VERSION}: use the same \
             version of Tenure everywhere, or another file"
        )));
    }
    Ok(Whose::Ours)
}

/// Says whose it is in the file itself, before there is a log: who looks at
/// nothing but the file can tell.
pub(super) fn claim(connection: &Connection) -> Result<()> {
    connection
        .pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(failed)
}

/// Creates the tables, in a transaction of the caller.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// Adds what files of earlier versions lack. Those versions go on working with
/// the file: they name the columns they write, and leave this one empty.
pub(super) fn extend(connection: &Connection) -> rusqlite::Result<()> {
    let has_run = "SELECT count(*) FROM pragma_table_info('tenure_schedule') WHERE name = 'run'";
    let lacks_run = || connection.query_row(has_run, [], |row| row.get(0).map(|n: i64| n == 0));
    if !lacks_run()? {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Another process may have been first.
    let added = lacks_run().and_then(|lacks| match lacks {
        true => connection.execute_batch("ALTER TABLE tenure_schedule ADD COLUMN run TEXT"),
        false => Ok(()),
    });
    let end = if added.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    added
}

fn pragma(connection: &Connection, name: &str) -> Result<i64> {
    connection
        .pragma_query_value(None, name, |row| row.get(0))
        .map_err(failed)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

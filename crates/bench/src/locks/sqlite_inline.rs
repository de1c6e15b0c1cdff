//! The two statements of the embedded store, inline on the caller's thread.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, params};

use super::{Lock, Locks, path};
use crate::Result;

/// Long enough for a take and a free.
const LEASE: Duration = Duration::from_secs(16);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS bare (mutex TEXT NOT NULL PRIMARY KEY, \
     acquired_at INTEGER NOT NULL, ttl_at INTEGER NOT NULL, transition_at INTEGER NOT NULL, \
     owner_id TEXT NOT NULL, version INTEGER NOT NULL, nonce BLOB NOT NULL) STRICT, WITHOUT ROWID";

const TAKE: &str = "INSERT INTO bare (mutex, acquired_at, ttl_at, transition_at, owner_id, \
     version, nonce) VALUES (?1, ?2, ?3, ?3, ?4, 1, ?5) ON CONFLICT (mutex) DO UPDATE SET \
     acquired_at = excluded.acquired_at, ttl_at = excluded.ttl_at, \
     transition_at = excluded.transition_at, owner_id = excluded.owner_id, \
     version = version + 1, nonce = excluded.nonce WHERE transition_at < excluded.acquired_at";

const FREE: &str = "UPDATE bare SET acquired_at = 0, ttl_at = 0, transition_at = 0, \
     owner_id = '', nonce = x'' WHERE mutex = ?1 AND owner_id = ?2";

/// One connection, as a process has.
#[derive(Clone, Debug)]
pub struct SqliteInline(Arc<Mutex<Connection>>);

/// A row.
#[derive(Debug)]
pub struct Row {
    connection: Arc<Mutex<Connection>>,
    name: String,
    id: String,
}

impl Locks for SqliteInline {
    type Lock = Row;

    async fn open(url: &str) -> Result<Self> {
        let connection = Connection::open(format!("{}.bare", path(url)))?;
        connection.busy_timeout(LEASE)?;
        let mode = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        connection.pragma_update_and_check(None, "journal_mode", "wal", mode)?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.execute_batch(TABLE)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    fn lock(&self, name: &str) -> Result<Row> {
        Ok(Row {
            connection: Arc::clone(&self.0),
            name: name.to_owned(),
            id: format!("worker-{}", std::process::id()),
        })
    }
}

impl Lock for Row {
    async fn take(&mut self) -> Result<()> {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_millis() as i64;
        let until = now + LEASE.as_millis() as i64;
        let connection = self.connection.lock().expect("no panic");
        let mut take = connection.prepare_cached(TAKE)?;
        let nonce = [7_u8; 16];
        match take.execute(params![self.name, now, until, self.id, nonce])? {
            1 => Ok(()),
            _ => Err("another has it, and nobody tells when it is freed".into()),
        }
    }

    async fn free(&mut self) -> Result<()> {
        let connection = self.connection.lock().expect("no panic");
        let mut free = connection.prepare_cached(FREE)?;
        match free.execute(params![self.name, self.id])? {
            1 => Ok(()),
            _ => Err("it was not taken".into()),
        }
    }
}

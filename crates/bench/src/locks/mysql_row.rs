//! The row that Tenure writes in MySQL and MariaDB, updated by two bare statements.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, Executor, MySqlConnection};
use tokio::sync::Mutex;

use super::{Lock, Locks, plain, unique_id};
use crate::Result;

/// Long enough for a take and a free.
const LEASE: Duration = Duration::from_secs(16);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS bare (mutex varchar(66) NOT NULL PRIMARY KEY, \
     acquired_at bigint NOT NULL, ttl_at bigint NOT NULL, transition_at bigint NOT NULL, \
     owner_id varchar(128) NOT NULL, version bigint NOT NULL)";

const INSERT: &str = "INSERT IGNORE INTO bare VALUES (?, 0, 0, 0, '', 0)";

const TAKE: &str = "UPDATE bare SET acquired_at = ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000), \
     ttl_at = ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) + ?, \
     transition_at = ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) + ?, owner_id = ?, \
     version = version + 1 WHERE mutex = ? AND transition_at < ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000)";

const FREE: &str = "UPDATE bare SET acquired_at = 0, ttl_at = 0, transition_at = 0, \
     owner_id = '' WHERE mutex = ? AND owner_id = ?";

/// One connection.
#[derive(Clone, Debug)]
pub struct MysqlRow(Arc<Mutex<MySqlConnection>>);

/// A row.
#[derive(Debug)]
pub struct Row {
    connection: Arc<Mutex<MySqlConnection>>,
    name: String,
    id: String,
    is_there: bool,
}

impl Locks for MysqlRow {
    type Lock = Row;

    async fn open(url: &str) -> Result<Self> {
        let mut connection = MySqlConnection::connect(plain(url)).await?;
        connection.execute(TABLE).await?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    fn lock(&self, name: &str) -> Result<Row> {
        Ok(Row {
            connection: Arc::clone(&self.0),
            name: name.to_owned(),
            id: unique_id(),
            is_there: false,
        })
    }
}

impl Lock for Row {
    async fn take(&mut self) -> Result<()> {
        let mut connection = self.connection.lock().await;
        if !std::mem::replace(&mut self.is_there, true) {
            let insert = sqlx::query(INSERT).bind(&self.name);
            insert.execute(&mut *connection).await?;
        }
        let lease = LEASE.as_millis() as i64;
        let take = sqlx::query(TAKE).bind(lease).bind(lease);
        let take = take.bind(&self.id).bind(&self.name);
        match take.execute(&mut *connection).await?.rows_affected() {
            1 => Ok(()),
            _ => Err("another has it, and nobody tells when it is freed".into()),
        }
    }

    async fn free(&mut self) -> Result<()> {
        let free = sqlx::query(FREE).bind(&self.name).bind(&self.id);
        let done = free.execute(&mut *self.connection.lock().await).await?;
        match done.rows_affected() {
            1 => Ok(()),
            _ => Err("it was not taken".into()),
        }
    }
}

//! The row that Tenure writes in PostgreSQL, updated by two bare statements. As Tenure frees it
//! without waiting for the disk, there is one that does the same.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor, PgConnection};
use tokio::sync::Mutex;

use super::{Lock, Locks, postgres, unique_id};
use crate::Result;

/// Long enough for a take and a free.
const LEASE: Duration = Duration::from_secs(16);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS bare (mutex text PRIMARY KEY, \
     owner_id text NOT NULL, acquired_at bigint NOT NULL, ttl_at bigint NOT NULL, \
     transition_at bigint NOT NULL, version bigint NOT NULL, nonce text NOT NULL)";

const NOW: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// One connection. Each update waits for the disk, where the server has one.
#[derive(Clone, Debug)]
pub struct PostgresRow(Arc<Mutex<PgConnection>>);

/// A connection to take by, which waits for the disk, and one to free by, which does not.
#[derive(Clone, Debug)]
pub struct PostgresRowForgetful {
    takes: PostgresRow,
    frees: Arc<Mutex<PgConnection>>,
}

/// A row.
#[derive(Debug)]
pub struct Row {
    takes: Arc<Mutex<PgConnection>>,
    frees: Arc<Mutex<PgConnection>>,
    take: String,
    free: String,
    name: String,
    id: String,
}

impl Locks for PostgresRow {
    type Lock = Row;

    async fn open(url: &str) -> Result<Self> {
        let connection = postgres(url, TABLE).await?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    fn lock(&self, name: &str) -> Result<Row> {
        Ok(Row {
            takes: Arc::clone(&self.0),
            frees: Arc::clone(&self.0),
            take: format!(
                "INSERT INTO bare AS m SELECT $1, $2, {NOW}, {NOW} + $3, {NOW} + $3, 1, $2 \
                 ON CONFLICT (mutex) DO UPDATE SET owner_id = excluded.owner_id, \
                 acquired_at = excluded.acquired_at, ttl_at = excluded.ttl_at, \
                 transition_at = excluded.transition_at, version = m.version + 1, \
                 nonce = excluded.nonce WHERE m.transition_at < excluded.acquired_at"
            ),
            free: "UPDATE bare SET owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, \
                   nonce = '' WHERE mutex = $1 AND owner_id = $2"
                .to_owned(),
            name: name.to_owned(),
            id: unique_id(),
        })
    }
}

impl Locks for PostgresRowForgetful {
    type Lock = Row;

    async fn open(url: &str) -> Result<Self> {
        let takes = PostgresRow::open(url).await?;
        let mut frees = postgres(url, TABLE).await?;
        frees.execute("SET synchronous_commit = off").await?;
        let frees = Arc::new(Mutex::new(frees));
        Ok(Self { takes, frees })
    }

    fn lock(&self, name: &str) -> Result<Row> {
        let frees = Arc::clone(&self.frees);
        Ok(Row {
            frees,
            ..self.takes.lock(name)?
        })
    }
}

impl Lock for Row {
    async fn take(&mut self) -> Result<()> {
        let take = sqlx::query(AssertSqlSafe(self.take.as_str()));
        let take = take.bind(&self.name).bind(&self.id);
        let take = take.bind(LEASE.as_millis() as i64);
        let done = take.execute(&mut *self.takes.lock().await).await?;
        match done.rows_affected() {
            1 => Ok(()),
            _ => Err("another has it, and nobody tells when it is freed".into()),
        }
    }

    async fn free(&mut self) -> Result<()> {
        let free = sqlx::query(AssertSqlSafe(self.free.as_str()));
        let free = free.bind(&self.name).bind(&self.id);
        let done = free.execute(&mut *self.frees.lock().await).await?;
        match done.rows_affected() {
            1 => Ok(()),
            _ => Err("it was not taken".into()),
        }
    }
}

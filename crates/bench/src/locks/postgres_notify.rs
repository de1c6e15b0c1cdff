//! A bare row in PostgreSQL whose waiters are told by NOTIFY, and then take it by a statement.

use std::sync::Arc;

use sqlx::postgres::PgListener;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::sync::{Mutex, watch};

use super::{Lock, Locks, plain, postgres, unique_id};
use crate::Result;

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS told (mutex text PRIMARY KEY, owner_id text NOT NULL)";

const TAKE: &str = "INSERT INTO told AS m VALUES ($1, $2) ON CONFLICT (mutex) \
     DO UPDATE SET owner_id = excluded.owner_id WHERE m.owner_id = ''";

const FREE: &str = "WITH freed AS (UPDATE told SET owner_id = '' \
     WHERE mutex = $1 AND owner_id = $2 RETURNING mutex) \
     SELECT pg_notify('told', mutex) FROM freed";

/// One connection for statements and one that listens.
#[derive(Clone, Debug)]
pub struct PostgresNotify {
    connection: Arc<Mutex<PgConnection>>,
    told: watch::Receiver<u64>,
}

/// A row.
#[derive(Debug)]
pub struct Row {
    locks: PostgresNotify,
    name: String,
    id: String,
}

impl Locks for PostgresNotify {
    type Lock = Row;

    async fn open(url: &str) -> Result<Self> {
        let connection = postgres(url, TABLE).await?;
        let mut listener = PgListener::connect(plain(url)).await?;
        listener.listen("told").await?;
        let (tell, told) = watch::channel(0);
        tokio::spawn(async move {
            while listener.recv().await.is_ok() {
                tell.send_modify(|count| *count += 1);
            }
        });
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            told,
        })
    }

    fn lock(&self, name: &str) -> Result<Row> {
        Ok(Row {
            locks: self.clone(),
            name: name.to_owned(),
            id: unique_id(),
        })
    }
}

impl Row {
    async fn run(&self, statement: &str) -> Result<u64> {
        let statement = sqlx::query(AssertSqlSafe(statement));
        let statement = statement.bind(&self.name).bind(&self.id);
        let mut connection = self.locks.connection.lock().await;
        Ok(statement.execute(&mut *connection).await?.rows_affected())
    }
}

impl Lock for Row {
    async fn take(&mut self) -> Result<()> {
        loop {
            self.locks.told.mark_unchanged();
            if self.run(TAKE).await? == 1 {
                return Ok(());
            }
            self.locks.told.changed().await?;
        }
    }

    async fn free(&mut self) -> Result<()> {
        self.run(FREE).await.map(drop)
    }
}

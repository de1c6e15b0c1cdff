//! PostgreSQL's advisory locks: the server's own queue, bound to a connection.

use std::sync::Arc;

use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use super::{Lock, Locks, plain};
use crate::Result;

/// One connection.
#[derive(Clone, Debug)]
pub struct PostgresAdvisory(Arc<Mutex<PgConnection>>);

/// A number made from the name.
#[derive(Debug)]
pub struct Key {
    connection: Arc<Mutex<PgConnection>>,
    name: String,
}

impl Locks for PostgresAdvisory {
    type Lock = Key;

    async fn open(url: &str) -> Result<Self> {
        let connection = PgConnection::connect(plain(url)).await?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    fn lock(&self, name: &str) -> Result<Key> {
        Ok(Key {
            connection: Arc::clone(&self.0),
            name: name.to_owned(),
        })
    }
}

impl Lock for Key {
    async fn take(&mut self) -> Result<()> {
        let take = sqlx::query("SELECT pg_advisory_lock(hashtextextended($1, 0))");
        let take = take.bind(&self.name);
        take.execute(&mut *self.connection.lock().await).await?;
        Ok(())
    }

    async fn free(&mut self) -> Result<()> {
        let free = sqlx::query("SELECT pg_advisory_unlock(hashtextextended($1, 0))");
        let free = free.bind(&self.name);
        free.execute(&mut *self.connection.lock().await).await?;
        Ok(())
    }
}

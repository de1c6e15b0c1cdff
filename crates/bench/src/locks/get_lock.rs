//! GET_LOCK of MySQL and MariaDB: the server's own queue, bound to a connection.

use std::sync::Arc;

use sqlx::{Connection, MySqlConnection};
use tokio::sync::Mutex;

use super::{Lock, Locks, plain};
use crate::Result;

/// One connection.
#[derive(Clone, Debug)]
pub struct GetLock(Arc<Mutex<MySqlConnection>>);

/// A name.
#[derive(Debug)]
pub struct Name {
    connection: Arc<Mutex<MySqlConnection>>,
    name: String,
}

impl Locks for GetLock {
    type Lock = Name;

    async fn open(url: &str) -> Result<Self> {
        let connection = MySqlConnection::connect(plain(url)).await?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    fn lock(&self, name: &str) -> Result<Name> {
        Ok(Name {
            connection: Arc::clone(&self.0),
            name: name.to_owned(),
        })
    }
}

impl Lock for Name {
    async fn take(&mut self) -> Result<()> {
        let take = sqlx::query("SELECT GET_LOCK(?, 60)").bind(&self.name);
        take.execute(&mut *self.connection.lock().await).await?;
        Ok(())
    }

    async fn free(&mut self) -> Result<()> {
        let free = sqlx::query("SELECT RELEASE_LOCK(?)").bind(&self.name);
        free.execute(&mut *self.connection.lock().await).await?;
        Ok(())
    }
}

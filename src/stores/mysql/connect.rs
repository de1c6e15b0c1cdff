//! [`Connector`]: how a connection is made.

use std::sync::Arc;

use sqlx::error::DatabaseError;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Executor as _};

use super::error;
use super::statements::Statements;
use crate::stores::sql::{Driver, Fault};

pub(super) struct Connector {
    pub(super) options: MySqlConnectOptions,
    pub(super) statements: Arc<Statements>,
    pub(super) place: String,
}

/// Strict, or a version that overflows repeats for ever. READ COMMITTED, or a
/// batch locks the gaps between its rows. Each statement by itself. The shortest
/// wait for a row that every server knows, since whoever waits keeps a
/// connection busy, and goes on waiting when its client is gone.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
     autocommit = 1, innodb_lock_wait_timeout = 1, lock_wait_timeout = 5; \
     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

impl Driver for Connector {
    type Connection = MySqlConnection;

    async fn connect(&self) -> sqlx::Result<MySqlConnection> {
        let mut connection = self.options.connect().await?;
        connection.execute(SESSION).await?;
        Ok(connection)
    }

    fn fault(&self, error: &dyn DatabaseError) -> Fault {
        error::fault(self, error)
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

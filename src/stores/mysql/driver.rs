//! [`Connector`]: how a connection is made, and what the server's errors mean.

use std::sync::Arc;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError};
use sqlx::{ConnectOptions as _, Executor as _};

use super::schema;
use super::statements::Statements;
use crate::error::{Error, ErrorKind, Outcome, Retry};
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

    fn fault(&self, error: &dyn sqlx::error::DatabaseError) -> Fault {
        let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() else {
            return Fault::Ended;
        };
        let statements = &*self.statements;
        let no = |kind, message: String| Error::new(kind, Outcome::DidNot).with_message(message);
        let said = error.message();
        Fault::Error(match error.number() {
            // Deadlock, or a conflict with another node of a cluster; a row that
            // changed under a snapshot.
            1213 | 1020 | 3101 => return Fault::Race,
            // The server shuts down, somebody killed the connection, or it was
            // idle for too long.
            1053 | 1077 | 1079 | 1317 | 1927 | 3169 | 4031 => return Fault::Ended,
            1205 | 3572 => no(
                ErrorKind::Timeout,
                "another transaction holds the row's lock for too long".into(),
            ),
            // A limit of the server's own for a statement.
            1969 | 3024 => no(
                ErrorKind::Timeout,
                format!("{} gave up: {said}", self.place),
            ),
            // Also: locked, expired, from another host, not over TLS.
            1142 | 1143 | 1227 | 1370 => no(
                ErrorKind::Denied,
                format!(
                    "{} denied access: {said}; docs/stores/mysql.md has the GRANTs that are enough",
                    self.place
                ),
            ),
            1044 | 1045 | 1130 | 1251 | 1698 | 1820 | 1862 | 3118 | 3159 | 4151 => no(
                ErrorKind::Denied,
                format!("{} denied access: {said}", self.place),
            ),
            1049 => no(ErrorKind::NotFound, format!("{}: {said}", self.place)),
            1146 => schema::missing(statements),
            1054 => schema::not_ours(statements, said),
            1264 | 1690 => schema::version_ended(statements),
            1406 => schema::too_narrow(statements),
            1366 | 1267 => schema::other_characters(statements),
            // MySQL 8 remembers a column's characters from when the statement
            // was prepared, also when the table has others by now.
            3988 => return Fault::Outdated(schema::other_characters(statements)),
            // A replica, or a server that is being moved: it may recover.
            1290 | 1792 | 1836 => no(
                ErrorKind::Denied,
                format!("{} is read-only: {said}", self.place),
            )
            .with_retry(Retry::Later),
            // Also: a node outside the quorum of its cluster, a server offline.
            1040 | 1047 | 1129 | 1203 | 1226 | 3032 => no(
                ErrorKind::Unreachable,
                format!("{} takes no connections now: {said}", self.place),
            ),
            number => no(
                ErrorKind::Store,
                format!("{} answered error {number}: {said}", self.place),
            ),
        })
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

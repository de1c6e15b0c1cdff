//! [`Connector`]: how a connection is made.

use std::sync::Arc;

use sqlx::ConnectOptions as _;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::error;
use super::statements::Statements;
use super::wire::Wire;
use crate::stores::sql::{Driver, Fault};

pub(super) struct Connector {
    pub(super) options: PgConnectOptions,
    pub(super) statements: Arc<Statements>,
    pub(super) wire: Wire,
    pub(super) place: String,
}

impl Driver for Connector {
    type Connection = PgConnection;

    async fn connect(&self) -> sqlx::Result<PgConnection> {
        self.options.connect().await
    }

    fn fault(&self, error: &dyn DatabaseError) -> Fault {
        error::fault(self, error)
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

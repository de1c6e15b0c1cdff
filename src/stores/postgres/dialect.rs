//! [`Postgres`]: how PostgreSQL is spoken to.

use std::sync::Arc;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::config::for_statements;
use super::statements::Statements;
use super::watch::Listening;
use super::wire::{Session, Wire};
use super::{acquire, error, prune, renew, schema};
use crate::backend::{Answer, Bid, Held, Profile};
use crate::error::Result;
use crate::model::MutexOwner;
use crate::stores::sql::schema::Inspected;
use crate::stores::sql::{
    Client, Dialect, Driver, Fault, Limits, NotConnected, Origin, POLL, Passed, Removed, Row,
};

pub(in crate::stores) struct Postgres {
    pub(super) origin: Origin<PgConnectOptions>,
    pub(super) statements: Statements,
    pub(super) wire: Wire,
    pub(super) place: String,
    pub(super) limits: Limits,
    /// By how much the clocks of server and standbys may differ.
    pub(super) margin: Duration,
    /// Whether hints are pushed: not where a pooler changes the session under
    /// the listener.
    pub(super) notify: bool,
}

impl Postgres {
    /// What a connection that is made now is made with.
    pub(super) async fn options(&self) -> Result<PgConnectOptions> {
        let options = self.origin.options(PgConnectOptions::password);
        for_statements(options.await?)
    }
}

pub(super) type Connection = Session;

impl Driver for Postgres {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, NotConnected> {
        let connection = self.options().await?.connect().await?;
        Ok(self.wire.session(connection).await?)
    }

    async fn ping(&self, session: &mut Connection) -> sqlx::Result<()> {
        session.connection.ping().await
    }

    async fn part(&self, session: Connection) {
        let _ = session.connection.close().await;
    }

    fn fault(&self, error: &dyn DatabaseError) -> Fault {
        error::fault(self, error)
    }

    fn place(&self) -> &str {
        &self.place
    }
}

impl Dialect for Postgres {
    const NAME: &'static str = "Postgres";

    /// A list of names is one value.
    const TOGETHER: usize = usize::MAX;

    const HAS_NONCE: bool = true;

    fn profile(&self) -> Profile {
        if self.notify {
            Profile::push("postgres")
        } else {
            Profile::poll("postgres", POLL).looking_every(Duration::from_secs(10))
        }
    }

    fn tables(&self) -> [&str; 2] {
        [&self.statements.table, &self.statements.schedule]
    }

    fn ddl(&self) -> [String; 2] {
        schema::ddl(&self.statements)
    }

    fn fit(&self, found: &Inspected) -> Result<()> {
        schema::check(self, found)
    }

    fn keep_notes(&self, keep: bool) {
        self.statements.ledgers.keep(keep);
    }

    /// Every statement says all that must be known.
    async fn greet(_: &Client<Self>) -> Result<()> {
        Ok(())
    }

    /// With its token: only ours write this table.
    fn owner_in(row: &Row) -> Result<MutexOwner> {
        let owner = row.owner()?;
        if owner.owner_id().is_none() {
            return Ok(owner);
        }
        Ok(owner.with_token(row.token()?))
    }

    async fn acquire(client: &Client<Self>, bid: &Bid) -> Result<Answer> {
        acquire::acquire(client, bid).await
    }

    async fn renew(client: &Client<Self>, some: &Arc<[Held]>) -> Result<Vec<Passed>> {
        renew::renew(client, some).await
    }

    async fn remove(client: &Client<Self>, unused_for: Duration, ledgers: bool) -> Result<Removed> {
        prune::remove(client, unused_for, ledgers).await
    }

    async fn watch(client: Client<Self>) {
        if client.dialect().notify {
            Listening::new(&client).run().await;
        } else {
            client.poll().await;
        }
    }
}

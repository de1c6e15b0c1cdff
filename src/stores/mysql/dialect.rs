//! [`MySql`]: how MySQL and MariaDB are spoken to.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use super::calls::{CanGiveUp, CanSkip, Now};
use super::config::for_statements;
use super::schema::{self, Layout};
use super::statements::Statements;
use super::{acquire, error, prune, renew};
use crate::backend::{Answer, Bid, Held, Profile};
use crate::error::Result;
use crate::model::MutexOwner;
use crate::stores::sql::schema::Inspected;
use crate::stores::sql::{
    Client, Dialect, Driver, Fault, NotConnected, Origin, POLL, Passed, Removed, Row,
};
use crate::sync::Mutex;

pub(in crate::stores) struct MySql {
    origin: Origin<MySqlConnectOptions>,
    pub(super) statements: Statements,
    pub(super) place: String,
    /// By how much the clocks of a cluster's nodes may differ.
    pub(super) margin: Duration,
    /// As last inspected: an operator may widen the table.
    layout: Mutex<Layout>,
    /// Whether the server can go around rows that others hold.
    skips: OnceLock<bool>,
    /// Whether it can give up at once where another holds a row.
    gives_up: OnceLock<bool>,
    /// Whether it has been said that the versions will soon be used up.
    pub(super) warned: AtomicBool,
}

impl MySql {
    pub(super) fn new(
        origin: Origin<MySqlConnectOptions>,
        statements: Statements,
        place: String,
        margin: Duration,
    ) -> Self {
        Self {
            origin,
            statements,
            place,
            margin,
            layout: Mutex::new(Layout::narrowest()),
            skips: OnceLock::new(),
            gives_up: OnceLock::new(),
            warned: AtomicBool::new(false),
        }
    }

    /// A connection to another server, as to the one that is known, for one
    /// question.
    pub(super) async fn connect_to(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Connection, NotConnected> {
        let options = self.origin.options(MySqlConnectOptions::password).await?;
        let options = for_statements(options).host(host).port(port);
        if options.get_socket().is_some() {
            // It would lead to this host's server, whatever the host is.
            let by_socket = "this client connects by a socket of its host";
            return Err(sqlx::Error::Configuration(by_socket.into()).into());
        }
        Ok(options.connect().await.map_err(error::in_clear)?)
    }

    pub(super) fn layout(&self) -> Layout {
        *self.layout.lock()
    }

    /// From now on says nothing of what a mutex is wanted for; false when it
    /// did not before.
    pub(super) fn stop_saying_purpose(&self) -> bool {
        std::mem::take(&mut self.layout.lock().says_purpose)
    }

    /// Whether the server can go around rows that others hold.
    pub(super) fn skips(&self) -> bool {
        self.skips.get().copied().unwrap_or(false)
    }

    /// Whether it can give up at once where another holds a row.
    pub(super) fn gives_up_at_once(&self) -> bool {
        self.gives_up.get().copied().unwrap_or(false)
    }
}

/// Strict, or a version that overflows repeats for ever. READ COMMITTED, or a
/// batch locks the gaps between its rows. Each statement by itself. The shortest
/// wait for a row that every server knows, since a statement that
/// waits keeps a connection busy, and goes on waiting when its client is gone.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
     autocommit = 1, innodb_lock_wait_timeout = 1, lock_wait_timeout = 5; \
     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

pub(super) type Connection = MySqlConnection;

impl Driver for MySql {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, NotConnected> {
        let options = self.origin.options(MySqlConnectOptions::password);
        let connected = for_statements(options.await?).connect().await;
        let mut connection = connected.map_err(error::in_clear)?;
        connection.execute(SESSION).await?;
        Ok(connection)
    }

    async fn ping(&self, connection: &mut Connection) -> sqlx::Result<()> {
        connection.ping().await
    }

    async fn part(&self, connection: Connection) {
        let _ = connection.close().await;
    }

    fn fault(&self, error: &dyn DatabaseError) -> Fault {
        error::fault(self, error)
    }

    fn place(&self) -> &str {
        &self.place
    }
}

impl Dialect for MySql {
    const NAME: &'static str = "MySql";

    /// Statements are prepared, in a few sizes, and have a place for each name.
    const TOGETHER: usize = 200;

    /// The table is that of JVM Simba, which has none.
    const HAS_NONCE: bool = false;

    fn profile(&self) -> Profile {
        Profile::poll("mysql", POLL)
            .without_nonce()
            .looking_every(Duration::from_secs(10))
    }

    fn tables(&self) -> [&str; 2] {
        [&self.statements.table, &self.statements.schedule]
    }

    fn ddl(&self) -> [String; 2] {
        schema::ddl(&self.statements)
    }

    fn fit(&self, found: &Inspected) -> Result<()> {
        let layout = schema::layout(self, found)?;
        *self.layout.lock() = layout;
        Ok(())
    }

    fn keep_notes(&self, keep: bool) {
        self.statements.ledgers.keep(keep);
    }

    async fn greet(client: &Client<Self>) -> Result<()> {
        // A grant tells the low bits of its time only (see `clock`).
        client.ask(Now).await?;
        let skips = client.ask(CanSkip).await?;
        let _ = client.dialect().skips.set(skips);
        // MariaDB before 10.3 says that it can, and waits.
        let gives_up = skips && client.ask(CanGiveUp).await?;
        let _ = client.dialect().gives_up.set(gives_up);
        Ok(())
    }

    /// Without a token: JVM peers write this table too, and the version of a
    /// grant of theirs is no token.
    fn owner_in(row: &Row) -> Result<MutexOwner> {
        row.owner()
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

    /// The server sends no hints.
    async fn watch(client: Client<Self>) {
        client.poll().await;
    }
}

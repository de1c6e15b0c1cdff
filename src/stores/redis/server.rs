//! [`Server`]: one Redis server and our connections to it.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline, ServerErrorKind, Value};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use super::cluster::Seen;
use super::config::Address;
use super::connect::{Connector, Purpose, Route, deaf};
use super::connection::{Connection, LiveConnection, Lost};
use super::error::{closed, nonsense};
use super::scripts::Call;
use super::sentinels::Named;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::sync::Mutex;

/// How many connections wait for replicas at a time: WAIT blocks its own.
const WAITING_CONNECTIONS: usize = 2;

pub(super) struct Server {
    connector: Connector,
    route: Route,
    connection: Connection,
    waiting: [OnceCell<Connection>; WAITING_CONNECTIONS],
    permits: Semaphore,
    /// Which of `waiting` are not in use.
    free: Mutex<Vec<usize>>,
}

/// One of the waiting connections, for its user alone.
struct Turn<'a> {
    server: &'a Server,
    at: usize,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.server.free.lock().push(self.at);
    }
}

/// What a script's call came to.
pub(super) enum Said {
    Answer(Value),
    /// The server sends us elsewhere, or away for a while.
    Redirect(Redirect),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    Moved(String, u16),
    Ask(String, u16),
    TryAgain,
    /// The cluster does not work, in its eyes.
    Down,
}

/// How a script is called.
#[derive(Clone, Debug, Default)]
pub(super) struct Manner {
    /// Only at this server, if it is named.
    pub(super) master: Option<Address>,
    /// Only if most masters of the cluster, when they were asked, said so.
    pub(super) seen: Option<Seen>,
    /// Only where the server has been up for this long, if it was asked.
    pub(super) grace: Option<Duration>,
    /// After an ASK.
    pub(super) asking: bool,
}

impl Server {
    pub(super) fn start(connector: Connector, route: Route) -> Arc<Self> {
        Arc::new(Self {
            connection: Connection::start(
                connector.clone(),
                route.clone(),
                Purpose::Commands,
                deaf(),
            ),
            connector,
            route,
            waiting: [OnceCell::new(), OnceCell::new()],
            permits: Semaphore::new(WAITING_CONNECTIONS),
            free: Mutex::new((0..WAITING_CONNECTIONS).collect()),
        })
    }

    /// Where its commands go, if it can be reached.
    pub(super) async fn address(&self) -> Result<Address> {
        self.connection
            .live()
            .await
            .map(|live| live.address.clone())
    }

    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn close(&self) {
        self.connection.close();
        self.permits.close();
        for connection in self.waiting.iter().filter_map(OnceCell::get) {
            connection.close();
        }
    }

    /// Returns when the first attempt to connect has ended.
    pub(super) async fn connected(&self) -> Result<()> {
        self.connection.live().await.map(drop)
    }

    pub(super) async fn ask(&self, command: &Cmd) -> Result<Value> {
        self.connection.ask(command).await
    }

    /// Asks the sentinels, if there are any, who is master; not before `since`.
    pub(super) async fn confirm(&self, since: Moment, limit: Duration) -> Result<Option<Named>> {
        match (&self.route, &self.connector.sentinels) {
            (Route::Master, Some(sentinels)) => {
                let look = sentinels.look(&self.connector, since, limit);
                Box::pin(look).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Calls a script.
    pub(super) async fn run(&self, call: &Call, manner: &Manner) -> Result<Said> {
        let live = self.connection.live_to(manner.master.as_ref()).await?;
        self.run_on(&self.connection, &live, call, manner).await
    }

    /// Calls the script of a take, which `say` puts into words by what the clock of
    /// the server at the other end is reckoned to show at `now`. Answers that, too.
    pub(super) async fn take(
        &self,
        manner: &Manner,
        now: Moment,
        say: impl FnOnce(Option<u64>) -> Call,
    ) -> Result<(Said, Option<u64>)> {
        let live = self.connection.live_to(manner.master.as_ref()).await?;
        let reckoned = live.reckoning.at(now);
        let call = say(reckoned);
        let said = self.run_on(&self.connection, &live, &call, manner).await?;
        if let Said::Answer(Value::BulkString(digits)) = &said {
            // The microsecond that the clock showed.
            live.reckoning
                .heard(digits, now, self.connector.clock.now());
        }
        Ok((said, reckoned))
    }

    /// Calls a script and, if `counts` says so of its answer, waits until
    /// `replicas` have it or `limit` is over. Answers how many have.
    pub(super) async fn run_and_wait(
        &self,
        call: &Call,
        manner: &Manner,
        counts: impl Fn(&Value) -> bool,
        replicas: u32,
        limit: Duration,
    ) -> Result<(Said, u64)> {
        // WAIT is about the writes of its own connection.
        let turn = self.turn().await?;
        let connection = self.waiting[turn.at]
            .get_or_init(async || {
                let (connector, route) = (self.connector.clone(), self.route.clone());
                Connection::start(connector, route, Purpose::Commands, deaf())
            })
            .await;
        let live = connection.live_to(manner.master.as_ref()).await?;
        let said = self.run_on(connection, &live, call, manner).await?;
        match &said {
            Said::Answer(answer) if counts(answer) => {
                let mut wait = redis::cmd("WAIT");
                wait.arg(replicas).arg(limit.as_millis() as u64);
                let answer = connection.ask_on(&live, &wait).await?;
                let Value::Int(number) = answer else {
                    return Err(nonsense("WAIT without a number"));
                };
                Ok((said, u64::try_from(number).unwrap_or(0)))
            }
            _ => Ok((said, 0)),
        }
    }

    async fn turn(&self) -> Result<Turn<'_>> {
        let permit = self.permits.acquire().await.map_err(|_| closed())?;
        let at = self.free.lock().pop().unwrap_or(0);
        Ok(Turn {
            server: self,
            at,
            _permit: permit,
        })
    }

    async fn run_on(
        &self,
        connection: &Connection,
        live: &LiveConnection,
        call: &Call,
        manner: &Manner,
    ) -> Result<Said> {
        // A server that came back empty knows of no owner, and an owner learns
        // of that when it renews. After a whole lease none believes in its own.
        if let (Some(grace), Some(up_since)) = (manner.grace, live.up_since) {
            let up = self.connector.clock.now().since(up_since);
            if up < grace {
                return Err(too_young(grace - up));
            }
        }
        let sent = match send(connection, live, &call.by_hash, manner.asking).await {
            // The server has restarted, or an operator flushed its scripts. It has
            // run nothing, so this is no second attempt.
            Err(Lost::Said(error)) if error.kind() == NO_SCRIPT => {
                let by_text = call.by_text();
                Box::pin(send(connection, live, &by_text, manner.asking)).await
            }
            sent => sent,
        };
        let error = match sent {
            Ok(answer) => return Ok(Said::Answer(answer)),
            Err(Lost::Gone) => return Err(Lost::Gone.into()),
            Err(Lost::Said(error)) => error,
        };
        use redis::ErrorKind::Server as By;
        let elsewhere = error.redirect_node().and_then(|(address, _slot)| {
            let (host, port) = address.rsplit_once(':')?;
            Some((host.to_owned(), port.parse().ok()?))
        });
        match (error.kind(), elsewhere) {
            (By(ServerErrorKind::Moved), Some((host, port))) => {
                Ok(Said::Redirect(Redirect::Moved(host, port)))
            }
            (By(ServerErrorKind::Ask), Some((host, port))) => {
                Ok(Said::Redirect(Redirect::Ask(host, port)))
            }
            (By(ServerErrorKind::TryAgain), _) => Ok(Said::Redirect(Redirect::TryAgain)),
            (By(ServerErrorKind::ClusterDown), _) => Ok(Said::Redirect(Redirect::Down)),
            (By(ServerErrorKind::ReadOnly), _) => {
                // A demoted master: its name, or its sentinels, may lead to
                // another server by now.
                connection.condemn(live);
                Err(Lost::Said(error).into())
            }
            _ => Err(Lost::Said(error).into()),
        }
    }
}

const NO_SCRIPT: redis::ErrorKind = redis::ErrorKind::Server(ServerErrorKind::NoScript);

async fn send(
    connection: &Connection,
    live: &LiveConnection,
    command: &Cmd,
    asking: bool,
) -> std::result::Result<Value, Lost> {
    if !asking {
        return connection.raw(live, command).await;
    }
    // ASKING is about the next command of the connection: together, or a call
    // of another task could come in between.
    let mut both = Pipeline::new();
    both.cmd("ASKING").ignore();
    both.add_command(command.clone());
    Box::pin(connection.raw_pipe(live, &both)).await
}

fn too_young(rest: Duration) -> Error {
    Error::new(ErrorKind::Store, Outcome::DidNot).with_message(format!(
        "Redis has restarted, and may have forgotten who owns: restart_grace=on lets nobody take \
         for another {rest:.1?}"
    ))
}

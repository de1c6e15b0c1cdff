//! [`Connection`]: one connection that is always being kept up.
//!
//! The driver's connection is used bare. A task of our own makes it, asks for
//! life when an answer is late, and replaces it when there is none: also when
//! the flow is half-open, where the driver would wait for ever. While the
//! server cannot be reached, calls fail at once instead of queueing up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, Value};
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::config::Address;
use super::connect::{Connector, Ear, Fresh, Purpose, Route};
use super::error::{closed, fault, gone};
use super::reckoning::Reckoning;
use super::watch::wire_name;
use crate::clock::Moment;
use crate::error::{Error, Result};

/// An answer later than this makes the supervisor ask for life.
const LATE: Duration = Duration::from_millis(500);

/// The first and the longest pause between two attempts to connect.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(500));

/// A supervised connection. Dropped, it is closed.
pub(super) struct Connection {
    shared: Arc<ConnectionParts>,
    _end: DropGuard,
}

struct ConnectionParts {
    state: watch::Sender<ConnectionState>,
    /// A call was begun.
    begun: Notify,
    /// Numbers of the last call begun and of the last one known answered.
    last_begun: AtomicU64,
    last_answered: AtomicU64,
    end: CancellationToken,
}

/// What a connection is doing.
#[derive(Clone)]
pub(super) enum ConnectionState {
    /// On its way; those who wait need not wait long.
    Connecting,
    Up(Arc<LiveConnection>),
    /// The last attempt failed with this.
    Down(Error),
    Closed,
}

/// A connection while it lives.
pub(super) struct LiveConnection {
    connection: MultiplexedConnection,
    /// Where it goes to.
    pub(super) address: Address,
    /// Counts the connections of the connection.
    pub(super) generation: u64,
    /// Not later than this the server started, if it was asked.
    pub(super) up_since: Option<Moment>,
    /// What its clock shows.
    pub(super) reckoning: Reckoning,
    /// Given up: nothing more will be heard on it.
    gone: CancellationToken,
}

impl Connection {
    /// Begins to connect, in the background.
    pub(super) fn start(connector: Connector, route: Route, purpose: Purpose, ear: Ear) -> Self {
        let end = CancellationToken::new();
        let shared = Arc::new(ConnectionParts {
            state: watch::Sender::new(ConnectionState::Connecting),
            begun: Notify::new(),
            last_begun: AtomicU64::new(0),
            last_answered: AtomicU64::new(0),
            end: end.clone(),
        });
        let work = supervise(Arc::clone(&shared), connector, route, purpose, ear);
        let stop = end.clone();
        let closing = Arc::clone(&shared);
        tokio::spawn(async move {
            stop.run_until_cancelled(work).await;
            if let ConnectionState::Up(live) = closing.state.send_replace(ConnectionState::Closed) {
                live.gone.cancel();
            }
        });
        Self {
            shared,
            _end: end.drop_guard(),
        }
    }

    /// Closes the connection; calls fail from now on.
    pub(super) fn close(&self) {
        self.shared.end.cancel();
    }

    /// The connection there is to the server at `master`, if one is named: a
    /// connection to another is given up first.
    pub(super) async fn live_to(&self, master: Option<&Address>) -> Result<Arc<LiveConnection>> {
        loop {
            let live = self.live().await?;
            match master {
                Some(master) if live.address != *master => self.condemn(&live),
                _ => return Ok(live),
            }
        }
    }

    /// The connection there is: at once when it is up or known to be down,
    /// else when the attempt under way has ended.
    pub(super) async fn live(&self) -> Result<Arc<LiveConnection>> {
        if let Some(found) = self.found(&self.shared.state.borrow()) {
            return found;
        }
        Box::pin(self.soon_live()).await
    }

    /// The connection, when the attempt under way has ended.
    async fn soon_live(&self) -> Result<Arc<LiveConnection>> {
        let mut states = self.shared.state.subscribe();
        loop {
            if let Some(found) = self.found(&states.borrow_and_update()) {
                return found;
            }
            if states.changed().await.is_err() {
                return Err(closed());
            }
        }
    }

    /// What `state` gives to a caller; `None` while that is not decided.
    fn found(&self, state: &ConnectionState) -> Option<Result<Arc<LiveConnection>>> {
        if self.shared.end.is_cancelled() {
            return Some(Err(closed()));
        }
        match state {
            ConnectionState::Up(live) if !live.gone.is_cancelled() => Some(Ok(Arc::clone(live))),
            ConnectionState::Down(error) => Some(Err(error.clone())),
            ConnectionState::Closed => Some(Err(closed())),
            // One that was given up is about to be replaced.
            ConnectionState::Up(_) | ConnectionState::Connecting => None,
        }
    }

    /// Follows what the connection is doing.
    pub(super) fn states(&self) -> watch::Receiver<ConnectionState> {
        self.shared.state.subscribe()
    }

    /// Gives `live` up: it leads to a server that is of no use.
    pub(super) fn condemn(&self, live: &LiveConnection) {
        live.gone.cancel();
    }

    /// Sends `command` on the connection there is.
    pub(super) async fn ask(&self, command: &Cmd) -> Result<Value> {
        let live = self.live().await?;
        self.ask_on(&live, command).await
    }

    /// Sends `command` on `live`; the error is the driver's own, so that the
    /// caller can tell a redirection from a failure.
    pub(super) async fn raw(
        &self,
        live: &LiveConnection,
        command: &Cmd,
    ) -> std::result::Result<Value, Lost> {
        let mut connection = live.connection.clone();
        self.answered(live, command.query_async(&mut connection))
            .await
    }

    /// Sends several commands together; the answer of the last counts.
    pub(super) async fn raw_pipe(
        &self,
        live: &LiveConnection,
        commands: &Pipeline,
    ) -> std::result::Result<Value, Lost> {
        let mut connection = live.connection.clone();
        let mut all: Vec<Value> = self
            .answered(live, commands.query_async(&mut connection))
            .await?;
        Ok(all.pop().unwrap_or(Value::Nil))
    }

    pub(super) async fn ask_on(&self, live: &LiveConnection, command: &Cmd) -> Result<Value> {
        self.raw(live, command).await.map_err(Error::from)
    }

    /// Subscribes to `channels` on `live`, or unsubscribes from them.
    pub(super) async fn subscribe(
        &self,
        live: &LiveConnection,
        channels: &[String],
        on: bool,
    ) -> Result<()> {
        let of_shards = |name: &&String| wire_name(name).1;
        for name in channels.iter().filter(of_shards) {
            let mut command = redis::cmd(if on { "SSUBSCRIBE" } else { "SUNSUBSCRIBE" });
            // Those of one command would have to share a slot.
            command.arg(wire_name(name).0);
            self.ask_on(live, &command).await?;
        }
        let channels: Vec<&String> = channels.iter().filter(|name| !of_shards(name)).collect();
        if channels.is_empty() {
            return Ok(());
        }
        let mut connection = live.connection.clone();
        let call = async {
            if on {
                connection.subscribe(&channels).await
            } else {
                connection.unsubscribe(&channels).await
            }
        };
        self.answered(live, call).await.map_err(Error::from)
    }

    async fn answered<T>(
        &self,
        live: &LiveConnection,
        call: impl Future<Output = std::result::Result<T, RedisError>>,
    ) -> std::result::Result<T, Lost> {
        let number = self.shared.last_begun.fetch_add(1, Ordering::Relaxed) + 1;
        self.shared.begun.notify_one();
        tokio::select! {
            biased;
            answer = call => {
                // Answers come in the order of questions: all before it, too.
                self.shared.last_answered.fetch_max(number, Ordering::Relaxed);
                answer.map_err(Lost::Said)
            }
            () = live.gone.cancelled() => Err(Lost::Gone),
        }
    }
}

/// Why there is no answer.
pub(super) enum Lost {
    /// The server or the driver said so.
    Said(RedisError),
    /// The connection was given up.
    Gone,
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Said(error) => fault(error),
            Lost::Gone => gone(),
        }
    }
}

async fn supervise(
    shared: Arc<ConnectionParts>,
    connector: Connector,
    route: Route,
    purpose: Purpose,
    ear: Ear,
) {
    let mut generation = 0;
    let mut pause = BACKOFF.0;
    loop {
        match connector.connect(&route, purpose, &ear).await {
            Ok(fresh) => {
                generation += 1;
                let since = tokio::time::Instant::now();
                let Fresh {
                    connection,
                    address,
                    over,
                    up_since,
                } = fresh;
                let live = Arc::new(LiveConnection {
                    connection,
                    address,
                    generation,
                    up_since,
                    reckoning: Reckoning::default(),
                    gone: CancellationToken::new(),
                });
                let up = ConnectionState::Up(Arc::clone(&live));
                shared.state.send_replace(up);
                tokio::select! {
                    () = keep_up(&shared, &live, &over, &connector) => {}
                    () = is_superseded(&connector, &route, &live.address) => {}
                }
                live.gone.cancel();
                shared.state.send_replace(ConnectionState::Connecting);
                tracing::debug!(?route, ?purpose, "a connection to Redis was lost");
                // One that never holds must not be made in a tight loop.
                if since.elapsed() > BACKOFF.1 {
                    pause = BACKOFF.0;
                    continue;
                }
            }
            Err(error) => {
                tracing::debug!(?route, ?purpose, %error, "Redis cannot be reached");
                // Calls fail at once from now on, with the reason, instead of
                // waiting for an attempt that will fail too.
                shared.state.send_replace(ConnectionState::Down(error));
            }
        }
        // Spread out, or a server that comes back meets all of its clients in
        // the same moment.
        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
}

/// Returns when the sentinels name another master than the one at `address`.
async fn is_superseded(connector: &Connector, route: &Route, address: &Address) {
    match (route, &connector.sentinels) {
        (Route::Master, Some(sentinels)) => sentinels.is_another(address).await,
        _ => std::future::pending().await,
    }
}

/// Returns when `live` is of no use any more.
async fn keep_up(
    shared: &ConnectionParts,
    live: &LiveConnection,
    over: &CancellationToken,
    connector: &Connector,
) {
    let limit = connector.config.probe_limit;
    tokio::select! {
        () = over.cancelled() => {}
        () = live.gone.cancelled() => {}
        () = feel_pulse(shared, live, limit) => {}
    }
}

/// Returns when an answer was late and so was that to a PING.
async fn feel_pulse(shared: &ConnectionParts, live: &LiveConnection, limit: Duration) {
    let mut connection = live.connection.clone();
    loop {
        shared.begun.notified().await;
        let begun = shared.last_begun.load(Ordering::Relaxed);
        tokio::time::sleep(LATE).await;
        if shared.last_answered.load(Ordering::Relaxed) >= begun {
            continue;
        }
        // Late, or given up by its caller: does the server answer at all? A
        // script may take long without the connection being dead.
        let begun = shared.last_begun.load(Ordering::Relaxed);
        let ping = redis::cmd("PING");
        let answer = ping.query_async::<Value>(&mut connection);
        match tokio::time::timeout(limit, answer).await {
            // An error is an answer too, unless the connection broke.
            Ok(Err(error)) if error.is_unrecoverable_error() => return,
            Ok(_) => drop(shared.last_answered.fetch_max(begun, Ordering::Relaxed)),
            Err(_) => return,
        }
    }
}

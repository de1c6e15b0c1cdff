//! [`Pool`]: a few supervised connections.
//!
//! A call owns its connection for as long as it runs, and runs to its end: the
//! drivers' protocols do not survive a future that is dropped half way, and
//! callers may drop theirs at any await. So the usual call is driven by its
//! caller and, dropped, goes on in a task (see [`here`]); any other runs in a
//! task from the beginning. A connection that has just answered is used again
//! without a question; one that was idle, or that stands beside one that failed,
//! must first answer a ping. A waiter for a mutex holds no connection.

mod here;
mod task;

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::origin::NotConnected;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::StoreTime;
use crate::stores::kit::Closing;
use crate::sync::Mutex;

/// A connection that answered this recently is believed to live: a ping before
/// every statement would double its cost, and one that has died since then
/// costs a call that is tried again.
const FRESH: Duration = Duration::from_secs(1);

/// A connection that no call has used for this long is closed, before a server
/// or a firewall drops it without a word.
const IDLE: Duration = Duration::from_secs(60);

/// How long a call that its caller has given up may go on, before its
/// connection is given up too.
const GRACE: Duration = Duration::from_millis(500);

/// How often a statement that lost a race (a deadlock, a serialization
/// failure) is sent again at once. Of those that deadlock with each other one
/// gets through every time, so this is enough for as many on one row.
const RACES: usize = 20;

/// What a server is asked, by one or a few statements that belong together.
pub(in crate::stores) trait Question: Send + Sync + 'static {
    type Reply: Send + 'static;

    /// What an answer that was lost may mean.
    const EFFECT: Effect;

    /// The server's time, where the reply has it.
    fn time(_: &Self::Reply) -> Option<StoreTime> {
        None
    }
}

/// How a database puts a question, and reads the reply. It may be asked again
/// after a lost race.
pub(in crate::stores) trait Answers<Q: Question>: Driver {
    fn answer(
        &self,
        connection: &mut Self::Connection,
        question: &Q,
    ) -> impl Future<Output = sqlx::Result<Q::Reply>> + Send;
}

/// What the pool must know of a database.
pub(in crate::stores) trait Driver: Send + Sync + 'static {
    type Connection: Send + 'static;

    /// A connection, ready for statements.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, NotConnected>> + Send;

    /// Asks whether it lives.
    fn ping(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Says goodbye.
    fn part(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;

    /// What an error that the server answered means.
    fn fault(&self, error: &dyn sqlx::error::DatabaseError) -> Fault;

    /// Where the server is, for messages.
    fn place(&self) -> &str;
}

/// What an error that the server answered means.
#[derive(Debug)]
pub(in crate::stores) enum Fault {
    /// A lost race: send the statement again.
    Race,
    /// The connection is of no use any more.
    Ended,
    /// What the caller shall hear. Nothing was done.
    Error(Error),
    /// The same; and what the connection has prepared may not fit the table any
    /// more, so a new one is made next time.
    #[cfg_attr(not(feature = "mysql"), expect(dead_code))]
    Outdated(Error),
}

/// Whether a call that was lost may have changed something: the engine undoes
/// what may have been done before it tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stores) enum Effect {
    Reads,
    Writes,
}

impl Effect {
    fn outcome(self) -> Outcome {
        match self {
            Self::Reads => Outcome::DidNot,
            Self::Writes => Outcome::MayHave,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::stores) struct Limits {
    /// For one call, whatever its caller does.
    pub(in crate::stores) call: Duration,
    /// For a new connection.
    pub(in crate::stores) connect: Duration,
    /// For the answer to a ping.
    pub(in crate::stores) ping: Duration,
}

pub(in crate::stores) struct Pool<D: Driver>(Arc<Connections<D>>);

impl<D: Driver> Clone for Pool<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Connections<D: Driver> {
    driver: D,
    limits: Limits,
    clock: Clock,
    runtime: Handle,
    /// One for each connection there may be.
    permits: Arc<Semaphore>,
    /// For one connection more, which only renewals may use: whatever the
    /// others are stuck in, what is held is renewed.
    spare: Arc<Semaphore>,
    /// Those that serve no call, the last used last: it is the likeliest to
    /// live, and the others are let go when they have rested for long.
    idle: Mutex<Vec<Connected<D::Connection>>>,
    /// Raised by every failure: a connection from before it must be asked
    /// whether it lives.
    doubts: AtomicU64,
    closing: Closing,
}

/// A connection, idle or in the service of one call.
struct Connected<C> {
    connection: C,
    used_at: Moment,
    /// How many failures there had been when it last proved that it lives.
    doubts: u64,
}

impl<D: Driver> Pool<D> {
    /// A pool of at most `connections`; none is made yet. Within a runtime.
    pub(in crate::stores) fn new(
        driver: D,
        connections: usize,
        limits: Limits,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Connections {
            driver,
            limits,
            clock,
            runtime: Handle::current(),
            permits: Arc::new(Semaphore::new(connections)),
            spare: Arc::new(Semaphore::new(1)),
            idle: Mutex::default(),
            doubts: AtomicU64::new(0),
            closing: Closing::of("this client of the store"),
        }))
    }

    pub(in crate::stores) fn driver(&self) -> &D {
        &self.0.driver
    }

    pub(in crate::stores) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    pub(in crate::stores) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Asks over a connection of its own.
    ///
    /// # Cancel safety
    /// Dropped before it was sent, nothing happens; afterwards the statement
    /// ends by itself, and its connection stays in order.
    pub(in crate::stores) async fn ask<Q: Question>(&self, question: Q) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        self.0.closing.check_open()?;
        let permits = Arc::clone(&self.0.permits);
        // A caller may leave its call alone for as long as it likes. So one
        // connection is always left to tasks, which no caller can hold up.
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            if permits.available_permits() > 0
                && let Some(connected) = self.0.fresh()
            {
                return self.ask_here(permit, connected, question).await;
            }
            return self.ask_apart(ready(Ok(permit)), question).await;
        }
        self.ask_apart(permits.acquire_owned(), question).await
    }

    /// The same, also over the connection that is kept for those who cannot
    /// wait until another call has ended.
    ///
    /// # Cancel safety
    /// As that of [`ask`](Self::ask).
    pub(in crate::stores) async fn ask_urgently<Q: Question>(&self, question: Q) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        self.0.closing.check_open()?;
        let permits = Arc::clone(&self.0.permits).acquire_owned();
        let spare = Arc::clone(&self.0.spare).acquire_owned();
        let permit = async move {
            tokio::select! {
                biased;
                permit = permits => permit,
                permit = spare => permit,
            }
        };
        self.ask_apart(permit, question).await
    }

    /// An error when it has been closed.
    pub(in crate::stores) fn check_open(&self) -> Result<()> {
        self.0.closing.check_open()
    }

    /// Closes all connections; later calls fail.
    pub(in crate::stores) async fn close(&self) {
        self.0.closing.close();
        self.0.permits.close();
        self.0.spare.close();
        let all: Vec<_> = self.0.idle.lock().drain(..).collect();
        for connected in all {
            self.0.part(connected).await;
        }
    }
}

impl<D: Driver> Connections<D> {
    async fn attempt<Q: Question>(&self, question: &Q, sent: &AtomicBool) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        let connected = self.connected().await?;
        sent.store(true, Ordering::Relaxed);
        self.attempt_on(connected, question).await
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn has room for each argument twice"
    )]
    fn attempt_on<Q: Question>(
        &self,
        mut connected: Connected<D::Connection>,
        question: &Q,
    ) -> impl Future<Output = Result<Q::Reply>> + Send
    where
        D: Answers<Q>,
    {
        async move {
            let mut races = 0;
            loop {
                let answer = self.driver.answer(&mut connected.connection, question);
                let error = match answer.await {
                    Ok(reply) => {
                        self.put_back(connected);
                        return Ok(reply);
                    }
                    Err(error) => error,
                };
                let fault = match error.as_database_error() {
                    Some(answered) => self.driver.fault(answered),
                    // The server did not answer: what broke was the connection, or
                    // the answer could not be read, and then neither can the next.
                    None => Fault::Ended,
                };
                match fault {
                    Fault::Race if races < RACES => races += 1,
                    Fault::Race => {
                        self.put_back(connected);
                        return Err(Error::new(ErrorKind::Store, Outcome::DidNot)
                            .with_message("the statement lost too many races in a row")
                            .with_source(error));
                    }
                    Fault::Error(told) => {
                        self.put_back(connected);
                        return Err(told.with_source(error));
                    }
                    Fault::Outdated(told) => return Err(told.with_source(error)),
                    Fault::Ended => {
                        self.doubt();
                        return Err(Error::new(ErrorKind::Unreachable, Q::EFFECT.outcome())
                            .with_message(format!(
                                "the connection to {} broke",
                                self.driver.place()
                            ))
                            .with_source(error));
                    }
                }
            }
        }
    }

    /// A connection that lives, as far as can be known.
    async fn connected(&self) -> Result<Connected<D::Connection>> {
        if let Some(connected) = self.fresh() {
            return Ok(connected);
        }
        // Read before the ping: a failure meanwhile leaves it in doubt.
        let doubts = self.doubts.load(Ordering::SeqCst);
        let idle = self.idle.lock().pop();
        // In a box: what a driver needs to connect is several times as large
        // as what any statement needs, and a task is moved when it is made.
        Box::pin(self.proven(idle, doubts)).await
    }

    /// The connection that was used last, if it needs no proof.
    fn fresh(&self) -> Option<Connected<D::Connection>> {
        let now = self.clock.now();
        let doubts = self.doubts.load(Ordering::SeqCst);
        let mut idle = self.idle.lock();
        idle.pop_if(|connected| connected.doubts == doubts && now.since(connected.used_at) < FRESH)
    }

    /// `idle` if it lives, and otherwise a new one.
    async fn proven(
        &self,
        idle: Option<Connected<D::Connection>>,
        doubts: u64,
    ) -> Result<Connected<D::Connection>> {
        if let Some(mut connected) = idle {
            let end = self.clock.now() + self.limits.ping;
            let pinging = self.driver.ping(&mut connected.connection);
            if let Some(Ok(())) = self.clock.limit(end, pinging).await {
                connected.doubts = doubts;
                return Ok(connected);
            }
            // What happened to this one happened to the others.
            self.idle.lock().clear();
        }
        let end = self.clock.now() + self.limits.connect;
        let connected = self.clock.limit(end, self.driver.connect()).await;
        let connection = match connected {
            Some(Ok(connection)) => connection,
            Some(Err(error)) => return Err(self.not_connected(error)),
            None => {
                return Err(
                    Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(format!(
                        "no connection to {} within {:?}",
                        self.driver.place(),
                        self.limits.connect
                    )),
                );
            }
        };
        Ok(Connected {
            connection,
            used_at: self.clock.now(),
            doubts,
        })
    }

    fn not_connected(&self, why: NotConnected) -> Error {
        let place = self.driver.place();
        let error = match why {
            NotConnected::Before(error) => return error,
            NotConnected::Driver(error) => error,
        };
        let told = match error.as_database_error().map(|e| self.driver.fault(e)) {
            Some(Fault::Error(told) | Fault::Outdated(told)) => told,
            _ => {
                let kind = match error {
                    sqlx::Error::Configuration(_) => ErrorKind::Invalid,
                    _ => ErrorKind::Unreachable,
                };
                let message = format!("no connection to {place}: {error}");
                Error::new(kind, Outcome::DidNot).with_message(message)
            }
        };
        told.with_source(error)
    }

    fn put_back(&self, mut connected: Connected<D::Connection>) {
        let now = self.clock.now();
        connected.used_at = now;
        // The close has emptied the list, and does not come again.
        if self.closing.is_closed() {
            return;
        }
        self.idle.lock().push(connected);
        // The longest unused lie below; one stays for the next call.
        loop {
            let old = {
                let mut idle = self.idle.lock();
                let is_old = |connected: &Connected<_>| now.since(connected.used_at) > IDLE;
                if idle.len() < 2 || !is_old(&idle[0]) {
                    return;
                }
                idle.remove(0)
            };
            drop(old);
        }
    }

    /// Says goodbye, if the server listens.
    async fn part(&self, connected: Connected<D::Connection>) {
        let end = self.clock.now() + self.limits.ping;
        let parting = self.driver.part(connected.connection);
        self.clock.limit(end, parting).await;
    }

    fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::SeqCst);
    }

    /// A call was over its limit.
    fn late(&self, outcome: Outcome) -> Error {
        self.doubt();
        let (place, limit) = (self.driver.place(), self.limits.call);
        Error::late(ErrorKind::Timeout, place, limit, outcome)
    }
}

impl<D: Driver> fmt::Debug for Pool<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("place", &self.0.driver.place())
            .finish_non_exhaustive()
    }
}

/// A task that served a call is gone with the runtime that it ran on.
pub(super) fn runtime_ended(outcome: Outcome) -> Error {
    Error::new(ErrorKind::Closed, outcome)
        .with_message("the runtime of the store's connections has ended")
}

#[cfg(test)]
mod tests;

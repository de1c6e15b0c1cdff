//! The session: made, kept alive, replaced when it has expired.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zookeeper_client::{
    Acls, Client, CreateMode, CreateOptions, Error as Fault, SessionState, StateWatcher,
};

use super::client::Store;
use super::config::Config;
use super::fault;
use super::relay::Relay;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::LeaseTerms;

/// The pause between two attempts to make a session.
const RECONNECT: Duration = Duration::from_millis(250);

/// A session with the ensemble.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    id: i64,
    terms: LeaseTerms,
    /// When something was last sent, in nanoseconds of the clock.
    last_sent: AtomicU64,
}

impl Session {
    /// Asks for a new session.
    pub(super) async fn connect(config: &Config, clock: &Clock) -> Result<Self> {
        let mut connector = Client::connector().with_session_timeout(config.session_timeout);
        if let Some(digest) = &config.digest {
            connector = connector.with_auth("digest", digest.as_bytes());
        }
        // The driver gives up after the timeout it asks for, but counts only
        // silence: a server that trickles would keep it.
        let limit = clock.now() + config.session_timeout * 2;
        let relay = match &config.tls {
            Some(way) => Some(Relay::start(way, clock, config.session_timeout).await?),
            None => None,
        };
        let hosts = relay.as_ref().map_or(config.hosts.as_str(), Relay::hosts);
        let connected = clock.limit(limit, connector.connect(hosts)).await;
        let failed = |late: &str| {
            let what = format!(
                "no ZooKeeper server at {} made a session{late}",
                config.hosts
            );
            match relay.as_ref().and_then(Relay::trouble) {
                Some(why) => unreachable(format!("{what}: {why}")),
                None => unreachable(what),
            }
        };
        let Some(connected) = connected else {
            return Err(failed(" in time"));
        };
        let client = connected.map_err(|error| match error {
            Fault::AuthFailed => fault::read(error),
            _ => failed("").with_source(error),
        })?;
        if let Some(relay) = relay {
            // The driver goes on connecting for as long as the session may
            // live, also to end it when nobody has it any more.
            let over = over(client.state_watcher());
            tokio::spawn(async move {
                over.await;
                drop(relay);
            });
        }
        let timeout = client.session_timeout();
        Ok(Self {
            id: client.session_id().0,
            terms: terms(timeout)?,
            client,
            last_sent: AtomicU64::new(clock.now().as_nanos()),
        })
    }

    pub(super) fn id(&self) -> i64 {
        self.id
    }

    pub(super) fn terms(&self) -> LeaseTerms {
        self.terms
    }

    pub(super) fn timeout(&self) -> Duration {
        self.client.session_timeout()
    }

    /// The client, to send something at once. Requests are sent in the order
    /// of the calls and answered in that order; none needs to be waited for
    /// before the next.
    pub(super) fn ask(&self, clock: &Clock) -> &Client {
        self.last_sent
            .store(clock.now().as_nanos(), Ordering::Relaxed);
        &self.client
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client.state() == SessionState::SyncConnected
    }

    /// Sends something whenever nothing was sent for T/8. The 5/8 of the lease
    /// rest on it: that long before a grant, at most, the leader of the
    /// ensemble has last heard of the session.
    ///
    /// Returns when the driver does not work any more without saying so.
    pub(super) async fn keep_alive(&self, clock: &Clock) {
        let period = self.timeout() / 8;
        let mut asked = clock.now();
        loop {
            let sent = Moment::from_nanos(self.last_sent.load(Ordering::Relaxed));
            let next = (sent + period).min(asked + self.timeout());
            if clock.now() < next {
                clock.sleep_until(next).await;
                continue;
            }
            asked = clock.now();
            // A read of the server's own memory; every request counts.
            let answer = self.ask(clock).check_stat("/").await;
            if matches!(answer, Err(Fault::UnexpectedError(_) | Fault::ClientClosed)) {
                return;
            }
        }
    }

    /// Returns when the session is over; calls `resumed` whenever it is
    /// connected again.
    pub(super) async fn outlive(&self, resumed: impl Fn()) -> SessionState {
        let mut states = self.client.state_watcher();
        let mut state = self.client.state();
        loop {
            if state.is_terminated() {
                return state;
            }
            state = states.changed().await;
            if state == SessionState::SyncConnected {
                resumed();
            }
        }
    }

    /// Returns when the server has ended the session, once nobody uses it.
    pub(super) async fn ended(self: Arc<Self>) {
        let over = over(self.client.state_watcher());
        drop(self);
        over.await;
    }
}

/// Returns when the session of `states` is over, which it may be already.
async fn over(mut states: StateWatcher) {
    while !states.state().is_terminated() {
        states.changed().await;
    }
}

/// The terms of a session with this timeout: renewed every T/8, over after
/// 5/8 T.
fn terms(timeout: Duration) -> Result<LeaseTerms> {
    let whole = |length: Duration| {
        Duration::from_millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    };
    LeaseTerms::new(whole(timeout / 8), whole(timeout / 2))
}

pub(super) fn unreachable(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(message)
}

impl Store {
    /// Keeps a session, from `session` on, until the client is closed.
    pub(super) async fn supervise(self: Arc<Self>, mut session: Arc<Session>) {
        loop {
            let resumed = || {
                self.reaping.notify_one();
                self.ears.resumed();
            };
            let end = tokio::select! {
                end = session.outlive(resumed) => end,
                () = session.keep_alive(&self.clock) => SessionState::Closed,
            };
            tracing::info!(session = session.id(), %end, "the ZooKeeper session is over");
            self.places.forget_session(session.id());
            session = self.replace().await;
            self.ears.resumed();
        }
    }

    /// Makes a session until one is there.
    async fn replace(&self) -> Arc<Session> {
        loop {
            self.set_session(None);
            match Session::connect(&self.config, &self.clock).await {
                Ok(session) => {
                    let session = Arc::new(session);
                    self.set_session(Some(Ok(Arc::clone(&session))));
                    return session;
                }
                Err(error) => {
                    tracing::warn!(%error, "no ZooKeeper session");
                    self.set_session(Some(Err(error)));
                }
            }
            self.clock.sleep(RECONNECT).await;
        }
    }

    /// What `mode` nodes are created with.
    pub(super) fn creation(&self, mode: CreateMode) -> CreateOptions<'static> {
        mode.with_acls(match self.config.creator_only {
            true => Acls::creator_all(),
            false => Acls::anyone_all(),
        })
    }
}

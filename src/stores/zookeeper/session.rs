//! The session: made, kept alive, replaced when it has expired.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::OptionFuture;
use zookeeper_client::{
    Acls, CheckWriteError, CheckWriter, Client, CreateMode, CreateOptions, Error as Fault,
    SessionState, StateWatcher,
};

use super::client::Store;
use super::config::Config;
use super::connection_number::{ConnectionNumber, SessionConnections};
use super::error;
use super::proof::{Asked, Proof};
use super::relay::Relay;
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::LeaseTerms;
use crate::sync::Mutex;

/// The pause after a first failed attempt to make a session, and the longest.
const RECONNECT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));

/// Over how long a fleet that has lost its sessions at one moment spreads, at
/// most.
const SPREAD: Duration = Duration::from_secs(2);

/// A session with the ensemble.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    connections: SessionConnections,
    id: i64,
    terms: LeaseTerms,
    /// When something whose answer proves anything was last sent, in
    /// nanoseconds of the clock.
    last_sent: AtomicU64,
    proof: Mutex<Proof>,
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
        let asked_at = clock.look();
        let limit = asked_at.now + config.session_timeout * 2;
        let relay = match &config.tls {
            Some(way) => Some(Relay::start(way, clock, config.session_timeout)?),
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
            Fault::AuthFailed => error::read(error),
            _ => failed("").with_source(error),
        })?;
        if let Some(relay) = relay {
            // The driver goes on connecting for as long as the session may
            // live, also to end it when no client has it any more.
            let over = over(client.state_watcher());
            tokio::spawn(async move {
                over.await;
                drop(relay);
            });
        }
        let (id, timeout) = (client.session_id().0, client.session_timeout());
        Ok(Self {
            id,
            terms: terms(timeout)?,
            connections: SessionConnections::new(id, client.state_watcher()),
            client,
            last_sent: AtomicU64::new(clock.now().as_nanos()),
            proof: Mutex::new(Proof::new(timeout, asked_at)),
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
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The connection of now.
    pub(super) fn connection(&self) -> ConnectionNumber {
        self.connections.now()
    }

    /// Now, when something is about to be sent whose answer will be
    /// [noted](Self::note).
    pub(super) fn sending(&self, clock: &Clock) -> Moment {
        let now = clock.now();
        self.last_sent.store(now.as_nanos(), Ordering::Relaxed);
        now
    }

    /// What was sent at `sent` has just been answered.
    pub(super) fn note(&self, asked: Asked, sent: Moment, clock: &Clock) {
        self.proof.lock().note(asked, sent, clock.look());
    }

    /// Until when a lease may last that was asked for at `sent`, by all that
    /// was answered.
    pub(super) fn until(&self, sent: Moment) -> Moment {
        (sent + self.terms.lease()).min(self.proof.lock().until())
    }

    /// Whom a renewal asks: the quorum every T/4, so that 5/8 T after its last
    /// answer it is less than T ago; otherwise the leader, which costs less.
    pub(super) fn to_ask(&self, now: Moment) -> Asked {
        match self.proof.lock().since_write(now) >= self.timeout() / 4 {
            true => Asked::Quorum,
            false => Asked::Leader,
        }
    }

    /// Whom a grant asks: the quorum where the leader's word would [prove
    /// too little](Store::proven), for a waiter whose turn comes after long.
    pub(super) fn to_ask_for_grant(&self, now: Moment) -> Asked {
        match self.proof.lock().since_write(now) + self.least_proven() > self.timeout() {
            true => Asked::Quorum,
            false => Asked::Leader,
        }
    }

    /// How long a lease lasts at least when it begins.
    fn least_proven(&self) -> Duration {
        self.timeout() * 7 / 16
    }

    /// Asks the leader or the quorum for a word. It is sent before this
    /// returns; what it answers is noted.
    pub(super) fn confirm(
        &self,
        asked: Asked,
        path: &str,
        clock: &Clock,
    ) -> impl Future<Output = Result<(), Fault>> {
        let sent = self.sending(clock);
        let (sync, check) = match asked {
            Asked::Leader => (Some(self.client.sync(path)), None),
            // Writes nothing, and needs the quorum all the same.
            Asked::Quorum => (None, Some(self.client.new_check_writer(path, None))),
        };
        let check = check.map(|check| check.map(CheckWriter::commit));
        let clock = clock.clone();
        async move {
            OptionFuture::from(sync).await.transpose()?;
            if let Some(check) = check {
                match check?.await {
                    // Not there, and not there by the quorum's word.
                    Ok(_) | Err(CheckWriteError::CheckFailed { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            self.note(asked, sent, &clock);
            Ok(())
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client.state() == SessionState::SyncConnected
    }

    /// Asks the leader for a word whenever this client did not for T/8: a lease rests
    /// on what was answered before it was granted.
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
            let answer = self.confirm(Asked::Leader, "/", clock).await;
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

    /// Returns when the server has ended the session, once no call uses it.
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
/// 5/8 T at most.
fn terms(timeout: Duration) -> Result<LeaseTerms> {
    let whole = |length: Duration| {
        Duration::from_millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    };
    LeaseTerms::new(whole(timeout / 8), whole(timeout / 2))
}

/// How long to wait before a lost session is replaced. A client that loses
/// its session is seldom alone: all that an outage has cost theirs learn it at one
/// moment, and making a session is the dearest thing that they can ask for.
fn pause(failures: u32, roll: f64, timeout: Duration) -> Duration {
    let (first, longest) = RECONNECT;
    match failures.checked_sub(1) {
        None => SPREAD.min(timeout / 4).mul_f64(roll),
        Some(doubled) => {
            let full = first.saturating_mul(1 << doubled.min(16)).min(longest);
            full.mul_f64(0.5 + roll / 2.0)
        }
    }
}

pub(super) fn unreachable(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(message)
}

impl Store {
    /// Until when a lease may last that was asked for at `sent`. Where the
    /// answers so far prove little, after a pause or with no write for long,
    /// the quorum is asked once more.
    pub(super) async fn proven(&self, session: &Session, sent: Moment) -> Result<Moment> {
        let until = session.until(sent);
        if until >= sent + session.least_proven() {
            return Ok(until);
        }
        let path = self.config.paths.latches();
        let confirmed = session.confirm(Asked::Quorum, path, &self.clock).await;
        confirmed.map_err(error::write)?;
        Ok(session.until(sent))
    }

    /// Keeps a session, from `session` on, until the client is closed.
    pub(super) async fn supervise(self: Arc<Self>, mut session: Arc<Session>) {
        loop {
            let resumed = || {
                self.reaping.now();
                self.registry.resumed();
            };
            let end = tokio::select! {
                end = session.outlive(resumed) => end,
                () = session.keep_alive(&self.clock) => SessionState::Closed,
            };
            tracing::info!(session = session.id(), %end, "the ZooKeeper session is over");
            let believed = self.places.forget_session(session.id());
            self.runs.forget_all();
            self.keep_until(believed, session);
            session = self.replace().await;
            self.registry.resumed();
        }
    }

    /// Lets a session live for as long as a grant in it may be `believed`. It may not be
    /// over: the driver says so of itself alone, and goes on. Dropped, it is ended at the
    /// server, and the next owns at once.
    fn keep_until(&self, believed: Option<Moment>, session: Arc<Session>) {
        self.set_session(None);
        let Some(until) = believed else { return };
        let clock = self.clock.clone();
        self.spawn(async move {
            clock.sleep_until(until).await;
            drop(session);
        });
    }

    /// Makes a session until one is there.
    async fn replace(&self) -> Arc<Session> {
        let mut failures = 0;
        loop {
            self.set_session(None);
            let pause = pause(failures, fastrand::f64(), self.config.session_timeout);
            self.clock.sleep(pause).await;
            match Session::connect(&self.config, &self.clock).await {
                Ok(session) => {
                    let session = Arc::new(session);
                    self.set_session(Some(Ok(Arc::clone(&session))));
                    return session;
                }
                Err(error) => {
                    tracing::warn!(%error, "no ZooKeeper session");
                    self.set_session(Some(Err(error)));
                    failures += 1;
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_were_lost_together_are_not_made_together() {
        let timeout = Duration::from_secs(10);
        let spread = |failures| {
            let rolls = [0.0, 0.5, 0.999];
            rolls.map(|roll| pause(failures, roll, timeout).as_millis())
        };
        assert_eq!(spread(0), [0, 1000, 1998]);
        assert_eq!(spread(1), [125, 187, 249]);
        assert_eq!(spread(4), [1000, 1500, 1999]);
        for failures in [5, 40, u32::MAX] {
            assert_eq!(spread(failures), [2000, 3000, 3998]);
        }
        // Soon enough for who wants short sessions.
        assert!(pause(0, 0.999, Duration::from_secs(1)) < Duration::from_millis(250));
    }
}

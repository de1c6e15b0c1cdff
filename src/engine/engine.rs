//! [`Engine`]: what all contentions of a coordinator share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::birth::{Birth, Home};
use super::event::Finish;
use super::feed::{CoordinatorStatus, StatusFeed};
use super::notify::Dispatch;
use super::random::Random;
use super::roster::Roster;
use super::settings::Settings;
use super::trouble::{Doing, TroubleBoard, TroubleReporter, Troubles};
use super::wake;
use crate::backend::{AnyBackend, Backend, Bid, LeaseBound, Wakeup};
use crate::clock::{Clock, Moment, Sight};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::chance::Here;
use crate::model::{LeaseTerms, MutexName};
use crate::sync::Mutex;
use crate::telemetry::Meters;

/// Longer than a push takes.
const COURTESY: Duration = Duration::from_millis(10);

/// What all contentions of a coordinator share.
#[derive(Clone)]
pub(crate) struct Engine(Arc<EngineParts>);

struct EngineParts {
    backend: AnyBackend,
    /// Of the store's URLs.
    scheme: &'static str,
    clock: Clock,
    runtime: Handle,
    settings: Settings,
    /// Where all chance comes from that a seed replays, if one does.
    seeded: Option<Mutex<Random>>,
    roster: Roster,
    tasks: TaskTracker,
    closing: CancellationToken,
    /// The same for those who only ask, as every acquire does.
    is_closing: AtomicBool,
    home: Home,
    troubles: TroubleBoard,
    meters: Meters,
    feed: StatusFeed,
    /// What the close could not confirm the end of, and why.
    unconfirmed: Mutex<Vec<String>>,
}

impl Engine {
    pub(crate) fn new(
        backend: AnyBackend,
        clock: Clock,
        runtime: Handle,
        settings: Settings,
        random: Random,
    ) -> Self {
        Self::telling(None, backend, clock, runtime, settings, random)
    }

    /// Tells what happens to those who listen to `told`, or to listeners of its own.
    fn telling(
        told: Option<(TroubleBoard, StatusFeed)>,
        backend: AnyBackend,
        clock: Clock,
        runtime: Handle,
        settings: Settings,
        random: Random,
    ) -> Self {
        let scheme = backend.profile().scheme;
        let meters = Meters::new(scheme);
        let own = || (TroubleBoard::new(meters.clone()), StatusFeed::new());
        let (troubles, feed) = told.unwrap_or_else(own);
        let roster = Roster::new(
            backend.clone(),
            clock.clone(),
            runtime.clone(),
            meters.clone(),
        );
        Self(Arc::new(EngineParts {
            backend,
            scheme,
            clock,
            runtime,
            settings,
            seeded: random.is_seeded().then(|| Mutex::new(random)),
            roster,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            unconfirmed: Mutex::default(),
            home: Home::here(),
            is_closing: AtomicBool::new(false),
            troubles,
            meters,
            feed,
        }))
    }

    /// An engine with the same settings over another backend.
    pub(crate) fn beside(&self, backend: &AnyBackend) -> Self {
        let parts = &self.0;
        Self::telling(
            Some((parts.troubles.clone(), parts.feed.clone())),
            backend.clone(),
            parts.clock.clone(),
            parts.runtime.clone(),
            parts.settings.clone(),
            self.random(),
        )
    }

    pub(crate) fn backend(&self) -> &AnyBackend {
        &self.0.backend
    }

    /// The scheme of the store's URLs.
    pub(super) fn scheme(&self) -> &'static str {
        self.0.scheme
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// What is counted.
    pub(crate) fn meters(&self) -> &Meters {
        &self.0.meters
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The terms in force: a store whose leases hang on its session sets them.
    pub(crate) fn terms(&self) -> LeaseTerms {
        self.terms_with(None)
    }

    /// The terms in force for one who would have its `own`.
    pub(crate) fn terms_with(&self, own: Option<LeaseTerms>) -> LeaseTerms {
        match self.0.backend.profile().bound {
            LeaseBound::Terms => own.unwrap_or(self.0.settings.terms),
            LeaseBound::Session(terms) => terms,
        }
    }

    /// What `call` answers, within the usual time of a call: by the terms in
    /// force, which are those of the session where the store has one. It is
    /// counted as `operation`.
    pub(crate) async fn call<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let limit = self.terms().call_timeout();
        self.call_within(operation, limit, call).await
    }

    /// The same, within `limit`.
    pub(crate) async fn call_within<T>(
        &self,
        operation: &'static str,
        limit: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begun = Meters::IS_ON.then(|| self.clock().now());
        let answer = wake::within(self.clock(), limit, call).await;
        let answer = answer.and_then(|answer| answer);
        let took = || begun.map_or(Duration::ZERO, |begun| self.clock().now().since(begun));
        self.meters().called(operation, took, answer.as_ref().err());
        answer
    }

    /// How long one who gives a mutex up for others keeps away from it. A store
    /// with an order sees to their turn itself.
    pub(crate) fn courtesy(&self) -> Duration {
        let profile = self.0.backend.profile();
        match profile.wakeup {
            _ if profile.ordered => Duration::ZERO,
            Wakeup::Push => COURTESY,
            Wakeup::Poll(interval) => interval * 2,
        }
    }

    /// A queue for the callbacks of one service.
    pub(crate) fn dispatch(&self) -> Dispatch {
        if self.0.settings.inline_callbacks {
            Dispatch::inline()
        } else {
            Dispatch::blocking(self.0.runtime.clone())
        }
    }

    /// An error when the coordinator has been closed, or belongs to another
    /// process.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.look_open().map(drop)
    }

    /// The same, and what the clocks [showed before](Clock::look_before).
    pub(crate) fn look_open(&self) -> Result<Sight> {
        let seen = self.clock().look_before();
        self.check_birth_at(seen.now)?;
        if self.is_closing() {
            return Err(Error::closed("the coordinator"));
        }
        Ok(seen)
    }

    /// Cancelled when the coordinator is being closed.
    pub(super) fn closing_token(&self) -> &CancellationToken {
        &self.0.closing
    }

    /// Whether the coordinator is being closed.
    pub(super) fn is_closing(&self) -> bool {
        self.0.is_closing.load(Ordering::SeqCst)
    }

    /// All renewals.
    pub(super) fn roster(&self) -> &Roster {
        &self.0.roster
    }

    /// Returns when the coordinator is being closed.
    pub(crate) async fn closing(&self) {
        self.0.closing.cancelled().await;
    }

    /// Stops every contention, and waits for their releases. The store is not
    /// closed: others may still use it.
    /// Cancel-safe: what has begun goes on, and it can be called again.
    pub(crate) async fn settle(&self) {
        self.0.is_closing.store(true, Ordering::SeqCst);
        self.0.closing.cancel();
        self.0.roster.close();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Takes note of how a contention ended: what was not confirmed is said,
    /// by the log and by [`confirmed`](Self::confirmed).
    pub(super) fn note_end(&self, name: &MutexName, finish: &Finish) {
        let why = match finish {
            Finish::StillRunning => "its work still runs",
            Finish::Unconfirmed => "the store has not confirmed it",
            _ => return,
        };
        tracing::warn!(
            target: "tenure::engine",
            mutex = %name,
            "not released, {why}: nobody can own before the lease has run out"
        );
        if self.is_closing() {
            self.0.unconfirmed.lock().push(format!("{name} ({why})"));
        }
    }

    /// An error when something that ended at the close was not released for
    /// certain.
    pub(crate) fn confirmed(&self) -> Result<()> {
        let names = self.0.unconfirmed.lock();
        if names.is_empty() {
            return Ok(());
        }
        let message = format!("not released, so the leases run out: {}", names.join(", "));
        Err(Error::new(ErrorKind::Unconfirmed, Outcome::MayHave).with_message(message))
    }

    /// Nothing more will be told of troubles; for all engines that share them.
    pub(crate) fn end_troubles(&self) {
        self.0.troubles.close();
    }

    /// What is owned and waited for at this moment.
    pub(crate) fn status(&self) -> CoordinatorStatus {
        CoordinatorStatus {
            is_store_well: self.0.troubles.is_well(),
            contenders: self.0.roster.status(self.clock().now()),
            // Whose queues the engine does not know.
            local_waiters: Vec::new(),
        }
    }

    /// Where changes of the status come together.
    pub(crate) fn feed(&self) -> &StatusFeed {
        &self.0.feed
    }

    /// What fails from now on and is tried again.
    pub(crate) fn troubles(&self) -> Troubles {
        self.0.troubles.read()
    }

    /// One who does something with `mutex` again and again, and says how it
    /// goes.
    pub(crate) fn reporter(&self, mutex: &MutexName, doing: Doing) -> TroubleReporter {
        self.0.troubles.reporter(mutex, doing)
    }

    /// How long to wait after the `failures`-th failure in a row.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        wake::backoff(failures, self.random().fraction())
    }

    pub(super) fn random(&self) -> Random {
        match &self.0.seeded {
            Some(random) => random.lock().fork(),
            None => Random::unseeded(),
        }
    }

    /// The runtime that everything runs on.
    pub(super) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// The process that connected.
    pub(super) fn birth(&self) -> Birth {
        self.0.home.birth()
    }

    /// Where and when one is that has seen `sight`, and [that it may](Self::look_open)
    /// contend, without having waited since.
    pub(crate) fn here(&self, sight: Sight) -> Here {
        let process = self.birth().process();
        if !self.clock().shows_both() {
            return Here::now_in(process);
        }
        let now = sight.now.as_nanos();
        Here::at(process, now, now.wrapping_add_signed(sight.wall_lead))
    }

    /// An error in a fork of the process that connected.
    pub(super) fn check_birth(&self) -> Result<()> {
        self.0.home.check(self.clock())
    }

    /// The same by one who has just read `now`.
    pub(super) fn check_birth_at(&self, now: Moment) -> Result<()> {
        self.0.home.check_at(self.clock(), now)
    }

    /// As long as this lives, `close` waits.
    pub(super) fn running(&self) -> TaskTrackerToken {
        self.0.tasks.token()
    }

    /// Undoes `bid` once more after a call's longest time: a request that was
    /// given up may have been applied since.
    pub(super) fn undo_later(&self, bid: Arc<Bid>) {
        let (engine, mut random) = (self.clone(), self.random());
        self.spawn(async move {
            let (clock, limit) = (engine.clock(), bid.terms.call_timeout());
            let over = clock.now() + bid.terms.lease();
            clock.sleep(limit).await;
            for failures in 1.. {
                let leaving = engine.backend().leave(&bid);
                let left = engine.call_within("leave", limit, leaving).await;
                if left.is_ok() || clock.now() >= over {
                    return;
                }
                let pause = wake::backoff(failures, random.fraction());
                clock.sleep(pause).await;
            }
        });
    }

    /// Runs `task` until it ends, or as long as the runtime lives; `close`
    /// waits for it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn_on(task, &self.0.runtime);
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("backend", &self.0.backend)
            .finish_non_exhaustive()
    }
}

//! [`Coordinator`]: the way in.

mod inspect;
mod lazy;
mod revoke;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;

pub use lazy::LazyCoordinator;
pub use revoke::Revocation;

use crate::backend::{AnyBackend, AnyHoldStore, Backend};
use crate::clock::Clock;
use crate::engine::{Engine, Random, Settings};
use crate::error::{Error, Result};
use crate::leader::Elector;
use crate::lock::reentrant::ReentrantLocks;
use crate::lock::{Ids, Lock, LockOptions, Locks, ReentrantLock, ReentrantOptions};
use crate::model::{ContenderIdGenerator, Host, Jitter, LeaseTerms, MutexName, Purpose};
use crate::schedule::{ScheduleConfig, Scheduler};
use crate::service::{ContendService, Contender, RetrievalService, Retriever};
use crate::stores::{self, StoreOptions};

/// Everything that one process owns and waits for in one store.
///
/// Cheap to clone; all clones share connections and are closed together.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:?ttl=10s&transition=6s").await?;
/// coordinator.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Coordinator {
    engine: Engine,
    locks: Arc<Locks>,
    ids: Arc<dyn ContenderIdGenerator>,
    /// Where its reentrant locks lie, if elsewhere than its locks.
    holds: Option<AnyHoldStore>,
    reentrant_locks: Arc<OnceLock<Arc<ReentrantLocks>>>,
}

impl Coordinator {
    /// Opens a store, with everything else as usual: by a URL, or by the typed
    /// options of a store; see [`StoreOptions`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a scheme or option that is not
    /// known, naming those that are; otherwise what the store fails with.
    ///
    /// # Cancel safety
    /// Dropped, the connection is closed.
    pub async fn connect(options: impl Into<StoreOptions>) -> Result<Self> {
        Self::builder().connect(options).await
    }

    /// As [`connect`](Self::connect), when it is first used: only the options
    /// are checked now. No I/O.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a scheme or option that is not
    /// known, naming those that are.
    pub fn connect_lazy(options: impl Into<StoreOptions>) -> Result<LazyCoordinator> {
        Self::builder().connect_lazy(options)
    }

    /// Sets more than a URL can.
    pub fn builder() -> CoordinatorBuilder {
        CoordinatorBuilder::default()
    }

    /// A coordinator over a backend of your own.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) outside a tokio runtime.
    pub fn with_backend(backend: impl Backend, terms: LeaseTerms) -> Result<Self> {
        Self::builder().terms(terms).with_backend(backend)
    }

    /// The lock called `name`. No I/O.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a name that is not valid,
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
    pub fn lock(&self, name: impl AsRef<str>) -> Result<Lock> {
        self.engine.check_open()?;
        let options = self.locks.usual_options();
        Ok(Lock::new(&self.locks, MutexName::new(name)?, options))
    }

    /// The lock called `name`, with options of its own. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`Invalid`](crate::ErrorKind::Invalid) for options
    /// that make no sense or contradict each other.
    pub fn lock_with(&self, name: impl AsRef<str>, options: LockOptions) -> Result<Lock> {
        self.engine.check_open()?;
        options.check(self.engine.terms_with(options.own_terms()))?;
        let options = Arc::new(options);
        Ok(Lock::new(&self.locks, MutexName::new(name)?, options))
    }

    /// The reentrant lock called `name`. No I/O.
    ///
    /// In Redis it lies in the layout that Redisson's `RLock` has, beside the
    /// mutexes; in every other store it is the mutex of [`lock`](Self::lock).
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn reentrant_lock(&self, name: impl AsRef<str>) -> Result<ReentrantLock> {
        self.reentrant_lock_with(name, ReentrantOptions::default())
    }

    /// The reentrant lock called `name`, with options of its own. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`Invalid`](crate::ErrorKind::Invalid) for options
    /// that make no sense.
    pub fn reentrant_lock_with(
        &self,
        name: impl AsRef<str>,
        options: ReentrantOptions,
    ) -> Result<ReentrantLock> {
        self.engine.check_open()?;
        let reentrant_locks = self.reentrant_locks.get_or_init(|| match &self.holds {
            None => ReentrantLocks::unseen(Arc::clone(&self.locks)),
            Some(holds) => {
                let engine = self.engine.beside(holds.backend());
                ReentrantLocks::shown_in(holds.clone(), engine, Purpose::Reentrant)
            }
        });
        ReentrantLock::new(reentrant_locks, MutexName::new(name)?, &options)
    }

    /// An elector for the office called `name`. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn elector(&self, name: impl AsRef<str>) -> Result<Elector> {
        self.engine.check_open()?;
        let ids = Arc::clone(&self.ids);
        Ok(Elector::new(
            self.engine.clone(),
            ids,
            MutexName::new(name)?,
        ))
    }

    /// A scheduler for the schedule called `name`. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn scheduler(&self, name: impl AsRef<str>, config: ScheduleConfig) -> Result<Scheduler> {
        self.engine.check_open()?;
        let ids = Arc::clone(&self.ids);
        let name = MutexName::new(name)?;
        Ok(Scheduler::new(self.engine.clone(), ids, name, config))
    }

    /// A service that contends for `contender`. Not started yet.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
    pub fn contend_service<C: Contender>(&self, contender: C) -> Result<ContendService<C>> {
        self.engine.check_open()?;
        Ok(ContendService::new(self.engine.clone(), contender))
    }

    /// A service that observes for `retriever`. Not started yet.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
    pub fn retrieval_service<R: Retriever>(&self, retriever: R) -> Result<RetrievalService<R>> {
        self.engine.check_open()?;
        Ok(RetrievalService::new(self.engine.clone(), retriever))
    }

    /// Ends everything that this coordinator and its clones own and wait for,
    /// waits until the store has been told, and closes the store. Guards are
    /// dead at once; the holder of an office is asked to
    /// [end](crate::Tenure::ending), and waited for. Later calls
    /// fail with [`Closed`](crate::ErrorKind::Closed); closing again is fine.
    ///
    /// # Errors
    /// [`Unconfirmed`](crate::ErrorKind::Unconfirmed) when something was not released
    /// for certain, naming it: its work did not end within the
    /// [`quiesce`](CoordinatorBuilder::quiesce) time, or the store did not
    /// answer before the lease ran out. Otherwise what closing the store fails
    /// with.
    ///
    /// # Cancel safety
    /// Dropped, the releases go on in the background; call it again to wait.
    pub async fn close(&self) -> Result<()> {
        // Both end what they own before the store that they share is closed.
        let reentrant_locks = async {
            if let Some(reentrant_locks) = self.reentrant_locks.get() {
                reentrant_locks.settle().await;
            }
        };
        tokio::join!(self.engine.settle(), reentrant_locks);
        self.engine.end_troubles();
        let closed = self.engine.backend().close().await;
        self.engine.confirmed()?;
        if let Some(reentrant_locks) = self.reentrant_locks.get() {
            reentrant_locks.confirmed()?;
        }
        closed
    }
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("backend", self.engine.backend())
            .finish()
    }
}

/// What a [`Coordinator`] is made with.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> tenure::Result<()> {
/// use std::time::Duration;
/// use tenure::Coordinator;
/// use tenure::clock::Clock;
/// use tenure::model::LeaseTerms;
///
/// let coordinator = Coordinator::builder()
///     .terms(LeaseTerms::new(Duration::from_secs(3), Duration::from_secs(2))?)
///     .clock(Clock::tokio()) // virtual time, for tests
///     .connect("memory:")
///     .await?;
/// # coordinator.close().await
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CoordinatorBuilder {
    settings: Settings,
    runtime: Option<Handle>,
    clock: Clock,
    watch_wall_clock: bool,
    seed: Option<u64>,
    /// None for the usual ones.
    ids: Option<Arc<dyn ContenderIdGenerator>>,
}

impl Default for CoordinatorBuilder {
    fn default() -> Self {
        Self {
            settings: Settings {
                terms: LeaseTerms::default(),
                jitter: Jitter::default(),
                initial_delay: Duration::ZERO,
                quiesce: Duration::from_secs(30),
                inline_callbacks: false,
            },
            runtime: None,
            clock: Clock::boot(),
            watch_wall_clock: true,
            seed: None,
            ids: None,
        }
    }
}

impl CoordinatorBuilder {
    /// The lease terms; terms in the URL or the store's options come before these.
    pub fn terms(mut self, terms: LeaseTerms) -> Self {
        self.settings.terms = terms;
        self
    }

    /// Who makes the ids of locks and electors; otherwise [`Host`].
    pub fn ids(mut self, ids: impl ContenderIdGenerator) -> Self {
        self.ids = Some(Arc::new(ids));
        self
    }

    /// How the wake-ups of waiters are spread where the store has no order.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.jitter = jitter;
        self
    }

    /// How long a contention waits before its first attempt.
    pub fn initial_delay(mut self, initial_delay: Duration) -> Self {
        self.settings.initial_delay = initial_delay;
        self
    }

    /// How long the local side may take to end when it is stopped, before it
    /// is given up and the lease left to run out.
    pub fn quiesce(mut self, quiesce: Duration) -> Self {
        self.settings.quiesce = quiesce;
        self
    }

    /// The runtime that everything runs on; otherwise the one that
    /// [`connect`](Self::connect) is called in.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// The clock; otherwise [`Clock::boot`].
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Whether ownership ends when the wall clock of this machine goes ahead of
    /// its other clocks by more than the margin, as it does after a virtual
    /// machine stood still. On by default, on Linux. Turn it off where the wall
    /// clock is set by hand or steps often: every step forward costs what is
    /// owned then.
    pub fn watch_wall_clock(mut self, watch: bool) -> Self {
        self.watch_wall_clock = watch;
        self
    }

    /// Makes every run the same: chance comes from `seed`, callbacks run where
    /// they arise. For simulations on virtual time.
    #[doc(hidden)]
    pub fn deterministic(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self.settings.inline_callbacks = true;
        self
    }

    /// Opens the store that `options` name.
    ///
    /// # Errors
    /// As [`Coordinator::connect`].
    ///
    /// # Cancel safety
    /// Dropped, the connection is closed.
    pub async fn connect(mut self, options: impl Into<StoreOptions>) -> Result<Coordinator> {
        let options = options.into();
        if let Some(terms) = options.url()?.options().terms()? {
            self.settings.terms = terms;
        }
        let backend = stores::open(&options, self.clock.clone()).await?;
        self.with_backend(backend)
    }

    /// As [`connect`](Self::connect), when it is first used: only the options
    /// are checked now. No I/O.
    ///
    /// # Errors
    /// As [`Coordinator::connect_lazy`].
    pub fn connect_lazy(self, options: impl Into<StoreOptions>) -> Result<LazyCoordinator> {
        LazyCoordinator::new(self, options.into())
    }

    /// A coordinator over a backend of your own. Over one that
    /// [`stores::open`] has opened it is as by [`connect`](Self::connect).
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) outside a tokio runtime, if none
    /// was [given](Self::runtime).
    pub fn with_backend(self, backend: impl Backend) -> Result<Coordinator> {
        let backend = AnyBackend::new(backend);
        // One that `stores::open` has erased knows where its reentrant locks lie.
        let holds = backend.holds().cloned();
        let runtime = self
            .runtime
            .or_else(|| Handle::try_current().ok())
            .ok_or_else(|| {
                Error::wrong_state(
                "a coordinator is made inside a tokio runtime, or with builder().runtime(handle)",
            )
            })?;
        let clock = match self.watch_wall_clock {
            true => self.clock,
            false => self.clock.ignoring_wall(),
        };
        let random = self.seed.map_or_else(Random::unseeded, Random::seeded);
        let engine = Engine::new(backend, clock, runtime, self.settings, random);
        let ids = self.ids.as_ref().map_or(Ids::Usual, Ids::made_by);
        let locks = Locks::new(engine.clone(), ids);
        Ok(Coordinator {
            engine,
            locks,
            ids: self.ids.unwrap_or_else(|| Arc::new(Host::new())),
            holds,
            reentrant_locks: Arc::default(),
        })
    }
}

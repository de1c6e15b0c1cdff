//! [`Lock`]: a name to be owned, and the lines before all names of a process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::estate::Estate;
use super::guard::LockGuard;
use super::ids::Ids;
use super::options::LockOptions;
use super::queue::{CompetitorQueue, Place};
use super::waiting::{Shared, Waiter};
use crate::clock::Moment;
use crate::engine::{Engine, Mode};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{ContenderId, MutexName, Owner};

/// All local lines of a coordinator.
#[derive(Debug)]
pub(crate) struct Hub {
    engine: Engine,
    ids: Ids,
    lanes: Mutex<BTreeMap<MutexName, Weak<Lane>>>,
}

/// The local line before one name.
#[derive(Debug)]
struct Lane {
    queue: Arc<CompetitorQueue<Waiter, Estate>>,
    /// Until when other processes are let first; nanoseconds of the clock.
    rest_until: AtomicU64,
}

impl Hub {
    pub(crate) fn new(engine: Engine, ids: Ids) -> Arc<Self> {
        Arc::new(Self {
            engine,
            ids,
            lanes: Mutex::default(),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    fn lane(&self, name: &MutexName) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(name).and_then(Weak::upgrade) {
            return lane;
        }
        // Names come and go: now and then the forgotten ones are swept out.
        if lanes.len().is_power_of_two() {
            lanes.retain(|_, lane| lane.strong_count() > 0);
        }
        let lane = Arc::new(Lane {
            queue: CompetitorQueue::new(),
            rest_until: AtomicU64::new(0),
        });
        lanes.insert(name.clone(), Arc::downgrade(&lane));
        lane
    }
}

/// A lock that any number of processes, threads and tasks may want.
///
/// Cheap to clone and to share. It is not reentrant: a task that holds the
/// guard and asks again waits for itself.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let lock = coordinator.lock("nightly-report")?;
/// let guard = lock.acquire().await?;
/// println!("ours, with token {}", guard.token()?);
/// guard.release().await?;
/// # coordinator.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct Lock {
    hub: Arc<Hub>,
    name: MutexName,
    options: Arc<LockOptions>,
    lane: Arc<Lane>,
    /// Whom its ids name, where ids name anybody.
    holder: Option<Arc<str>>,
    /// How long its head waiter goes without looking, if not as usual.
    safety_look: Option<Duration>,
}

impl Lock {
    pub(crate) fn new(hub: &Arc<Hub>, name: MutexName, options: LockOptions) -> Self {
        let lane = hub.lane(&name);
        Self {
            hub: Arc::clone(hub),
            name,
            options: Arc::new(options),
            lane,
            holder: None,
            safety_look: None,
        }
    }

    /// The same lock, taken in the name of `holder`.
    pub(super) fn taken_by(&self, holder: &Arc<str>) -> Self {
        Self {
            holder: Some(Arc::clone(holder)),
            ..self.clone()
        }
    }

    /// The same lock, looked at this often by who waits for it.
    pub(super) fn looking_every(self, safety_look: Option<Duration>) -> Self {
        Self {
            safety_look,
            ..self
        }
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        &self.name
    }

    /// Waits until the lock is ours, for ever if need be. Trouble with the
    /// store is retried.
    ///
    /// # Errors
    /// Only what no retry can help: [`Denied`](ErrorKind::Denied),
    /// [`NotFound`](ErrorKind::NotFound), [`Closed`](ErrorKind::Closed) and
    /// their like.
    ///
    /// # Cancel safety
    /// Dropped, it leaves the line, and whatever it may have won in the store
    /// is given back in the background. Kept and not polled, it gives back
    /// after the first ttl what it has won, and contends again when it is
    /// polled; until then it keeps its place before the other tasks of its
    /// process, as with every async lock.
    pub async fn acquire(&self) -> Result<LockGuard> {
        let progress = Shared::default();
        match self.wait(&progress).await? {
            Some(guard) => Ok(guard),
            None => Err(self.closed()),
        }
    }

    /// Waits at most `wait`: `None` when another still owns it then.
    ///
    /// One attempt is made in any case: where `wait` ends before the store has
    /// answered the first one, its answer is waited for, as by
    /// [`try_acquire`](Self::try_acquire).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); and the store's trouble when it never
    /// answered in all that time.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    #[must_use = "the lock is released when the guard inside is dropped"]
    pub async fn acquire_within(&self, wait: Duration) -> Result<Option<LockGuard>> {
        if wait.is_zero() {
            return self.try_acquire().await;
        }
        let progress = Shared::default();
        let look = || progress.lock().unwrap_or_else(PoisonError::into_inner);
        let clock = self.engine().clock();
        let mut waiting = std::pin::pin!(self.wait(&progress));
        if let Some(result) = clock.limit(clock.now() + wait, &mut waiting).await {
            return result;
        }
        // Given up now, the attempt may win, and nobody would know.
        let first_word = look().first_word();
        if let Some(first_word) = first_word {
            tokio::select! {
                biased;
                result = &mut waiting => return result,
                () = first_word.notified() => {}
            }
        }
        std::mem::take(&mut *look())
            .into_error()
            .map_or(Ok(None), Err)
    }

    /// One attempt: `None` when another owns it or stands before us.
    ///
    /// Mind that an unused `Some(guard)` is dropped, and with it the lock.
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    #[must_use = "the lock is released when the guard inside is dropped"]
    pub async fn try_acquire(&self) -> Result<Option<LockGuard>> {
        self.engine().check_open()?;
        match self.lane.queue.try_join(Waiter::new()) {
            Some(place) => self.compete(place, Mode::Try, &Shared::default()).await,
            None => Ok(None),
        }
    }

    /// Who owns it, by the store's present word; `None` for nobody.
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// It only looks: dropping it changes nothing.
    pub async fn owner(&self) -> Result<Option<Owner>> {
        self.engine().check_open()?;
        let answer = self.engine().look(&self.name).await;
        answer
            .map(|answer| answer.present_owner())
            .map_err(|e| e.with_mutex(&self.name))
    }

    async fn wait(&self, progress: &Shared) -> Result<Option<LockGuard>> {
        self.engine().check_open()?;
        let place = self.lane.queue.join(Waiter::new());
        tokio::select! {
            biased;
            won = self.compete(place, Mode::Once, progress) => won,
            () = self.engine().closing() => Err(self.closed()),
        }
    }

    fn closed(&self) -> Error {
        Error::new(ErrorKind::Closed, Outcome::DidNot)
            .with_message("the coordinator was closed while the lock was waited for")
            .with_mutex(&self.name)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.hub.engine
    }

    pub(super) fn options(&self) -> &LockOptions {
        &self.options
    }

    pub(super) fn new_id(&self) -> Result<ContenderId> {
        self.hub.ids.next(self.holder.as_deref())
    }

    /// Whether no other bid of the fleet carries [such an id](Self::new_id).
    pub(super) fn has_unique_ids(&self) -> bool {
        self.hub.ids.are_unique()
    }

    pub(super) fn safety_look(&self) -> Option<Duration> {
        self.safety_look
    }

    /// Whether the grant may go to the next in line without the store.
    pub(super) fn may_hand_on(&self, estate: &Estate, place: &Place<Waiter, Estate>) -> bool {
        if !place.has_successor() {
            return false;
        }
        let now = self.engine().clock().now();
        let age = now.since(estate.granted_at);
        let times = estate.tenure.own_token().hand_over();
        let within = !self.options.shares_fence && self.options.hand_over.allows(times, age);
        if !within {
            self.lane.rest_until.store(
                (now + self.engine().courtesy()).as_nanos(),
                Ordering::Relaxed,
            );
        }
        // One that is about to end is not worth having: its renewal is late.
        let terms = estate.terms;
        let enough = (terms.transition() / 2).max(terms.lease() / 8);
        within && estate.tenure.lease_left() > enough
    }

    /// How long to wait before the next bid for the sake of others.
    pub(super) fn rest(&self) -> Duration {
        let until = Moment::from_nanos(self.lane.rest_until.load(Ordering::Relaxed));
        until.since(self.engine().clock().now())
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.name)
            .field("line", &self.lane.queue)
            .finish_non_exhaustive()
    }
}

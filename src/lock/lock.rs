//! [`Lock`]: a name to be owned. [`Acquisition`]: the way to one guard, through
//! the local queue and then through the store.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::guard::LockGuard;
use super::hand_over::{GrantSource, LocalGrant};
use super::local_queue::{LocalQueue, WaiterPlace};
use super::locks::Locks;
use super::options::LockOptions;
use super::word::{Began, End, Heard, Word};
use crate::clock::{Moment, Sight};
use crate::engine::{Engine, Finish, Mode};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{LeaseTerms, MutexName, Owner, Purpose};
use crate::sync::Mutex;
use crate::telemetry::{Meters, Waits, story};

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
pub struct Lock(Arc<LockParts>);

/// What all clones of a lock share, among them those in its guards.
#[derive(Clone)]
struct LockParts {
    locks: Arc<Locks>,
    name: MutexName,
    options: Arc<LockOptions>,
    queue: Arc<LocalQueue>,
    /// What it is, to those who look on.
    purpose: Purpose,
    /// The holder whom its ids name, where ids name one.
    holder: Option<Arc<str>>,
    /// How long its head waiter goes without looking, if not as usual.
    safety_look: Option<Duration>,
}

impl Lock {
    pub(crate) fn new(locks: &Arc<Locks>, name: MutexName, options: Arc<LockOptions>) -> Self {
        let queue = locks.queue(&name);
        Self(Arc::new(LockParts {
            locks: Arc::clone(locks),
            name,
            options,
            queue,
            purpose: Purpose::Lock,
            holder: None,
            safety_look: None,
        }))
    }

    /// The same lock as the ground of another kind of lock.
    pub(super) fn wanted_for(self, purpose: Purpose) -> Self {
        Self(Arc::new(LockParts {
            purpose,
            ..LockParts::clone(&self.0)
        }))
    }

    /// The same lock, taken in the name of `holder`.
    pub(super) fn taken_by(&self, holder: &Arc<str>) -> Self {
        Self(Arc::new(LockParts {
            holder: Some(Arc::clone(holder)),
            ..LockParts::clone(&self.0)
        }))
    }

    /// The same lock, looked at this often by who waits for it.
    pub(super) fn looking_every(self, safety_look: Option<Duration>) -> Self {
        Self(Arc::new(LockParts {
            safety_look,
            ..LockParts::clone(&self.0)
        }))
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        &self.0.name
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
    /// Dropped, it leaves the queue, and whatever it may have won in the store
    /// is given back in the background. Kept and not polled, it gives back
    /// after the first ttl what it has won, and contends again when it is
    /// polled; until then it keeps its place before the other tasks of its
    /// process, as with every async lock.
    pub async fn acquire(&self) -> Result<LockGuard> {
        let won = self.wait(&Acquisition::new(self, Mode::Once)).await?;
        won.ok_or_else(|| self.closed())
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
        let acquisition = Acquisition::new(self, Mode::Once);
        let clock = self.engine().clock();
        let mut waiting = pin!(self.wait(&acquisition));
        if let Some(result) = clock.limit(clock.now() + wait, &mut waiting).await {
            return result;
        }
        // Given up now, the attempt may win without the caller's knowledge.
        if acquisition.awaits_first_word() {
            tokio::select! {
                biased;
                result = &mut waiting => return result,
                () = acquisition.first_word() => {}
            }
        }
        acquisition.trouble().map_or(Ok(None), Err)
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
        let seen = self.engine().look_open()?;
        match self.0.queue.waiters.try_join(self.0.queue.waiter()) {
            Some(place) => Acquisition::new(self, Mode::Try).run(place, seen).await,
            None => Ok(None),
        }
    }

    /// Who owns it, by the store's present word; `None` when it is free.
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// It only looks: dropping it changes nothing.
    pub async fn owner(&self) -> Result<Option<Owner>> {
        self.engine().check_open()?;
        let answer = self.engine().look(&self.0.name).await;
        answer
            .map(|answer| answer.present_owner())
            .map_err(|e| e.with_mutex(&self.0.name))
    }

    async fn wait(&self, acquisition: &Acquisition<'_>) -> Result<Option<LockGuard>> {
        // All of it in one poll, which a runtime may put off.
        let run = async {
            let seen = self.engine().look_open()?;
            let place = self.0.queue.waiters.join(self.0.queue.waiter());
            acquisition.run(place, seen).await
        };
        tokio::select! {
            biased;
            won = run => won,
            () = self.engine().closing() => Err(self.closed()),
        }
    }

    fn closed(&self) -> Error {
        Error::new(ErrorKind::Closed, Outcome::DidNot)
            .with_message("the coordinator was closed while the lock was waited for")
            .with_mutex(&self.0.name)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.0.locks.engine
    }

    pub(super) fn options(&self) -> &LockOptions {
        &self.0.options
    }

    pub(super) fn queue(&self) -> &Arc<LocalQueue> {
        &self.0.queue
    }

    pub(super) fn terms(&self) -> LeaseTerms {
        self.engine().terms_with(self.0.options.terms)
    }

    /// When a guard that begins now ends at the latest.
    pub(super) fn hold_limit(&self) -> Option<Moment> {
        let max_hold = self.0.options.max_hold?;
        Some(self.engine().clock().now() + max_hold)
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.0.name)
            .field("queue", &self.0.queue)
            .finish_non_exhaustive()
    }
}

/// Runs `waiting` to its end, and says whether that took more than one look.
async fn has_waited(waiting: impl Future<Output = ()>) -> bool {
    let (mut waiting, mut has_waited) = (pin!(waiting), false);
    poll_fn(|cx| {
        let polled = waiting.as_mut().poll(cx);
        has_waited |= polled.is_pending();
        polled
    })
    .await;
    has_waited
}

/// One acquisition of a lock.
#[derive(Debug)]
struct Acquisition<'a> {
    lock: &'a Lock,
    mode: Mode,
    /// Once the store has been asked.
    word: Mutex<Option<Arc<Word>>>,
}

impl<'a> Acquisition<'a> {
    fn new(lock: &'a Lock, mode: Mode) -> Self {
        let word = Mutex::default();
        Self { lock, mode, word }
    }

    /// From a place in the queue to the guard; `None` when another owns and the
    /// mode does not wait. `seen` is what one saw just now who [found the
    /// coordinator open](Engine::look_open).
    async fn run(&self, mut place: WaiterPlace, seen: Sight) -> Result<Option<LockGuard>> {
        let lock = self.lock;
        let (meters, clock) = (lock.engine().meters(), lock.engine().clock());
        let meters = meters.of(lock.0.purpose, &lock.0.name);
        let waits = Waits::begin(meters.clone());
        let since = Meters::IS_ON.then(|| clock.now());
        let waited = || since.map_or(Duration::ZERO, |since| clock.now().since(since));
        let mut seen = (!has_waited(place.head()).await).then_some(seen);
        if let Some(mut grant) = place.take_over() {
            if grant.take_over(lock) {
                story::handed_on(&lock.0.name, grant.tenure.own_token());
                meters.handed_on();
                waits.won_after(waited);
                place.won();
                return Ok(Some(LockGuard::new(lock.clone(), grant, place)));
            }
            // Our own old grant must not stand in our way.
            grant.give_back(None).finish(None).await;
            seen = None;
        }
        loop {
            // In the same breath as the contention begins.
            let seen = match seen.take() {
                Some(seen) => seen,
                None => lock.engine().look_open()?,
            };
            match self.contend(seen).await? {
                // A grant that went back or ran out before its waiter was
                // polled is none.
                Some((grant, at_once))
                    if !grant.tenure.pick_up() || (!at_once && grant.tenure.is_lost()) =>
                {
                    grant.give_back(None).finish(None).await;
                }
                Some((grant, _)) => {
                    waits.won_after(waited);
                    place.won();
                    return Ok(Some(LockGuard::new(lock.clone(), grant, place)));
                }
                None => return Ok(None),
            }
        }
    }

    /// One contention, of one who has seen just now that the coordinator is open
    /// here. With the grant comes whether the store has given it at once, with no
    /// time in between in which it could have run out, this machine stood still or
    /// this process forked.
    async fn contend(&self, mut sent: Sight) -> Result<Option<(LocalGrant, bool)>> {
        let (lock, engine) = (self.lock, self.lock.engine());
        let (ids, name) = (&lock.0.locks.ids, lock.0.name.clone());
        let (id, nonce) = ids.next(lock.0.holder.as_deref(), engine.here(sent))?;
        if nonce.is_none() {
            // Who makes ids for the application may have taken its time.
            sent = engine.look_open()?;
        }
        let mut settings = engine.contention_settings(lock.0.purpose, name, id, self.mode);
        settings.terms = lock.terms();
        settings.unique_id = ids.are_unique();
        settings.shares_fence = lock.0.options.shares_fence;
        // A guard ends where it is dropped; there is nothing to wait for.
        settings.quiesce = Duration::ZERO;
        settings.initial_delay = lock.0.queue.others_first(engine.clock());
        settings.safety_look = lock.0.safety_look.unwrap_or(settings.safety_look);
        let word = self.next_word();
        let contention = engine
            .contend_here(settings, word.clone(), nonce, sent)
            .abandoned_when_dropped();
        let at_once = contention.call_here().await;
        let began = word.began().await;
        match began {
            Began::Tenure(tenure) => {
                let tenure = tenure.limited(lock.hold_limit());
                let source = GrantSource { contention, word };
                Ok(Some((LocalGrant { tenure, source }, at_once)))
            }
            Began::Ended(End::Finished(Finish::Failed(error))) => {
                Err(error.with_mutex(&lock.0.name))
            }
            // The coordinator was closed while we waited; otherwise the one
            // attempt was refused.
            Began::Ended(End::Finished(_)) => engine.check_open().map(|()| None),
            Began::Ended(End::CutOff) => Err(Error::new(ErrorKind::Closed, Outcome::DidNot)
                .with_message("the runtime that the coordinator lives on has ended")
                .with_mutex(&lock.0.name)),
        }
    }

    /// A word for the next contention. What the store has said in the one before
    /// is not forgotten.
    fn next_word(&self) -> Arc<Word> {
        let mut word = self.word.lock();
        let heard = word
            .as_ref()
            .map_or(Heard::Nothing, |word| word.pass_on_heard());
        Arc::clone(word.insert(Arc::new(Word::new(heard))))
    }

    fn word(&self) -> Option<Arc<Word>> {
        let word = self.word.lock();
        word.clone()
    }

    /// Returns when the store, if it has been asked, has said something; at once
    /// when it has not been asked.
    async fn first_word(&self) {
        if let Some(word) = self.word() {
            word.first_word().await;
        }
    }

    /// Whether the store has been asked and has not said anything.
    fn awaits_first_word(&self) -> bool {
        self.word().is_some_and(|word| word.awaits_first_word())
    }

    /// Why the store never answered, if it never did.
    fn trouble(&self) -> Option<Error> {
        match self.word()?.take_heard() {
            Heard::Trouble(error) => Some(error),
            Heard::Nothing | Heard::Answer => None,
        }
    }
}

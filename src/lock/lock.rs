//! [`Lock`]: a name to be owned. [`Locks`]: what those of a coordinator share.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use uuid::Uuid;

use super::acquire::Acquisition;
use super::guard::LockGuard;
use super::local_queue::LocalQueue;
use super::options::LockOptions;
use crate::clock::Moment;
use crate::engine::{Engine, LocalWaiters, Mode};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{ContenderId, ContenderIdGenerator, LeaseTerms, MutexName, Owner, chance};

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
    locks: Arc<Locks>,
    name: MutexName,
    options: Arc<LockOptions>,
    queue: Arc<LocalQueue>,
    /// The holder whom its ids name, where ids name one.
    holder: Option<Arc<str>>,
    /// How long its head waiter goes without looking, if not as usual.
    safety_look: Option<Duration>,
}

impl Lock {
    pub(crate) fn new(locks: &Arc<Locks>, name: MutexName, options: LockOptions) -> Self {
        let queue = locks.queue(&name);
        Self {
            locks: Arc::clone(locks),
            name,
            options: Arc::new(options),
            queue,
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
        self.engine().check_open()?;
        match self.queue.try_join() {
            Some(place) => Acquisition::new(self, Mode::Try).run(place).await,
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
        let answer = self.engine().look(&self.name).await;
        answer
            .map(|answer| answer.present_owner())
            .map_err(|e| e.with_mutex(&self.name))
    }

    async fn wait(&self, acquisition: &Acquisition<'_>) -> Result<Option<LockGuard>> {
        self.engine().check_open()?;
        let place = self.queue.join();
        tokio::select! {
            biased;
            won = acquisition.run(place) => won,
            () = self.engine().closing() => Err(self.closed()),
        }
    }

    fn closed(&self) -> Error {
        Error::new(ErrorKind::Closed, Outcome::DidNot)
            .with_message("the coordinator was closed while the lock was waited for")
            .with_mutex(&self.name)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.locks.engine
    }

    pub(super) fn options(&self) -> &LockOptions {
        &self.options
    }

    pub(super) fn new_id(&self) -> Result<ContenderId> {
        self.locks.ids.next(self.holder.as_deref())
    }

    /// Whether no other bid of the fleet carries [such an id](Self::new_id).
    pub(super) fn has_unique_ids(&self) -> bool {
        self.locks.ids.are_unique()
    }

    pub(super) fn safety_look(&self) -> Option<Duration> {
        self.safety_look
    }

    pub(super) fn queue(&self) -> &Arc<LocalQueue> {
        &self.queue
    }

    pub(super) fn terms(&self) -> LeaseTerms {
        self.engine().terms_with(self.options.terms)
    }

    /// When a guard that begins now ends at the latest.
    pub(super) fn hold_limit(&self) -> Option<Moment> {
        let max_hold = self.options.max_hold?;
        Some(self.engine().clock().now() + max_hold)
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.name)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// The locks of a coordinator: two of the same name share one local queue.
#[derive(Debug)]
pub(crate) struct Locks {
    pub(super) engine: Engine,
    pub(super) ids: Ids,
    queues: Mutex<BTreeMap<MutexName, Weak<LocalQueue>>>,
}

impl Locks {
    pub(crate) fn new(engine: Engine, ids: Ids) -> Arc<Self> {
        Arc::new(Self {
            engine,
            ids,
            queues: Mutex::default(),
        })
    }

    pub(super) fn queue(&self, name: &MutexName) -> Arc<LocalQueue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(name).and_then(Weak::upgrade) {
            return queue;
        }
        // Names come and go: now and then the forgotten ones are swept out.
        if queues.len().is_power_of_two() {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::new(LocalQueue::new());
        queues.insert(name.clone(), Arc::downgrade(&queue));
        queue
    }

    /// The tasks that wait behind another.
    pub(crate) fn local_waiters(&self) -> Vec<LocalWaiters> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = queues.iter().filter_map(|(name, queue)| {
            let queue = queue.upgrade()?;
            Some((name.clone(), queue))
        });
        // The last handle of a queue must not be dropped under the mutex: what
        // lingers in it goes back then.
        let alive: Vec<_> = alive.collect();
        drop(queues);
        let waiters = alive.into_iter().map(|(mutex, queue)| LocalWaiters {
            mutex,
            count: queue.waiting_behind(),
        });
        waiters.filter(|waiters| waiters.count > 0).collect()
    }
}

/// Makes the ids of a process's locks, a new one for each bid.
#[derive(Debug)]
pub(crate) enum Ids {
    Made(Arc<dyn ContenderIdGenerator>),
    /// `<client>:<holder>:<number>`, as Bedrock and Redisson begin them. The
    /// layout has no room for a nonce, so the number is one: random for each
    /// bid, by the system, so that a copy of this process has others too.
    Holders {
        client: Uuid,
    },
}

impl Ids {
    pub(crate) fn made_by(generator: &Arc<dyn ContenderIdGenerator>) -> Self {
        Self::Made(Arc::clone(generator))
    }

    /// Ids that name their holder.
    pub(crate) fn holders() -> Self {
        Self::Holders {
            client: chance::uuid(),
        }
    }

    /// Whether every id is another, also among those of other processes.
    pub(super) fn are_unique(&self) -> bool {
        match self {
            Self::Made(generator) => generator.unique_per_call(),
            Self::Holders { .. } => true,
        }
    }

    pub(super) fn next(&self, holder: Option<&str>) -> Result<ContenderId> {
        match self {
            Self::Made(generator) => generator.generate(),
            Self::Holders { client } => {
                let number = chance::bits() >> 64;
                let holder = holder.unwrap_or("lock");
                ContenderId::new(format!("{client}:{holder}:{number}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_process_makes_other_ids() {
        let client = Uuid::new_v4();
        let (parent, child) = (Ids::Holders { client }, Ids::Holders { client });
        for _ in 0..100 {
            let (one, other) = (parent.next(Some("h")), child.next(Some("h")));
            assert_ne!(one.unwrap(), other.unwrap());
        }
    }
}

//! [`ReentrantLock`]: a lock that its holder may take again.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::guard::ReentrantGuard;
use super::holder::Holder;
use super::holds::{Hold, Holds, ReentrantLocks};
use super::options::ReentrantOptions;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::lock::guard::LockGuard;
use crate::lock::lock::Lock;
use crate::model::{MutexName, Owner};

/// A lock that its holder may take again, any number of times.
///
/// Made once, used everywhere: cheap to clone and to share, and two of the
/// same name and coordinator are the same lock.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::{Coordinator, Holder, ReentrantLock};
///
/// async fn book(lock: &ReentrantLock) -> tenure::Result<()> {
///     let _guard = lock.acquire().await?; // held already, or not
///     assert!(lock.hold_count()? >= 1);
///     Ok(())
/// }
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let lock = coordinator.reentrant_lock("ledger")?;
/// Holder::new("import")
///     .scope(async {
///         let _guard = lock.acquire().await?;
///         book(&lock).await?;
///         book(&lock).await
///     })
///     .await?;
/// # coordinator.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct ReentrantLock {
    locks: Arc<ReentrantLocks>,
    holds: Arc<Holds>,
    lock: Lock,
    holder: Option<Holder>,
}

impl ReentrantLock {
    pub(crate) fn new(
        locks: &Arc<ReentrantLocks>,
        name: MutexName,
        options: &ReentrantOptions,
    ) -> Result<Self> {
        let lock_options = Arc::new(options.checked()?);
        let holds = locks.holds(&name);
        let lock = Lock::new(locks.below(), name, lock_options)
            .wanted_for(locks.purpose())
            .looking_every(options.spin_wait);
        Ok(Self {
            locks: Arc::clone(locks),
            holds,
            lock,
            holder: None,
        })
    }

    /// The same lock in the hands of `holder`, whatever scope it is used in.
    #[must_use]
    pub fn held_by(&self, holder: &Holder) -> Self {
        Self {
            holder: Some(holder.clone()),
            ..self.clone()
        }
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.lock.name()
    }

    /// Waits until the lock is the holder's, for ever if need be; at once when
    /// it is already. Trouble with the store is retried.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) when it has not been said who holds;
    /// [`Lost`](ErrorKind::Lost) when the holder has lost the lock and not yet
    /// dropped its guards; otherwise as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`]: this is also how waiting is given up.
    pub async fn acquire(&self) -> Result<ReentrantGuard> {
        let holder = self.holder()?;
        let lock = self.lock.taken_by(holder.name());
        let won = self.wait(&holder, async { lock.acquire().await.map(Some) });
        won.await?.ok_or_else(closed)
    }

    /// Waits at most `wait`: `None` when another still holds it then.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); and the store's trouble when it never answered
    /// in all that time.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    #[must_use = "the lock is released when the guard inside is dropped"]
    pub async fn acquire_within(&self, wait: Duration) -> Result<Option<ReentrantGuard>> {
        let holder = self.holder()?;
        let lock = self.lock.taken_by(holder.name());
        self.wait(&holder, lock.acquire_within(wait)).await
    }

    /// One attempt: `None` when another holds it or stands before us.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); and when the store does not answer.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    #[must_use = "the lock is released when the guard inside is dropped"]
    pub async fn try_acquire(&self) -> Result<Option<ReentrantGuard>> {
        let holder = self.holder()?;
        let lock = self.lock.taken_by(holder.name());
        self.wait(&holder, lock.try_acquire()).await
    }

    /// Gives back the hold that was [kept](ReentrantGuard::keep) last.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) when the holder has kept none:
    /// only who holds can give back. Otherwise as [`ReentrantGuard::release`].
    ///
    /// # Cancel safety
    /// As [`ReentrantGuard::release`].
    pub async fn release_kept(&self) -> Result<()> {
        let holder = self.holder()?;
        match holder.take_kept(&self.holds) {
            Some(guard) => guard.release().await,
            None => Err(Error::wrong_state(format!(
                "{:?} has kept no hold of this lock: only its holder can give one back, once for \
                     each guard that it kept",
                holder.name()
            ))
            .with_mutex(self.name())),
        }
    }

    /// How often the holder holds it; zero once it is lost.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) when it has not been said who holds.
    pub fn hold_count(&self) -> Result<u32> {
        let count = |hold: &Hold| hold.count();
        Ok(self
            .holds
            .live(&self.holder()?)
            .map_or(0, |hold| count(&hold)))
    }

    /// Whether the holder holds it.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) when it has not been said who holds.
    pub fn is_held(&self) -> Result<bool> {
        Ok(self.holds.live(&self.holder()?).is_some())
    }

    /// How long the holder still holds it if no renewal succeeds; zero when it
    /// does not.
    ///
    /// # Errors
    /// [`WrongState`](ErrorKind::WrongState) when it has not been said who holds.
    pub fn remaining(&self) -> Result<Duration> {
        let hold = self.holds.live(&self.holder()?);
        Ok(hold.map_or(Duration::ZERO, |hold| hold.tenure().remaining()))
    }

    /// Who holds it, by the store's present word; `None` when it is free.
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// It only looks: dropping it changes nothing.
    pub async fn owner(&self) -> Result<Option<Owner>> {
        self.lock.owner().await
    }

    /// Ends everything that is held and waited for among the locks of its
    /// coordinator, and waits until the store has been told.
    pub(crate) async fn settle(&self) {
        self.locks.settle().await;
    }

    fn holder(&self) -> Result<Holder> {
        let holder = self.holder.clone().or_else(Holder::current);
        holder.ok_or_else(|| {
            Error::wrong_state(
                "nobody has said who holds: bind the lock with held_by(&holder), or run this \
                     inside Holder::new(\"name\").scope(…)",
            )
            .with_mutex(self.name())
        })
    }

    /// A hold of `holder`: one more when it has one, or gets one meanwhile by
    /// another of its tasks, else what `taking` brings.
    async fn wait(
        &self,
        holder: &Holder,
        taking: impl Future<Output = Result<Option<LockGuard>>>,
    ) -> Result<Option<ReentrantGuard>> {
        self.lock.engine().check_open()?;
        let mut taking = pin!(taking);
        loop {
            let mut arrived = pin!(holder.arrived());
            // Listen before looking: what comes in between must not be missed.
            arrived.as_mut().enable();
            if let Some(hold) = self.holds.again(holder).map_err(Error::from)? {
                let guard = ReentrantGuard::new(&self.locks, hold, holder);
                guard.show().await?;
                return Ok(Some(guard));
            }
            tokio::select! {
                biased;
                won = &mut taking => {
                    let Some(guard) = won? else { return Ok(None) };
                    let hold = self.holds.begin(holder, guard);
                    return Ok(Some(ReentrantGuard::new(&self.locks, hold, holder)));
                }
                () = arrived => {}
            }
        }
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, Outcome::DidNot)
        .with_message("the coordinator was closed while the lock was waited for")
}

impl fmt::Debug for ReentrantLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReentrantLock")
            .field("lock", &self.lock)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

//! [`ReentrantLock`], for plain threads: the thread is the holder.

use std::marker::PhantomData;
use std::thread;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::background::Background;
use super::tenure::Tenure;
use crate::error::{LeaseLost, Result};
use crate::lock::{self, Holder};
use crate::model::{FencingToken, MutexName, Owner};

thread_local! {
    /// This thread as a holder: what it kept is given back when it ends.
    static THIS_THREAD: Holder = Holder::new(thread::current().name().unwrap_or("thread"));
}

/// This thread as a holder.
pub(super) fn this_thread() -> Holder {
    // A thread that is ending has none any more: it is another then.
    let me = THIS_THREAD.try_with(Clone::clone);
    me.unwrap_or_else(|_| Holder::new("ending"))
}

/// A lock that the thread that holds it may take again, as
/// [`tenure::ReentrantLock`](crate::ReentrantLock). Cheap to clone and to give
/// to other threads, each of which holds it for itself.
///
/// ```
/// use tenure::blocking::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:")?;
/// let lock = coordinator.reentrant_lock("ledger")?;
/// let outer = lock.acquire()?;
/// let inner = lock.acquire()?; // the same thread: at once
/// assert_eq!(lock.hold_count(), 2);
/// drop(inner);
/// outer.release()?;
/// coordinator.close()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReentrantLock {
    inner: lock::ReentrantLock,
    background: Background,
}

impl ReentrantLock {
    pub(super) fn new(inner: lock::ReentrantLock, background: &Background) -> Self {
        let background = background.clone();
        Self { inner, background }
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.inner.name()
    }

    /// Waits until the lock is this thread's, for ever if need be; at once
    /// when it is already.
    ///
    /// # Errors
    /// As [`tenure::ReentrantLock::acquire`](crate::ReentrantLock::acquire).
    pub fn acquire(&self) -> Result<ReentrantGuard> {
        let lock = self.mine();
        let guard = self.background.wait(async move { lock.acquire().await })?;
        Ok(self.guard(guard))
    }

    /// The same, until `cancel` says otherwise: then `None`.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_unless(&self, cancel: &Cancel) -> Result<Option<ReentrantGuard>> {
        let (lock, cancel) = (self.mine(), cancel.clone());
        let waiting = async move { cancel.unless(lock.acquire()).await.transpose() };
        let guard = self.background.wait(waiting)?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Waits at most `wait`; `None` when another holds it all the while.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); and what the store failed with, if it never
    /// answered.
    pub fn acquire_within(&self, wait: Duration) -> Result<Option<ReentrantGuard>> {
        let lock = self.mine();
        let waiting = async move { lock.acquire_within(wait).await };
        let guard = self.background.wait(waiting)?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Holds the lock if it is free or this thread's; `None` when another
    /// holds it. Mind to use the guard: dropping it gives the hold back.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); and what the store failed with.
    pub fn try_acquire(&self) -> Result<Option<ReentrantGuard>> {
        let lock = self.mine();
        let guard = self
            .background
            .wait(async move { lock.try_acquire().await })?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Gives back the hold that this thread [kept](ReentrantGuard::keep) last.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when it has kept none.
    pub fn release_kept(&self) -> Result<()> {
        let lock = self.mine();
        self.background
            .wait(async move { lock.release_kept().await })
    }

    /// How often this thread holds it; zero once it is lost.
    #[must_use]
    pub fn hold_count(&self) -> u32 {
        self.mine().hold_count().unwrap_or(0)
    }

    /// Whether this thread holds it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.mine().is_held().unwrap_or(false)
    }

    /// How long this thread still holds it if no renewal succeeds; zero when
    /// it does not.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.mine().remaining().unwrap_or_default()
    }

    /// Who holds it, by the store's present word; `None` for nobody.
    ///
    /// # Errors
    /// What the store failed with.
    pub fn owner(&self) -> Result<Option<Owner>> {
        let lock = self.inner.clone();
        self.background.wait(async move { lock.owner().await })
    }

    /// The lock in the hands of this thread.
    fn mine(&self) -> lock::ReentrantLock {
        self.inner.held_by(&this_thread())
    }

    fn guard(&self, inner: lock::ReentrantGuard) -> ReentrantGuard {
        let tenure = Tenure::new(inner.tenure().clone(), &self.background);
        ReentrantGuard {
            inner,
            tenure,
            background: self.background.clone(),
            of_this_thread: PhantomData,
        }
    }
}

/// Ends the waiting of [`acquire_unless`](ReentrantLock::acquire_unless), from any
/// thread. Clones are the same.
///
/// ```
/// use tenure::blocking::{Cancel, Coordinator};
///
/// let coordinator = Coordinator::connect("memory:")?;
/// let lock = coordinator.reentrant_lock("ledger")?;
/// let cancel = Cancel::new();
/// cancel.cancel();
/// assert!(lock.acquire_unless(&cancel)?.is_none());
/// # coordinator.close()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(CancellationToken);

impl Cancel {
    /// One that has not been used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waiting, for good.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// What `work` returns, unless this says otherwise before.
    pub(super) async fn unless<F: Future>(&self, work: F) -> Option<F::Output> {
        self.0.run_until_cancelled(work).await
    }
}

/// One hold of a [`ReentrantLock`]; dropped, it is given back in the
/// background. It stays on its thread, whose hold it is:
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<tenure::blocking::ReentrantGuard>();
/// ```
#[must_use = "dropping a guard gives the hold back"]
#[derive(Debug)]
pub struct ReentrantGuard {
    inner: lock::ReentrantGuard,
    tenure: Tenure,
    background: Background,
    of_this_thread: PhantomData<*const ()>,
}

impl ReentrantGuard {
    /// The period of ownership, to be handed to threads that must know.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    /// The fencing token, if ownership has not ended at this very moment.
    ///
    /// # Errors
    /// [`LeaseLost`] when it has ended.
    pub fn token(&self) -> Result<FencingToken, LeaseLost> {
        self.tenure.token()
    }

    /// How long ownership lasts if no further renewal succeeds.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.tenure.remaining()
    }

    /// Whether ownership has ended.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.tenure.is_lost()
    }

    /// How often this thread holds the lock now, this guard included.
    #[must_use]
    pub fn hold_count(&self) -> u32 {
        self.inner.hold_count()
    }

    /// Waits until ownership ends, for at most `timeout`; `None` when it has
    /// not ended by then.
    #[must_use]
    pub fn wait_lost(&self, timeout: Duration) -> Option<LeaseLost> {
        self.tenure.wait_lost(timeout)
    }

    /// Leaves the hold with this thread, for code that takes in one place and
    /// gives back in another: [`release_kept`](ReentrantLock::release_kept) gives it back,
    /// and so does the end of the thread.
    pub fn keep(self) {
        self.inner.keep();
    }

    /// Gives this hold back; with the last one the lock, and then waits for
    /// the store's word.
    ///
    /// # Errors
    /// As [`tenure::ReentrantGuard::release`](crate::ReentrantGuard::release).
    pub fn release(self) -> Result<()> {
        let guard = self.inner;
        self.background.wait(async move { guard.release().await })
    }
}

//! [`Lock`] and [`LockGuard`], for plain threads.

use std::time::Duration;

use super::background::Background;
use super::tenure::Tenure;
use crate::error::{LeaseLost, Result};
use crate::lock;
use crate::model::{FencingToken, MutexName, Owner};

/// A lock that any number of processes and threads may want, as
/// [`tenure::Lock`](crate::Lock). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lock {
    inner: lock::Lock,
    background: Background,
}

impl Lock {
    pub(super) fn new(inner: lock::Lock, background: &Background) -> Self {
        let background = background.clone();
        Self { inner, background }
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.inner.name()
    }

    /// Waits until the lock is owned, for ever if need be.
    ///
    /// # Errors
    /// An error that no retry can help; trouble with the store is retried.
    pub fn acquire(&self) -> Result<LockGuard> {
        let lock = self.inner.clone();
        let guard = self.background.wait(async move { lock.acquire().await })?;
        Ok(self.guard(guard))
    }

    /// Waits at most `wait`; `None` when another owns it all the while.
    ///
    /// # Errors
    /// What the store failed with, if it never answered.
    pub fn acquire_within(&self, wait: Duration) -> Result<Option<LockGuard>> {
        let lock = self.inner.clone();
        let waiting = async move { lock.acquire_within(wait).await };
        let guard = self.background.wait(waiting)?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Owns the lock if it is free now; `None` when another owns it. Mind to
    /// use the guard: dropping it releases.
    ///
    /// # Errors
    /// What the store failed with.
    pub fn try_acquire(&self) -> Result<Option<LockGuard>> {
        let lock = self.inner.clone();
        let trying = async move { lock.try_acquire().await };
        let guard = self.background.wait(trying)?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Who owns it, by the store's present word; `None` for nobody.
    ///
    /// # Errors
    /// What the store failed with.
    pub fn owner(&self) -> Result<Option<Owner>> {
        let lock = self.inner.clone();
        self.background.wait(async move { lock.owner().await })
    }

    fn guard(&self, inner: lock::LockGuard) -> LockGuard {
        let tenure = Tenure::new(inner.tenure().clone(), &self.background);
        LockGuard {
            inner,
            tenure,
            background: self.background.clone(),
        }
    }
}

/// Ownership of a lock, renewed in the background while it lives; dropped, it
/// is given back in the background.
#[must_use = "dropping a guard releases the lock"]
#[derive(Debug)]
pub struct LockGuard {
    inner: lock::LockGuard,
    tenure: Tenure,
    background: Background,
}

impl LockGuard {
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

    /// Waits until ownership ends, for at most `timeout`; `None` when it has
    /// not ended by then.
    #[must_use]
    pub fn wait_lost(&self, timeout: Duration) -> Option<LeaseLost> {
        self.tenure.wait_lost(timeout)
    }

    /// Gives the lock back and waits for the store's word. The guard is dead
    /// at once, whatever the store does.
    ///
    /// # Errors
    /// As [`tenure::LockGuard::release`](crate::LockGuard::release).
    pub fn release(self) -> Result<()> {
        let guard = self.inner;
        self.background.wait(async move { guard.release().await })
    }
}

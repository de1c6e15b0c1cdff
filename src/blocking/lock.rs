//! [`Lock`] and [`LockGuard`], for plain threads.

use std::marker::PhantomData;
use std::time::Duration;

use super::background::Background;
use super::cancel::Cancel;
use super::tenure::Tenure;
use super::wrap;
use crate::error::{LeaseLost, Result};
use crate::lock;
use crate::model::{FencingToken, MutexName, Owner};

wrap::lock! {
    /// A lock that any number of processes and threads may want, as
    /// [`tenure::Lock`](crate::Lock). Cheap to clone.
    ///
    /// ```
    /// use tenure::blocking::Coordinator;
    ///
    /// let coordinator = Coordinator::connect("memory:")?;
    /// let lock = coordinator.lock("nightly-report")?;
    /// let guard = lock.acquire()?;
    /// assert!(lock.try_acquire()?.is_none());
    /// println!("ours, with token {}", guard.token()?);
    /// guard.release()?;
    /// coordinator.close()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    Lock(lock::Lock) gives LockGuard, Clone::clone
}

impl Lock {
    pub(super) fn new(inner: lock::Lock, background: &Background) -> Self {
        let background = background.clone();
        Self { inner, background }
    }

    /// A lock for the background to work on, and the background.
    pub(super) fn parts(&self) -> (lock::Lock, &Background) {
        (self.mine(), &self.background)
    }
}

wrap::guard! {
    /// Ownership of a lock, renewed in the background while it lives; dropped,
    /// it is given back in the background.
    #[must_use = "dropping a guard releases the lock"]
    LockGuard(lock::LockGuard) bound by (), lost as std::convert::identity
}
wrap::fenced_guard!(LockGuard);

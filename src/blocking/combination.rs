//! [`CombinationLock`], for plain threads: the thread is the holder.

use std::marker::PhantomData;
use std::time::Duration;

use super::background::Background;
use super::reentrant::{Cancel, this_thread};
use crate::combination::{self, CombinationBuilder};
use crate::error::{LeaseLost, Result};
use crate::model::{MutexName, Owner};

/// A lock over several independent Redis servers, as
/// [`tenure::CombinationLock`](crate::CombinationLock). The thread that holds
/// it may take it again. Cheap to clone and to give to other threads, each of
/// which holds it for itself.
///
/// ```no_run
/// use tenure::blocking::CombinationLock;
///
/// let nodes = ["redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"];
/// let lock = CombinationLock::build(CombinationLock::builder().nodes(nodes), "stock")?;
/// let guard = lock.acquire()?;
/// println!("ours for {:?} at least", guard.remaining());
/// guard.release()?;
/// lock.close()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CombinationLock {
    inner: combination::CombinationLock,
    background: Background,
}

impl CombinationLock {
    /// The builder, to be given to [`build`](Self::build).
    pub fn builder() -> CombinationBuilder {
        combination::CombinationLock::builder()
    }

    /// Connects to all nodes and makes the lock called `name` over them.
    ///
    /// # Errors
    /// As [`CombinationBuilder::build`].
    pub fn build(builder: CombinationBuilder, name: impl AsRef<str>) -> Result<Self> {
        let background = Background::start()?;
        let name = name.as_ref().to_owned();
        let inner = background.wait(async move { builder.build(name).await })?;
        let to_close = inner.clone();
        background.ends_with(move || {
            let lock = to_close.clone();
            async move { lock.close().await }
        });
        Ok(Self { inner, background })
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
    /// As [`tenure::CombinationLock::acquire`](crate::CombinationLock::acquire).
    pub fn acquire(&self) -> Result<CombinationGuard> {
        let lock = self.mine();
        let guard = self.background.wait(async move { lock.acquire().await })?;
        Ok(self.guard(guard))
    }

    /// The same, until `cancel` says otherwise: then `None`.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_unless(&self, cancel: &Cancel) -> Result<Option<CombinationGuard>> {
        let (lock, cancel) = (self.mine(), cancel.clone());
        let waiting = async move { cancel.unless(lock.acquire()).await.transpose() };
        let guard = self.background.wait(waiting)?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Waits at most `wait`; `None` when another holds it all the while.
    ///
    /// # Errors
    /// As
    /// [`tenure::CombinationLock::acquire_within`](crate::CombinationLock::acquire_within).
    pub fn acquire_within(&self, wait: Duration) -> Result<Option<CombinationGuard>> {
        let lock = self.mine();
        let waiting = async move { lock.acquire_within(wait).await };
        let guard = self.background.wait(waiting)?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Holds the lock if it is free or this thread's; `None` when another
    /// holds it. Mind to use the guard: dropping it gives the hold back.
    ///
    /// # Errors
    /// As [`tenure::CombinationLock::try_acquire`](crate::CombinationLock::try_acquire).
    pub fn try_acquire(&self) -> Result<Option<CombinationGuard>> {
        let lock = self.mine();
        let guard = self
            .background
            .wait(async move { lock.try_acquire().await })?;
        Ok(guard.map(|guard| self.guard(guard)))
    }

    /// Gives back the hold that this thread [kept](CombinationGuard::keep)
    /// last.
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

    /// Who holds it, in the eyes of the first node that knows
    /// anybody.
    ///
    /// # Errors
    /// When no node answers.
    pub fn owner(&self) -> Result<Option<Owner>> {
        let lock = self.inner.clone();
        self.background.wait(async move { lock.owner().await })
    }

    /// Ends everything that this lock and its clones hold and wait for, waits
    /// until the nodes have been told, up to 5 s for those that are slow, and
    /// closes the connections.
    ///
    /// # Errors
    /// As [`tenure::CombinationLock::close`](crate::CombinationLock::close).
    pub fn close(&self) -> Result<()> {
        let lock = self.inner.clone();
        self.background.wait(async move { lock.close().await })
    }

    /// The lock in the hands of this thread.
    fn mine(&self) -> combination::CombinationLock {
        self.inner.held_by(&this_thread())
    }

    fn guard(&self, inner: combination::CombinationGuard) -> CombinationGuard {
        CombinationGuard {
            inner,
            background: self.background.clone(),
            of_this_thread: PhantomData,
        }
    }
}

/// One hold of a [`CombinationLock`]; dropped, it is given back in the
/// background. It stays on its thread, whose hold it is.
#[must_use = "dropping a guard gives the hold back"]
#[derive(Debug)]
pub struct CombinationGuard {
    inner: combination::CombinationGuard,
    background: Background,
    of_this_thread: PhantomData<*const ()>,
}

impl CombinationGuard {
    /// How long the lock is held if no further renewal succeeds.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.inner.remaining()
    }

    /// Whether the lock is held no more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }

    /// How often this thread holds the lock now, this guard included.
    #[must_use]
    pub fn hold_count(&self) -> u32 {
        self.inner.hold_count()
    }

    /// Waits until the lock is held no more, for at most `timeout`; `None`
    /// when it is still held then.
    #[must_use]
    pub fn wait_lost(&self, timeout: Duration) -> Option<LeaseLost> {
        let lost = self.inner.when_lost();
        self.background.wait_within(timeout, lost).ok().flatten()
    }

    /// Leaves the hold with this thread, for code that takes in one place and
    /// gives back in another: [`release_kept`](CombinationLock::release_kept) gives it back,
    /// and so does the end of the thread.
    pub fn keep(self) {
        self.inner.keep();
    }

    /// Gives this hold back; with the last one the lock, and then waits until
    /// enough nodes have confirmed.
    ///
    /// # Errors
    /// As [`tenure::CombinationGuard::release`](crate::CombinationGuard::release).
    pub fn release(self) -> Result<()> {
        let guard = self.inner;
        self.background.wait(async move { guard.release().await })
    }
}

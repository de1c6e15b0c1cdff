//! [`CombinationLock`], for plain threads: the thread is the holder.

use std::marker::PhantomData;
use std::time::Duration;

use super::background::Background;
use super::cancel::Cancel;
use super::reentrant::this_thread;
use super::tenure::Tenure;
use super::wrap;
use crate::combination::{self, CombinationBuilder};
use crate::error::{LeaseLost, Result};
use crate::model::{MutexName, Owner};

wrap::lock! {
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
    CombinationLock(combination::CombinationLock) gives CombinationGuard,
    |lock| lock.held_by(&this_thread())
}
wrap::reentrant_lock!(CombinationLock gives CombinationGuard);

impl CombinationLock {
    /// The builder, to be given to [`build`](Self::build).
    pub fn builder() -> CombinationBuilder {
        combination::CombinationLock::builder()
    }

    /// Connects to the nodes and makes the lock called `name` over them.
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
}

wrap::guard! {
    /// One hold of a [`CombinationLock`]; dropped, it is given back in the
    /// background. It stays on its thread, whose hold it is.
    #[must_use = "dropping a guard gives the hold back"]
    CombinationGuard(combination::CombinationGuard) bound by *const (),
    lost as LeaseLost::without_token
}
wrap::hold_guard!(CombinationGuard of CombinationLock);

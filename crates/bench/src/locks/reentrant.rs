//! Tenure's reentrant lock: on Redis in the layout of Redisson.

use tenure::{Coordinator, Holder, ReentrantGuard, ReentrantLock};

use super::{Lock, Locks};
use crate::Result;

/// Reentrant locks of one coordinator.
#[derive(Clone, Debug)]
pub struct Reentrant(Coordinator);

/// A reentrant lock with a holder of its own.
#[derive(Debug)]
pub struct Held {
    lock: ReentrantLock,
    guard: Option<ReentrantGuard>,
}

impl Locks for Reentrant {
    type Lock = Held;

    async fn open(url: &str) -> Result<Self> {
        Ok(Self(Coordinator::connect(url).await?))
    }

    fn lock(&self, name: &str) -> Result<Held> {
        let lock = self.0.reentrant_lock(name)?;
        Ok(Held {
            lock: lock.held_by(&Holder::new("bench")),
            guard: None,
        })
    }
}

impl Lock for Held {
    async fn take(&mut self) -> Result<()> {
        self.guard = Some(self.lock.acquire().await?);
        Ok(())
    }

    async fn free(&mut self) -> Result<()> {
        let guard = self.guard.take().ok_or("not taken")?;
        Ok(guard.release().await?)
    }
}

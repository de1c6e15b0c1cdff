//! Tenure's own lock, on any store.

use tenure::{Coordinator, LockGuard};

use super::{Lock, Locks};
use crate::Result;

/// Locks of one coordinator.
#[derive(Clone, Debug)]
pub struct Tenure(Coordinator);

/// A lock, and its guard while it is held.
#[derive(Debug)]
pub struct Held {
    lock: tenure::Lock,
    guard: Option<LockGuard>,
}

impl Locks for Tenure {
    type Lock = Held;

    async fn open(url: &str) -> Result<Self> {
        Ok(Self(Coordinator::connect(url).await?))
    }

    fn lock(&self, name: &str) -> Result<Held> {
        let lock = self.0.lock(name)?;
        Ok(Held { lock, guard: None })
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

//! The crate `rslock`, a peer on Redis, as its page shows it: with its own retries, without renewal.

use std::time::Duration;

use rslock::LockManager;

use super::{Lock, Locks, lease, plain};
use crate::Result;

/// One manager.
#[derive(Clone, Debug)]
pub struct Rslock {
    manager: LockManager,
    lease: Duration,
}

/// A resource.
#[derive(Debug)]
pub struct Resource {
    manager: LockManager,
    name: String,
    lease: Duration,
    held: Option<rslock::Lock>,
}

impl Locks for Rslock {
    type Lock = Resource;

    async fn open(url: &str) -> Result<Self> {
        Ok(Self {
            manager: LockManager::new(vec![plain(url)]),
            lease: lease(url),
        })
    }

    fn lock(&self, name: &str) -> Result<Resource> {
        Ok(Resource {
            manager: self.manager.clone(),
            lease: self.lease,
            name: format!("rslock:{name}"),
            held: None,
        })
    }
}

impl Lock for Resource {
    async fn take(&mut self) -> Result<()> {
        let name = self.name.as_bytes();
        self.held = Some(self.manager.acquire_no_guard(name, self.lease).await?);
        Ok(())
    }

    async fn free(&mut self) -> Result<()> {
        let held = self.held.take().ok_or("not taken")?;
        self.manager.unlock(&held).await;
        Ok(())
    }
}

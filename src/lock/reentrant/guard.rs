//! [`ReentrantGuard`]: one hold of a reentrant lock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::holder::{Holder, WeakHolder};
use super::holds::{Hold, Holds, ReentrantLocks};
use crate::engine::Tenure;
use crate::error::{Error, LeaseLost, Result};
use crate::lock::guard::LockGuard;
use crate::model::FencingToken;

/// One hold of a [`ReentrantLock`](super::ReentrantLock). The lock is renewed
/// while any hold of its holder lives, and given back when the last is
/// dropped, in whatever order.
#[must_use = "dropping a guard gives the hold back"]
pub struct ReentrantGuard {
    /// Until the hold is given back.
    hold: Option<Arc<Hold>>,
    tenure: Tenure,
    locks: Arc<ReentrantLocks>,
    holds: Arc<Holds>,
    holder: WeakHolder,
}

impl ReentrantGuard {
    pub(super) fn new(locks: &Arc<ReentrantLocks>, hold: Arc<Hold>, holder: &Holder) -> Self {
        let tenure = hold.tenure().clone();
        Self {
            holds: locks.holds(tenure.mutex()),
            locks: Arc::clone(locks),
            hold: Some(hold),
            tenure,
            holder: holder.downgrade(),
        }
    }

    /// The period of ownership, the same for all holds of it, to be handed to
    /// work that must know.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    /// The fencing token, if ownership has not ended at this very moment. All
    /// nested holds have the same.
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

    /// How often its holder holds the lock now, this guard included.
    #[must_use]
    pub fn hold_count(&self) -> u32 {
        self.hold.as_ref().map_or(0, |hold| hold.count())
    }

    /// Returns when ownership ends, and says why.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn lost(&self) -> LeaseLost {
        self.tenure.lost().await
    }

    /// Runs `work` while ownership lasts; drops it at the loss.
    ///
    /// # Errors
    /// [`LeaseLost`] when ownership ended before `work` did.
    ///
    /// # Cancel safety
    /// Dropping it drops `work`; the guard remains.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, LeaseLost> {
        self.tenure.protect(work).await
    }

    /// Gives this hold back; with the last one the lock, and then waits for
    /// the store's word.
    ///
    /// # Errors
    /// [`Lost`](crate::ErrorKind::Lost) when ownership had ended before;
    /// otherwise as [`LockGuard::release`](crate::LockGuard::release).
    ///
    /// # Cancel safety
    /// Dropped, the release goes on in the background.
    pub async fn release(mut self) -> Result<()> {
        match self.give_back() {
            Some(guard) => guard.release().await,
            None => {
                self.tenure.token()?;
                self.locks.show(&self.holds, &self.tenure).await;
                Ok(())
            }
        }
    }

    /// Leaves the hold with its holder, for code that takes in one place and
    /// gives back in another: [`release_kept`](super::ReentrantLock::release_kept) gives it
    /// back, and so does the end of the holder.
    pub fn keep(self) {
        if let Some(holder) = self.holder.upgrade() {
            holder.keep(self);
        }
    }

    pub(super) fn is_on(&self, holds: &Arc<Holds>) -> bool {
        Arc::ptr_eq(&self.holds, holds)
    }

    /// Shows the new count in the store.
    ///
    /// # Errors
    /// When the lock is not the holder's any more.
    pub(super) async fn show(&self) -> Result<()> {
        if !self.locks.show(&self.holds, &self.tenure).await
            && let Some(hold) = &self.hold
        {
            hold.is_taken();
        }
        self.tenure.token().map(drop).map_err(Error::from)
    }

    /// The lock itself, when this was the last hold.
    fn give_back(&mut self) -> Option<LockGuard> {
        let hold = self.hold.take()?;
        self.holds.leave(&hold)
    }
}

impl Drop for ReentrantGuard {
    fn drop(&mut self) {
        let nested = self.hold.as_ref().is_some_and(|hold| hold.was_nested());
        drop(self.give_back());
        if nested && self.locks.shows() {
            let (locks, holds) = (Arc::clone(&self.locks), Arc::clone(&self.holds));
            let tenure = self.tenure.clone();
            self.locks.engine().spawn(async move {
                locks.show(&holds, &tenure).await;
            });
        }
    }
}

impl fmt::Debug for ReentrantGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReentrantGuard")
            .field("tenure", &self.tenure)
            .field("hold_count", &self.hold_count())
            .finish_non_exhaustive()
    }
}

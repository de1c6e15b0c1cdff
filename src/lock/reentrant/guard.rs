//! [`ReentrantGuard`]: one hold of a reentrant lock.

use std::fmt;
use std::sync::Arc;

use super::holder::{Holder, WeakHolder};
use super::holds::{Hold, Holds, ReentrantLocks};
use crate::engine::Tenure;
use crate::error::{Error, Result};
use crate::lock::guard::LockGuard;
use crate::lock::of_tenure::says_its_tenure;

/// One hold of a [`ReentrantLock`](super::ReentrantLock). The lock is renewed
/// while any hold of its holder lives, and given back when the last is
/// dropped, in whatever order. All holds have the same tenure, and the same
/// token.
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

    says_its_tenure!();

    /// How often its holder holds the lock now, this guard included.
    #[must_use]
    pub fn hold_count(&self) -> u32 {
        self.hold.as_ref().map_or(0, |hold| hold.count())
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

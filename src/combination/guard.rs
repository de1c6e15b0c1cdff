//! [`CombinationGuard`]: one hold of a combination lock.

use std::fmt;
use std::time::Duration;

use crate::engine::Tenure;
use crate::error::{Error, LeaseLost, Result};
use crate::lock::reentrant::ReentrantGuard;

/// One hold of a [`CombinationLock`](super::CombinationLock). The lock is
/// renewed on all nodes while any hold of its holder lives, and given back
/// when the last is dropped.
///
/// There is no token to ask it for:
///
/// ```compile_fail,E0599
/// fn token(guard: &tenure::CombinationGuard) {
///     guard.token();
/// }
/// ```
#[must_use = "dropping a guard gives the hold back"]
pub struct CombinationGuard(ReentrantGuard);

impl CombinationGuard {
    pub(super) fn new(guard: ReentrantGuard) -> Self {
        Self(guard)
    }

    /// How long the lock is held if no further renewal succeeds.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Whether the lock is held no more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// How often its holder holds the lock now, this guard included.
    #[must_use]
    pub fn hold_count(&self) -> u32 {
        self.0.hold_count()
    }

    /// Returns when the lock is held no more, and says why.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn lost(&self) -> LeaseLost {
        self.0.lost().await.without_token()
    }

    /// What the guard rests on; its token is the engine's own.
    pub(crate) fn tenure(&self) -> &Tenure {
        self.0.tenure()
    }

    /// Runs `work` while the lock is held; drops it at the loss.
    ///
    /// # Errors
    /// [`LeaseLost`] when the lock was lost before `work` ended.
    ///
    /// # Cancel safety
    /// Dropping it drops `work`; the guard remains.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, LeaseLost> {
        let done = self.0.protect(work).await;
        done.map_err(LeaseLost::without_token)
    }

    /// Gives this hold back; with the last one the lock, and then waits until
    /// enough nodes have confirmed. Silent ones are unlocked in the background
    /// as soon as they answer.
    ///
    /// # Errors
    /// [`Lost`](crate::ErrorKind::Lost) when the lock had been lost before;
    /// [`Unconfirmed`](crate::ErrorKind::Unconfirmed) when its expiry passed before
    /// enough nodes confirmed.
    ///
    /// # Cancel safety
    /// Dropped, the release goes on in the background.
    pub async fn release(self) -> Result<()> {
        self.0.release().await.map_err(without_token)
    }

    /// Leaves the hold with its holder, for code that takes in one place and
    /// gives back in another: [`release_kept`](super::CombinationLock::release_kept) gives it
    /// back, and so does the end of the holder.
    pub fn keep(self) {
        self.0.keep();
    }
}

impl fmt::Debug for CombinationGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CombinationGuard")
            .field("mutex", self.0.tenure().mutex())
            .field("remaining", &self.remaining())
            .field("hold_count", &self.hold_count())
            .finish_non_exhaustive()
    }
}

/// The same error without the engine's own number: here it says nothing.
pub(super) fn without_token(error: Error) -> Error {
    let source = std::error::Error::source(&error);
    match source.and_then(|source| source.downcast_ref::<LeaseLost>()) {
        Some(lost) => lost.clone().without_token().into(),
        None => error,
    }
}

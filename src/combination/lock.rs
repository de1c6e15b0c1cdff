//! [`CombinationLock`]: one lock over several servers.

use std::fmt;
use std::time::Duration;

use super::guard::{CombinationGuard, without_token};
use crate::backend::Backend;
use crate::error::Result;
use crate::lock::reentrant::{Holder, ReentrantLock};
use crate::model::{MutexName, Owner};
use crate::stores::combination::Combined;

/// A lock over several independent Redis servers, which survives the death of
/// some of them. Made once, used everywhere: cheap to clone and to share.
///
/// Its holder may take it again, as with a
/// [`ReentrantLock`]; who the holder is, is said in the
/// same way, by [`held_by`](Self::held_by) or [`Holder::scope`]. The tasks of
/// a process are served first come, first served; among processes the
/// one that comes first wins.
///
/// It has no fencing token: servers that know nothing of each other have no
/// common order of grants. Where a late writer would do harm, use a lock on
/// one store and its token; `docs/guarantees.md` says what holds here.
///
/// ```no_run
/// # async fn example() -> tenure::Result<()> {
/// use tenure::{CombinationLock, Holder};
///
/// let lock = CombinationLock::builder()
///     .node("redis://10.0.0.1:6379")
///     .node("redis://10.0.0.2:6379")
///     .node("redis://10.0.0.3:6379")
///     .build("stock")
///     .await?;
/// Holder::new("import")
///     .scope(async {
///         let guard = lock.acquire().await?;
///         println!("ours for {:?} at least", guard.remaining());
///         guard.release().await
///     })
///     .await?;
/// lock.close().await
/// # }
/// ```
#[derive(Clone)]
pub struct CombinationLock {
    lock: ReentrantLock,
    combined: Combined,
}

impl CombinationLock {
    pub(crate) fn new(lock: ReentrantLock, combined: Combined) -> Self {
        Self { lock, combined }
    }

    /// The same lock in the hands of `holder`, whatever scope it is used in.
    #[must_use]
    pub fn held_by(&self, holder: &Holder) -> Self {
        Self {
            lock: self.lock.held_by(holder),
            combined: self.combined.clone(),
        }
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &MutexName {
        self.lock.name()
    }

    /// Waits until the lock is the holder's, for ever if need be; at once when
    /// it is already. Trouble with the nodes is retried, also when too few of
    /// them are left.
    ///
    /// # Errors
    /// As [`ReentrantLock::acquire`].
    ///
    /// # Cancel safety
    /// Dropped, it leaves the queue, and whatever it may have locked on any node
    /// is unlocked in the background.
    pub async fn acquire(&self) -> Result<CombinationGuard> {
        // Boxed: it is large, and asks several servers in any case.
        let won = Box::pin(self.lock.acquire()).await;
        won.map(CombinationGuard::new).map_err(without_token)
    }

    /// Waits at most `wait`: `None` when another still holds it then.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); and the nodes' trouble when no attempt came to
    /// an answer in all that time.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    #[must_use = "the lock is released when the guard inside is dropped"]
    pub async fn acquire_within(&self, wait: Duration) -> Result<Option<CombinationGuard>> {
        let won = Box::pin(self.lock.acquire_within(wait)).await;
        let won = won.map_err(without_token)?;
        Ok(won.map(CombinationGuard::new))
    }

    /// One attempt, from the left to the right: `None` when another holds it
    /// or stands before us.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire);
    /// [`Unreachable`](crate::ErrorKind::Unreachable) when fewer nodes than
    /// `min_available` could be locked, naming each node and its state;
    /// [`Timeout`](crate::ErrorKind::Timeout) when it took longer than the
    /// acquire timeout. Nothing stays locked then.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    #[must_use = "the lock is released when the guard inside is dropped"]
    pub async fn try_acquire(&self) -> Result<Option<CombinationGuard>> {
        let won = Box::pin(self.lock.try_acquire())
            .await
            .map_err(without_token)?;
        Ok(won.map(CombinationGuard::new))
    }

    /// Gives back the hold that was [kept](CombinationGuard::keep) last.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when the holder has kept
    /// none. Otherwise as [`CombinationGuard::release`].
    ///
    /// # Cancel safety
    /// As [`CombinationGuard::release`].
    pub async fn release_kept(&self) -> Result<()> {
        self.lock.release_kept().await.map_err(without_token)
    }

    /// How often the holder holds it; zero once it is lost.
    ///
    /// # Errors
    /// [`WrongState`](crate::ErrorKind::WrongState) when it has not been
    /// said who holds.
    pub fn hold_count(&self) -> Result<u32> {
        self.lock.hold_count()
    }

    /// Whether the holder holds it.
    ///
    /// # Errors
    /// As [`hold_count`](Self::hold_count).
    pub fn is_held(&self) -> Result<bool> {
        self.lock.is_held()
    }

    /// How long the holder still holds it if no renewal succeeds; zero when it
    /// does not.
    ///
    /// # Errors
    /// As [`hold_count`](Self::hold_count).
    pub fn remaining(&self) -> Result<Duration> {
        self.lock.remaining()
    }

    /// Who holds it, in the eyes of the first node that knows of a holder:
    /// perhaps one that has not won yet, or will not. It has no token: that of
    /// one node says nothing.
    ///
    /// # Errors
    /// When no node answers.
    ///
    /// # Cancel safety
    /// It only looks: dropping it changes nothing.
    pub async fn owner(&self) -> Result<Option<Owner>> {
        let owner = self.lock.owner().await?;
        Ok(owner.map(Owner::without_token))
    }

    /// Ends everything that this lock and its clones hold and wait for, waits
    /// until the nodes have been told, up to 5 s for those that are slow, and
    /// closes the connections that no other lock of the process uses.
    ///
    /// # Errors
    /// [`Unconfirmed`](crate::ErrorKind::Unconfirmed) when some node has not
    /// confirmed its unlock by then, naming it: there the lock may stand for
    /// the rest of its expiry. It is closed all the same.
    ///
    /// # Cancel safety
    /// Dropped, the releases go on in the background; call it again to wait.
    pub async fn close(&self) -> Result<()> {
        self.lock.settle().await;
        self.combined.close().await
    }
}

impl fmt::Debug for CombinationLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CombinationLock")
            .field("name", self.lock.name())
            .field("nodes", &self.combined)
            .finish_non_exhaustive()
    }
}

//! Work that is done once in a period, for plain threads.

use std::time::Duration;

use super::background::Background;
use super::lock::{Lock, LockGuard};
use crate::error::Result;
use crate::lock::{self, DoneBefore};

/// What [`Lock::once_per`] comes to.
#[must_use = "dropped, the lock is given back and the work not done"]
#[derive(Debug)]
pub enum GuardedTurn {
    /// The lock is ours, and the work is ours to do and to record.
    Ours(LockGuard, OpenTurn),
    /// The work has been done, and the lock has been given back.
    Done(DoneBefore),
}

/// Work that is the holder's to do, as
/// [`tenure::lock::OpenTurn`](crate::lock::OpenTurn). Dropped without a word it
/// was cut short, and the next owner may repeat it.
#[must_use = "work that is not recorded as done is repeated"]
#[derive(Debug)]
pub struct OpenTurn {
    inner: lock::OpenTurn,
    background: Background,
}

impl Lock {
    /// Takes the lock, unless its work has been done in this period: then says
    /// when and by whom.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::blocking::{Coordinator, GuardedTurn};
    ///
    /// let coordinator = Coordinator::connect("memory:")?;
    /// let lock = coordinator.lock("nightly")?;
    /// for _ in 0..2 {
    ///     match lock.once_per(Duration::from_secs(24 * 60 * 60))? {
    ///         GuardedTurn::Ours(guard, turn) => {
    ///             println!("the work itself, with token {}", guard.token()?);
    ///             turn.done()?;
    ///             guard.release()?;
    ///         }
    ///         GuardedTurn::Done(before) => println!("already done by {}", before.by),
    ///     }
    /// }
    /// coordinator.close()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`tenure::Lock::once_per`](crate::Lock::once_per).
    pub fn once_per(&self, period: Duration) -> Result<GuardedTurn> {
        let (lock, background) = self.parts();
        let once = background.wait(async move { lock.once_per(period).await })?;
        Ok(match once {
            lock::GuardedTurn::Ours(guard, turn) => {
                let turn = OpenTurn {
                    inner: turn,
                    background: background.clone(),
                };
                GuardedTurn::Ours(LockGuard::new(guard, background), turn)
            }
            lock::GuardedTurn::Done(before) => GuardedTurn::Done(before),
        })
    }
}

impl OpenTurn {
    /// Records that the work is done. False when another has begun it since,
    /// because ownership was lost: then it may have been done twice.
    ///
    /// # Errors
    /// As [`tenure::lock::OpenTurn::done`](crate::lock::OpenTurn::done).
    pub fn done(self) -> Result<bool> {
        let turn = self.inner;
        self.background.wait(async move { turn.done().await })
    }

    /// Records that the work failed: the next owner may repeat it.
    ///
    /// # Errors
    /// As [`done`](Self::done).
    pub fn failed(self) -> Result<bool> {
        let turn = self.inner;
        self.background.wait(async move { turn.failed().await })
    }
}

//! [`LockOptions`]: how one lock differs from the others of its coordinator.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::{FencingToken, LeaseTerms};

/// How a lock behaves.
///
/// ```
/// use std::time::Duration;
/// use tenure::lock::{HandOver, LockOptions};
///
/// let options = LockOptions::default()
///     .with_max_hold(Duration::from_secs(60))
///     .with_hand_over(HandOver::never());
/// # drop(options);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LockOptions {
    pub(super) max_hold: Option<Duration>,
    pub(super) at_least_for: Option<Duration>,
    pub(super) linger: Option<Duration>,
    pub(super) hand_over: HandOver,
    pub(super) terms: Option<LeaseTerms>,
    pub(super) shares_fence: bool,
}

impl LockOptions {
    /// A guard that lives longer than `max_hold` is lost, and is not renewed
    /// any more: for work that may hang. Counted for each guard. Others, also
    /// of this process, can have the lock one lease later, or as soon as the
    /// guard is dropped.
    #[must_use]
    pub fn with_max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// A guard that is let go earlier than this keeps the lock until then,
    /// counted for each guard. For short work on hosts whose timers do not go
    /// off at the same moment: the second to come finds the lock taken and
    /// not free again. Waiting for
    /// [`release`](super::LockGuard::release) waits for that, too; a dropped
    /// guard keeps it in the background, and closing the coordinator gives it
    /// back at once. Not longer than
    /// [`max_hold`](Self::with_max_hold): `lock_with` refuses that.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use std::time::Duration;
    /// use tenure::Coordinator;
    /// use tenure::lock::LockOptions;
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let options = LockOptions::default().with_at_least_for(Duration::from_secs(60));
    /// let lock = coordinator.lock_with("every-minute", options)?;
    /// let guard = lock.acquire().await?;
    /// println!("the work, which takes no time at all");
    /// drop(guard);
    /// assert!(lock.try_acquire().await?.is_none(), "kept for a while");
    /// # coordinator.close().await
    /// # }
    /// ```
    #[must_use]
    pub fn with_at_least_for(mut self, at_least_for: Duration) -> Self {
        self.at_least_for = Some(at_least_for);
        self
    }

    /// How long tasks of this process may pass the lock among themselves.
    #[must_use]
    pub fn with_hand_over(mut self, hand_over: HandOver) -> Self {
        self.hand_over = hand_over;
        self
    }

    /// Lets the lock linger: when a guard is let go and no task of this process
    /// waits, the grant stays here for so long, a few milliseconds. The next
    /// task of this process that wants it then takes it over under the next
    /// token, without a call to the store. For a lock that one process takes
    /// again and again. Unless it is asked for, nothing lingers.
    ///
    /// Others pay for it: a process that waits meanwhile gets the lock up to
    /// `linger` later, and no later than the bounds of
    /// [`with_hand_over`](Self::with_hand_over) after the grant. So a
    /// grant for which this process had to wait, and so perhaps others, does not
    /// linger. While it does, the store names this process as the owner, and
    /// no task here owns; if the process dies then, the others wait for its lease,
    /// as when an owner dies. [`release`](super::LockGuard::release) does not
    /// wait for the store then. Closing the coordinator gives it back at once,
    /// and so does dropping the last [`Lock`](super::Lock) of the name.
    ///
    /// With a [shared fence](Self::with_shared_fence) nothing lingers.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use std::time::Duration;
    /// use tenure::Coordinator;
    /// use tenure::lock::LockOptions;
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let options = LockOptions::default().with_linger(Duration::from_millis(5));
    /// let lock = coordinator.lock_with("counters", options)?;
    /// let mut last = None;
    /// for _ in 0..100 {
    ///     let guard = lock.acquire().await?; // most of them without a call
    ///     assert!(last < Some(guard.token()?));
    ///     last = Some(guard.token()?);
    ///     guard.release().await?;
    /// }
    /// # coordinator.close().await
    /// # }
    /// ```
    #[must_use]
    pub fn with_linger(mut self, linger: Duration) -> Self {
        self.linger = Some(linger).filter(|linger| !linger.is_zero());
        self
    }

    pub(crate) fn own_terms(&self) -> Option<LeaseTerms> {
        self.terms
    }

    /// Refuses what contradicts itself, or makes no sense under `terms`.
    pub(crate) fn check(&self, terms: LeaseTerms) -> Result<()> {
        if let (Some(least), Some(most)) = (self.at_least_for, self.max_hold)
            && least > most
        {
            return Err(Error::invalid(format!(
                "a lock that is held for at least {least:?} cannot be lost after {most:?}: make \
                 at_least_for shorter or max_hold longer"
            )));
        }
        let Some(linger) = self.linger else {
            return Ok(());
        };
        let (part, turn) = (terms.transition() / 2, self.hand_over.length);
        if linger < part && linger < turn {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a lock lingers for less than half of its transition ({part:?}) and for less than \
             its process may hand it over ({turn:?}), not for {linger:?}"
        )))
    }

    /// Other lease terms than the coordinator's.
    #[must_use]
    pub fn with_terms(mut self, terms: LeaseTerms) -> Self {
        self.terms = Some(terms);
        self
    }

    /// The fence is shared with programs that are not ours, and the resource
    /// compares the store's own numbers:
    /// [`token.store()`](FencingToken::store). Every owner then has a number
    /// of its own: nothing is handed over inside the process, whatever
    /// [`with_hand_over`](Self::with_hand_over) allows. Say so for every lock
    /// of the name.
    #[must_use]
    pub fn with_shared_fence(mut self) -> Self {
        self.shares_fence = true;
        self
    }
}

/// How often and how long one remote grant may be passed on inside the
/// process before other processes get their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    times: u64,
    length: Duration,
}

impl HandOver {
    /// At most `times` hand-overs, none later than `length` after the grant.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for more than 1,023: a grant has
    /// no more tokens.
    pub fn new(times: u64, length: Duration) -> Result<Self> {
        if times >= FencingToken::PER_GRANT {
            return Err(Error::invalid(format!(
                "one grant can be handed over at most {} times, not {times}",
                FencingToken::PER_GRANT - 1
            )));
        }
        Ok(Self { times, length })
    }

    /// Every release goes to the store.
    #[must_use]
    pub const fn never() -> Self {
        Self {
            times: 0,
            length: Duration::ZERO,
        }
    }

    /// Whether a grant of this age that was handed over this often may be
    /// handed over again.
    pub(super) fn allows(self, times: u64, age: Duration) -> bool {
        times < self.times && age < self.length
    }
}

impl Default for HandOver {
    /// Up to 1,023 times within 500 ms of the grant.
    fn default() -> Self {
        Self {
            times: FencingToken::PER_GRANT - 1,
            length: Duration::from_millis(500),
        }
    }
}

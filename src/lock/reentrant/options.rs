//! [`ReentrantOptions`]: how one reentrant lock behaves.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::lock::options::{HandOver, LockOptions};
use crate::model::LeaseTerms;

/// How a reentrant lock behaves.
///
/// ```
/// use std::time::Duration;
/// use tenure::lock::ReentrantOptions;
///
/// let options = ReentrantOptions::default().with_expiry(Duration::from_secs(30));
/// # drop(options);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReentrantOptions {
    expiry: Option<Duration>,
    pub(super) spin_wait: Option<Duration>,
    max_hold: Option<Duration>,
    hand_over: HandOver,
    shares_fence: bool,
}

impl ReentrantOptions {
    /// How long the store keeps the lock for a holder that has gone; renewed
    /// at half of it. Otherwise the whole lease of the coordinator. A store
    /// whose leases hang on a session has no say in it.
    #[must_use]
    pub fn with_expiry(mut self, expiry: Duration) -> Self {
        self.expiry = Some(expiry);
        self
    }

    /// How long the first waiter of the process goes without looking, in case
    /// the word of an unlock was lost. Otherwise what the store advises.
    #[must_use]
    pub fn with_spin_wait(mut self, spin_wait: Duration) -> Self {
        self.spin_wait = Some(spin_wait);
        self
    }

    /// A hold that lasts longer than `max_hold` is lost, and is not renewed
    /// any more: for work that may hang. Counted from the outermost lock.
    #[must_use]
    pub fn with_max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// How long tasks of this process may pass the lock among themselves.
    #[must_use]
    pub fn with_hand_over(mut self, hand_over: HandOver) -> Self {
        self.hand_over = hand_over;
        self
    }

    /// The fence is shared with Redisson's fenced lock, and the resource
    /// compares the number that both know:
    /// [`token.store()`](crate::model::FencingToken::store), not
    /// [`value()`](crate::model::FencingToken::value). Every owner then has a
    /// number of its own: nothing is handed over inside the process, whatever
    /// [`with_hand_over`](Self::with_hand_over) allows, and the fence never
    /// ends. Say so for every lock of the name.
    ///
    /// ```no_run
    /// # async fn example() -> tenure::Result<()> {
    /// use tenure::{Coordinator, Holder, lock::ReentrantOptions};
    ///
    /// let coordinator = Coordinator::connect("redis://10.0.0.1").await?;
    /// let options = ReentrantOptions::default().with_shared_fence();
    /// let lock = coordinator.reentrant_lock_with("stock", options)?;
    /// let guard = lock.held_by(&Holder::new("import")).acquire().await?;
    /// // What Redisson's lockAndGetToken() would have given in our place.
    /// let number = guard.token()?.store();
    /// # drop((guard, number));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_shared_fence(mut self) -> Self {
        self.shares_fence = true;
        self
    }

    /// The options of the lock below.
    pub(super) fn checked(&self) -> Result<LockOptions> {
        if self
            .spin_wait
            .is_some_and(|wait| wait < Duration::from_millis(1))
        {
            return Err(Error::invalid(
                "the spin wait of a reentrant lock is at least 1 ms: a shorter one only burns",
            ));
        }
        Ok(LockOptions {
            max_hold: self.max_hold,
            at_least_for: None,
            linger: None,
            hand_over: self.hand_over,
            terms: self.expiry.map(halves).transpose()?,
            shares_fence: self.shares_fence,
        })
    }
}

/// Terms whose renewal is due at half of `expiry`.
pub(crate) fn halves(expiry: Duration) -> Result<LeaseTerms> {
    let half = Duration::from_millis(u64::try_from(expiry.as_millis() / 2).unwrap_or(u64::MAX));
    LeaseTerms::new(half, expiry.saturating_sub(half)).map_err(|error| {
        Error::invalid(format!(
            "an expiry of {expiry:?} does not do for a reentrant lock: {error}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewal_is_due_at_half_the_expiry() {
        let terms = halves(Duration::from_millis(30_001)).unwrap();
        assert_eq!(terms.lease(), Duration::from_millis(30_001));
        assert_eq!(terms.renew_after(), Duration::from_millis(15_000));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (expiry, spin_wait, hint) in [
            (Some(Duration::from_millis(20)), None, "expiry of 20ms"),
            (
                Some(Duration::from_micros(1_500_500)),
                None,
                "whole milliseconds",
            ),
            (Some(Duration::ZERO), None, "longer than zero"),
            (None, Some(Duration::from_micros(10)), "at least 1 ms"),
        ] {
            let options = ReentrantOptions {
                expiry,
                spin_wait,
                ..ReentrantOptions::default()
            };
            let error = options.checked().unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}

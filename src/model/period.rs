//! [`ContendPeriod`]: when a contender looks again.

use std::time::Duration;

use super::{ContenderId, MutexOwner, StoreTime};
use crate::error::{Error, Result};

/// By how much the wake-ups of non-owners are spread, in milliseconds
/// relative to the end of the lease; half open.
///
/// Where a lease has no transition no contender comes before its end: what lies
/// below zero is then left out.
///
/// ```
/// use tenure::model::Jitter;
///
/// assert_eq!(Jitter::new(-200, 1_000)?, Jitter::default());
/// assert!(Jitter::new(1_000, -200).is_err());
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    low: i64,
    high: i64,
}

impl Jitter {
    /// No spread at all.
    pub const NONE: Self = Self { low: 0, high: 0 };

    /// From `low` (which may be negative) up to but not including `high`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when `low` is above `high` or
    /// either is more than an hour.
    pub fn new(low_millis: i64, high_millis: i64) -> Result<Self> {
        let hour = 3_600_000;
        if low_millis > high_millis || low_millis < -hour || high_millis > hour {
            return Err(Error::invalid(format!(
                "jitter runs from a smaller to a larger number of milliseconds within an hour, \
                 not from {low_millis} to {high_millis}"
            )));
        }
        Ok(Self {
            low: low_millis,
            high: high_millis,
        })
    }

    /// The offset for `roll` in `[0, 1)`, nothing before zero when the owner
    /// has no transition to be renewed in.
    fn at(self, roll: f64, transition: bool) -> i64 {
        let low = if transition {
            self.low
        } else {
            self.low.max(0)
        };
        let width = (self.high - low).max(0);
        // Below 2^53 by the limit in `new`: exact.
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        let offset = (roll.clamp(0.0, 1.0) * width as f64).floor() as i64;
        low + offset.min((width - 1).max(0))
    }
}

impl Default for Jitter {
    /// From 200 ms before the lease ends to 1 s after.
    fn default() -> Self {
        Self {
            low: -200,
            high: 1000,
        }
    }
}

/// After how many milliseconds to look again at an owner whose end is unknown.
const UNKNOWN_END: i128 = 1_000;

/// When a contender wakes up by itself: the owner at `ttl_at`, the others at
/// `transition_at` plus jitter, so that they do not all come at once.
///
/// The engine uses it where a store knows nothing better.
///
/// ```
/// use std::time::Duration;
/// use tenure::model::{ContendPeriod, ContenderId, Jitter, MutexOwner, StoreTime};
///
/// let at = StoreTime::from_millis;
/// let me = ContenderId::new("me")?;
/// let period = ContendPeriod::new(me.clone(), Jitter::default());
///
/// let mine = MutexOwner::new(me, at(0), at(10_000), at(16_000));
/// assert_eq!(period.next_delay(&mine, at(4_000), 0.0), Duration::from_secs(6));
///
/// let theirs = MutexOwner::new(ContenderId::new("b")?, at(0), at(10_000), at(16_000));
/// assert_eq!(period.next_delay(&theirs, at(4_000), 0.0), Duration::from_millis(11_800));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContendPeriod {
    contender: ContenderId,
    jitter: Jitter,
}

impl ContendPeriod {
    /// The wake-ups of `contender`.
    #[must_use]
    pub fn new(contender: ContenderId, jitter: Jitter) -> Self {
        Self { contender, jitter }
    }

    /// How long from `now` until the next look; never negative, zero when
    /// the mutex is free. `roll` in `[0, 1)` picks the point in the jitter.
    ///
    /// An owner whose lease has just run out is still given the jitter, so that
    /// those who learn of it at the same time do not all come at once. An owner
    /// whose end is unknown is looked at again after a second, plus jitter.
    #[must_use]
    pub fn next_delay(&self, owner: &MutexOwner, now: StoreTime, roll: f64) -> Duration {
        if owner.owner_id().is_none() {
            return Duration::ZERO;
        }
        if owner.is_owner(&self.contender) {
            return delay(owner.ttl_at(), now, 0);
        }
        self.next_delay_of_waiter(owner, now, roll)
    }

    /// [`next_delay`](Self::next_delay) of one who is not the owner, whatever
    /// id the owner carries.
    pub(crate) fn next_delay_of_waiter(
        &self,
        owner: &MutexOwner,
        now: StoreTime,
        roll: f64,
    ) -> Duration {
        let has_transition = owner.ttl_at() != owner.transition_at();
        delay(
            owner.transition_at(),
            now,
            self.jitter.at(roll, has_transition),
        )
    }
}

/// From `now` to `at` plus `offset`; never negative.
fn delay(at: Option<StoreTime>, now: StoreTime, offset: i64) -> Duration {
    let until = |at: StoreTime| i128::from(at.as_millis()) - i128::from(now.as_millis());
    let millis = at.map_or(UNKNOWN_END, until) + i128::from(offset);
    Duration::from_millis(u64::try_from(millis.max(0)).unwrap_or(u64::MAX))
}

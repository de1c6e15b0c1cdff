//! [`StoreTime`]: a reading of the store's clock.

use std::fmt;
use std::time::Duration;

/// Milliseconds since 1970 on the *store's* clock.
///
/// A store answers with its own time, and only such answers are compared with
/// the times it keeps. This host's wall clock decides nothing anywhere.
///
/// ```
/// use std::time::Duration;
/// use tenure::model::StoreTime;
///
/// let now = StoreTime::from_millis(1_000);
/// let later = now + Duration::from_millis(250);
/// assert_eq!(later.since(now), Duration::from_millis(250));
/// assert_eq!(now.since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct StoreTime(u64);

impl StoreTime {
    /// The time of "never": what the tables hold when there is no owner.
    pub const ZERO: Self = Self(0);

    /// From milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// As milliseconds since 1970.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for StoreTime {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(millis))
    }
}

impl fmt::Display for StoreTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for StoreTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

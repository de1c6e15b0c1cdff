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
        if *self == Self::ZERO {
            return f.write_str("never");
        }
        let (days, millis) = (self.0 / DAY, self.0 % DAY);
        // Beyond the year 9999 no reader expects a date.
        if days >= 2_932_897 {
            return write!(f, "{}ms", self.0);
        }
        let (year, month, day) = date(days);
        let (hour, minute) = (millis / 3_600_000, millis / 60_000 % 60);
        let (second, millis) = (millis / 1_000 % 60, millis % 1_000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"
        )
    }
}

/// A day in milliseconds.
const DAY: u64 = 86_400_000;

/// The year, month and day that begins so many days after 1970 began. Years are
/// counted from March, so that the leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since the first of March of the year 0
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + carry, month, day)
}

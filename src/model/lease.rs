//! [`LeaseTerms`]: how long an owner owns without renewing.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};

/// The two lengths of a lease and what follows from them.
///
/// From a grant until `ttl` ownership is undisputed; from there until
/// `ttl + transition` only the incumbent may renew; after that any
/// contender may take. The transition is the room in which a failed renewal is retried.
///
/// ```
/// use std::time::Duration;
/// use tenure::model::LeaseTerms;
///
/// let terms = LeaseTerms::new(Duration::from_secs(10), Duration::from_secs(6))?;
/// assert_eq!(terms, LeaseTerms::default());
/// assert_eq!(terms.lease(), Duration::from_secs(16));
/// assert_eq!(terms.renew_after(), Duration::from_secs(10));
/// assert_eq!(terms.margin(), Duration::from_millis(37));
///
/// let error = LeaseTerms::new(Duration::from_millis(30), Duration::ZERO).unwrap_err();
/// assert!(error.to_string().contains("too short"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseTerms {
    ttl: Length,
    transition: Length,
    margin: Length,
    call_timeout: Length,
}

/// A duration of at most [`LONGEST`], in half the room: every bid and every grant
/// carries its terms along.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Length {
    seconds: u32,
    nanos: u32,
}

impl Length {
    /// `length`, which has been checked to be one.
    fn of(length: Duration) -> Self {
        Self {
            seconds: u32::try_from(length.as_secs()).unwrap_or(u32::MAX),
            nanos: length.subsec_nanos(),
        }
    }

    fn duration(self) -> Duration {
        Duration::new(self.seconds.into(), self.nanos)
    }
}

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.duration().fmt(f)
    }
}

/// Beyond this a forgotten lock would outlive the person who forgot it, and
/// the arithmetic of no store is tested.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl LeaseTerms {
    /// Terms with the usual margin and call timeout.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when `ttl` is zero, when both
    /// together are too short for the margin or longer than a year, or when
    /// one is not a whole number of milliseconds (stores keep milliseconds).
    pub fn new(ttl: Duration, transition: Duration) -> Result<Self> {
        if ttl.is_zero() {
            return Err(Error::invalid(
                "the ttl of a lease must be longer than zero",
            ));
        }
        for (what, length) in [("ttl", ttl), ("transition", transition)] {
            if !length.subsec_nanos().is_multiple_of(1_000_000) {
                return Err(Error::invalid(format!(
                    "the {what} of a lease must be whole milliseconds, not {length:?}"
                )));
            }
        }
        let lease = ttl
            .checked_add(transition)
            .filter(|lease| *lease <= LONGEST)
            .ok_or_else(|| {
                Error::invalid("ttl and transition together must be at most 366 days")
            })?;
        let margin = Duration::from_millis(5) + lease / 500;
        let call_timeout = (lease / 4).min(Duration::from_secs(5));
        Self::checked(ttl, transition, margin, call_timeout)
    }

    /// The same terms with a larger safety margin, for clocks that drift more.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::model::LeaseTerms;
    ///
    /// let terms = LeaseTerms::default().with_margin(Duration::from_millis(500))?;
    /// assert_eq!(terms.valid_for(), Duration::from_millis(15_500));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is smaller than 5 ms plus
    /// 0.2 % of the lease, or a tenth of the lease or more.
    pub fn with_margin(self, margin: Duration) -> Result<Self> {
        let least = Duration::from_millis(5) + self.lease() / 500;
        if margin < least {
            return Err(Error::invalid(format!(
                "the margin of this lease must be at least {least:?}, not {margin:?}"
            )));
        }
        Self::checked(self.ttl(), self.transition(), margin, self.call_timeout())
    }

    /// The same terms with another limit for a single call to the store. It is
    /// a quarter of the lease, and at most 5 s, unless it is set here.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::model::LeaseTerms;
    ///
    /// let terms = LeaseTerms::default().with_call_timeout(Duration::from_secs(1))?;
    /// assert_eq!(terms.call_timeout(), Duration::from_secs(1));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it is zero or when three of
    /// them do not fit into the lease.
    pub fn with_call_timeout(self, call_timeout: Duration) -> Result<Self> {
        Self::checked(self.ttl(), self.transition(), self.margin(), call_timeout)
    }

    fn checked(
        ttl: Duration,
        transition: Duration,
        margin: Duration,
        call_timeout: Duration,
    ) -> Result<Self> {
        let lease = ttl + transition;
        let ten_margins = margin.saturating_mul(10);
        if lease <= ten_margins {
            return Err(Error::invalid(format!(
                "ttl and transition together ({lease:?}) are too short: they must be more than \
                 ten margins ({ten_margins:?})"
            )));
        }
        if call_timeout.is_zero() || lease < call_timeout.saturating_mul(3) {
            return Err(Error::invalid(format!(
                "the call timeout must be longer than zero and at most a third of ttl and \
                 transition together ({:?}), not {call_timeout:?}",
                lease / 3,
            )));
        }
        Ok(Self {
            ttl: Length::of(ttl),
            transition: Length::of(transition),
            margin: Length::of(margin),
            call_timeout: Length::of(call_timeout),
        })
    }

    /// How long ownership is undisputed.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl.duration()
    }

    /// How long after the ttl only the incumbent may renew.
    #[must_use]
    pub fn transition(&self) -> Duration {
        self.transition.duration()
    }

    /// Both together: how long no other can take after a grant.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.ttl() + self.transition()
    }

    /// By how much the local deadline lies before the store's: 5 ms and 0.2 % of
    /// the lease, or more.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.margin.duration()
    }

    /// The longest that one call to the store may take.
    #[must_use]
    pub fn call_timeout(&self) -> Duration {
        self.call_timeout.duration()
    }

    /// How long after sending a grant or renewal the next renewal is due:
    /// at the ttl, or after two thirds of the lease if that comes first, so that
    /// there is always room to retry.
    #[must_use]
    pub fn renew_after(&self) -> Duration {
        self.ttl().min(self.lease() * 2 / 3)
    }

    /// How long after sending a grant or renewal the local side stops owning:
    /// the lease without the margin.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.lease() - self.margin()
    }
}

impl Default for LeaseTerms {
    /// Ten seconds and six.
    fn default() -> Self {
        Self::new(Duration::from_secs(10), Duration::from_secs(6)).expect("valid by test")
    }
}

//! [`ScheduleConfig`]: when a schedule runs, and what happens when it cannot.

use std::time::Duration;

use super::cadence::Cadence;
use crate::error::{Error, Result};
use crate::model::StoreTime;

/// What kind of cadence a schedule has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Runs begin at fixed distances, however long each takes.
    FixedRate,
    /// Each run begins a fixed time after the end of the last.
    FixedDelay,
    /// Runs begin when a clock on the wall would say so.
    Cron,
}

/// What becomes of ticks that came due while no leader could run them: the run
/// before took too long, or there was no leader. A fixed delay has at most one
/// such tick, and runs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misfire {
    /// None of them is run; the next run is at the next tick to come.
    Skip,
    /// The last of them is run at once, the others are not.
    #[default]
    Once,
    /// All of them are run, one after the other, as fast as they go.
    Burst,
}

/// When a schedule runs, and what happens when it cannot.
///
/// All leaders of one schedule must agree on its cadence: another one under
/// the same name is refused with [`Conflict`](crate::ErrorKind::Conflict),
/// unless it [replaces](Self::with_plan_replaced) the one before.
///
/// ```
/// use std::time::Duration;
/// use tenure::schedule::{Misfire, ScheduleConfig, Strategy};
///
/// let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_secs(30))?
///     .with_misfire(Misfire::Skip)
///     .with_time_limit(Duration::from_secs(20))?;
/// assert_eq!(config.strategy(), Strategy::FixedRate);
///
/// let error = ScheduleConfig::delay(Duration::ZERO, Duration::ZERO).unwrap_err();
/// assert!(error.to_string().contains("at least 1 ms"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScheduleConfig {
    pub(super) cadence: Cadence,
    pub(super) misfire: Misfire,
    pub(super) time_limit: Option<Duration>,
    pub(super) late_limit: Option<Duration>,
    pub(super) rerun_unfinished: bool,
    pub(super) replace_plan: bool,
}

/// Longer than any user means, and short enough to be added up.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

impl ScheduleConfig {
    /// Runs begin `period` apart, the first `initial_delay` after the first
    /// leader of all came to office. The grid stays where it is through
    /// overlong runs and changes of leader.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when `period` is zero, or one of
    /// the two has parts of a millisecond or is longer than 100 years.
    pub fn rate(initial_delay: Duration, period: Duration) -> Result<Self> {
        let (initial, period) = Self::checked(initial_delay, period)?;
        Ok(Self::new(Cadence::Rate { initial, period }))
    }

    /// Each run begins `period` after the end of the last, the first
    /// `initial_delay` after the first leader of all came to office.
    ///
    /// # Errors
    /// As [`rate`](Self::rate).
    pub fn delay(initial_delay: Duration, period: Duration) -> Result<Self> {
        let (initial, period) = Self::checked(initial_delay, period)?;
        Ok(Self::new(Cadence::Delay { initial, period }))
    }

    /// Runs begin when a wall clock in the zone `tz` (an IANA name such as
    /// `Europe/Zurich`, or `UTC`) would say so.
    ///
    /// `expr` has the five fields minute, hour, day of month, month and day of
    /// week; one more in front counts as seconds, one more behind as years. A
    /// time that the change to summer time leaves out runs when the clock has
    /// jumped; one that the change back repeats runs once.
    ///
    /// ```
    /// use tenure::schedule::ScheduleConfig;
    ///
    /// let config = ScheduleConfig::cron("30 2 * * *", "Europe/Zurich")?;
    /// let error = ScheduleConfig::cron("30 2 * * *", "Europe/Zürich").unwrap_err();
    /// assert!(error.to_string().contains("IANA"));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for an expression that cannot be
    /// read or never comes true, and for a zone that is not known.
    #[cfg(feature = "cron")]
    pub fn cron(expr: impl AsRef<str>, tz: impl AsRef<str>) -> Result<Self> {
        let rule = super::cron::CronRule::new(expr.as_ref(), tz.as_ref())?;
        Ok(Self::new(Cadence::Cron(rule)))
    }

    fn new(cadence: Cadence) -> Self {
        Self {
            cadence,
            misfire: Misfire::default(),
            time_limit: None,
            late_limit: None,
            rerun_unfinished: false,
            replace_plan: false,
        }
    }

    fn checked(initial: Duration, period: Duration) -> Result<(Duration, Duration)> {
        let period = length("a period", period)?;
        if initial.is_zero() {
            return Ok((initial, period));
        }
        Ok((length("an initial delay", initial)?, period))
    }

    /// The same, with another rule for late ticks; otherwise
    /// [`Misfire::Once`].
    #[must_use]
    pub fn with_misfire(self, misfire: Misfire) -> Self {
        Self { misfire, ..self }
    }

    /// The same, with runs that are given up after `limit` and count as
    /// failed. Otherwise a run may take as long as it likes.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) as for a period.
    pub fn with_time_limit(self, limit: Duration) -> Result<Self> {
        let time_limit = Some(length("a time limit", limit)?);
        Ok(Self { time_limit, ..self })
    }

    /// The same, which does not run a tick that is later than `limit` when it
    /// could begin: it is skipped, and recorded as such. Otherwise a run begins
    /// however late it is, if the rule for late ticks wants it at all.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::schedule::ScheduleConfig;
    ///
    /// // A report of the day is of no use after noon.
    /// let (day, hour) = (Duration::from_secs(86_400), Duration::from_secs(3_600));
    /// let config = ScheduleConfig::rate(Duration::ZERO, day)?.with_late_limit(4 * hour)?;
    /// assert_eq!(config.late_limit(), Some(4 * hour));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) as for a period.
    pub fn with_late_limit(self, limit: Duration) -> Result<Self> {
        let late_limit = Some(length("a late limit", limit)?);
        Ok(Self { late_limit, ..self })
    }

    /// The same, which runs a tick again whose leader died or lost office
    /// before its end: each tick at least once instead of at most once.
    #[must_use]
    pub fn with_rerun_of_unfinished(self) -> Self {
        Self {
            rerun_unfinished: true,
            ..self
        }
    }

    /// The same, whose cadence replaces the one that the schedule has had so
    /// far, for the roll-out of a change. A process that still has the old one is
    /// refused from then on.
    #[must_use]
    pub fn with_plan_replaced(self) -> Self {
        Self {
            replace_plan: true,
            ..self
        }
    }

    /// What kind of cadence it is.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        match self.cadence {
            Cadence::Rate { .. } => Strategy::FixedRate,
            Cadence::Delay { .. } => Strategy::FixedDelay,
            #[cfg(feature = "cron")]
            Cadence::Cron(_) => Strategy::Cron,
        }
    }

    /// How long the first run of all waits; zero for cron.
    #[must_use]
    pub fn initial_delay(&self) -> Duration {
        match self.cadence {
            Cadence::Rate { initial, .. } | Cadence::Delay { initial, .. } => initial,
            #[cfg(feature = "cron")]
            Cadence::Cron(_) => Duration::ZERO,
        }
    }

    /// The distance of two runs; `None` for cron.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        match self.cadence {
            Cadence::Rate { period, .. } | Cadence::Delay { period, .. } => Some(period),
            #[cfg(feature = "cron")]
            Cadence::Cron(_) => None,
        }
    }

    /// The rule for late ticks.
    #[must_use]
    pub fn misfire(&self) -> Misfire {
        self.misfire
    }

    /// How long a run may take.
    #[must_use]
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// How late a run may begin.
    #[must_use]
    pub fn late_limit(&self) -> Option<Duration> {
        self.late_limit
    }

    /// A tick that was due before this is too late at `now`.
    pub(super) fn latest(&self, now: StoreTime) -> Option<StoreTime> {
        let limit = u64::try_from(self.late_limit?.as_millis()).unwrap_or(u64::MAX);
        Some(StoreTime::from_millis(
            now.as_millis().saturating_sub(limit),
        ))
    }

    /// Whether ticks without an end are run again.
    #[must_use]
    pub fn reruns_unfinished(&self) -> bool {
        self.rerun_unfinished
    }

    /// The cadence as text, by which the leaders of one schedule know that
    /// they agree: `rate 30000ms after 0ms`.
    #[must_use]
    pub fn plan(&self) -> String {
        self.cadence.to_string()
    }
}

/// The store's clock counts milliseconds, and a grid must not drift on it.
fn length(what: &str, length: Duration) -> Result<Duration> {
    let wrong = |why: &str| Err(Error::invalid(format!("{what} {why}, not {length:?}")));
    if length < Duration::from_millis(1) {
        return wrong("must be at least 1 ms");
    }
    if !length.subsec_nanos().is_multiple_of(1_000_000) {
        return wrong("must be a whole number of milliseconds");
    }
    if length > LONGEST {
        return wrong("must be at most 100 years");
    }
    Ok(length)
}

//! [`Upcoming`]: when a schedule will run, before anything is started.

use std::fmt;
use std::time::SystemTime;

use super::cadence::{Before, Cadence};
use super::config::ScheduleConfig;
use crate::model::StoreTime;

/// A change of a zone's clocks, as it concerns one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClockChange {
    /// It runs at the jump forward, in place of times that are left out.
    StandsIn,
    /// Times before it are left out, because the clocks have gone forward.
    LeftOut,
    /// Its time comes twice, and it runs the first time only.
    FirstOnly,
    /// Its time comes twice, and so does the run: this is the first.
    First,
    /// The clocks have gone back: it is the second run at this time.
    Second,
}

impl fmt::Display for ClockChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StandsIn => "the clocks go forward: in place of a time that is left out",
            Self::LeftOut => "the clocks went forward: times before it are left out",
            Self::FirstOnly => "the clocks go back: of this time that comes twice, the first only",
            Self::First => "the clocks go back: this time comes twice, the first",
            Self::Second => "the clocks went back: this time comes twice, the second",
        })
    }
}

/// A run to come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpcomingRun {
    /// When it is due.
    pub due_at: StoreTime,
    /// What a wall clock in the schedule's zone shows then, with its offset:
    /// `2027-03-28T03:00:00+02:00`. `None` for a schedule without a zone.
    pub local: Option<Box<str>>,
    /// The change of the clocks that concerns it.
    pub change: Option<ClockChange>,
}

/// The runs to come, one after the other; see
/// [`ScheduleConfig::upcoming`].
#[derive(Clone, Debug)]
pub struct Upcoming {
    config: ScheduleConfig,
    from: StoreTime,
    last: Option<StoreTime>,
}

impl ScheduleConfig {
    /// When a schedule that begins at `from` would run. Asks no store: a
    /// schedule that runs already goes on from its last run instead, which for
    /// cron makes no difference. A fixed delay is told as if each run took no
    /// time.
    ///
    /// Ends only with a cron expression whose last year has passed.
    ///
    /// ```
    /// # #[cfg(feature = "cron")] {
    /// use std::time::{Duration, SystemTime};
    /// use tenure::schedule::{ClockChange, ScheduleConfig};
    ///
    /// let config = ScheduleConfig::cron("30 2 * * *", "Europe/Zurich")?;
    /// let march = SystemTime::UNIX_EPOCH + Duration::from_secs(1_806_105_600);
    /// let runs: Vec<_> = config.upcoming(march).take(2).collect();
    /// assert_eq!(runs[0].local.as_deref(), Some("2027-03-27T02:30:00+01:00"));
    /// // Half past two is left out the day after.
    /// assert_eq!(runs[1].local.as_deref(), Some("2027-03-28T03:00:00+02:00"));
    /// assert_eq!(runs[1].change, Some(ClockChange::StandsIn));
    /// # }
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn upcoming(&self, from: SystemTime) -> Upcoming {
        let from = from.duration_since(SystemTime::UNIX_EPOCH);
        Upcoming {
            config: self.clone(),
            from: StoreTime::ZERO + from.unwrap_or_default(),
            last: None,
        }
    }
}

impl Iterator for Upcoming {
    type Item = UpcomingRun;

    fn next(&mut self) -> Option<UpcomingRun> {
        let cadence = &self.config.cadence;
        let due_at = match self.last {
            None => cadence.first(self.from)?,
            Some(due_at) => {
                let before = Before {
                    tick: 0,
                    due_at,
                    finished_at: None,
                };
                cadence.following(before)?.1
            }
        };
        // Longer than any clock counts.
        let before = self.last.replace(due_at).unwrap_or(self.from);
        if due_at < before {
            return None;
        }
        let (local, change) = match cadence {
            #[cfg(feature = "cron")]
            Cadence::Cron(rule) => (rule.local(due_at), rule.change(due_at, before)),
            Cadence::Rate { .. } | Cadence::Delay { .. } => (None, None),
        };
        Some(UpcomingRun {
            due_at,
            local,
            change,
        })
    }
}

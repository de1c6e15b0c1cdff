//! [`CronRule`]: a cron expression in a time zone.
//!
//! The expression is asked about wall clocks only; what becomes of times that
//! a change of the clocks leaves out or repeats is decided here.

use std::fmt;
use std::sync::Arc;

use croner::Cron;
use croner::parser::CronParser;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::cadence::Due;
use super::config::Misfire;
use super::offset_period::OffsetPeriod;
use super::upcoming::ClockChange;
use crate::error::{Error, Result};
use crate::model::StoreTime;

/// How many ticks that were left out are counted at most: the number is for
/// people, and counting costs.
const COUNTED: usize = 1_000;

const SECOND: u64 = 1_000;

#[derive(Clone)]
pub(super) struct CronRule {
    cron: Arc<Cron>,
    zone: TimeZone,
    /// Whether it runs in every hour, so that no change of the clocks can
    /// leave out or repeat all of its runs.
    is_hourly: bool,
    /// What was asked for, with single blanks.
    text: Arc<str>,
}

impl CronRule {
    pub(super) fn new(expr: &str, tz: &str) -> Result<Self> {
        let expr = expr.split_whitespace().collect::<Vec<_>>().join(" ");
        let wrong = |why: String| {
            Error::invalid(format!(
                "a cron expression has the fields \"minute hour day-of-month month day-of-week\", \
                 seconds in front if wanted, as in \"30 2 * * mon-fri\"; {expr:?}: {why}"
            ))
        };
        if expr.len() > 256 {
            return Err(Error::invalid(
                "a cron expression has at most 256 characters",
            ));
        }
        let cron = CronParser::new()
            .parse(&expr)
            .map_err(|error| wrong(error.to_string()))?;
        let zone = TimeZone::get(tz).map_err(|error| {
            let message = format!(
                "a time zone is an IANA name such as \"Europe/Zurich\" or \"UTC\", not {tz:?}"
            );
            Error::invalid(message).with_source(error)
        })?;
        let name = zone.iana_name().unwrap_or(tz).to_owned();
        let is_hourly = (0..24).all(|hour| cron.pattern.hour_match(hour).unwrap_or(false));
        let rule = Self {
            is_hourly,
            cron: Arc::new(cron),
            zone,
            text: format!("cron {expr} {name}").into(),
        };
        // Any moment will do, but not the present one: what is valid must not
        // depend on when it is asked.
        let sometime = StoreTime::from_millis(1_700_000_000 * SECOND);
        if rule.from(sometime).is_none() {
            return Err(wrong("it never comes true".into()));
        }
        Ok(rule)
    }

    /// The first time at or after `time`.
    pub(super) fn from(&self, time: StoreTime) -> Option<StoreTime> {
        let whole = time.as_millis().div_ceil(SECOND).saturating_mul(SECOND);
        self.next(StoreTime::from_millis(whole.saturating_sub(SECOND)))
    }

    /// The first time after `time`.
    pub(super) fn next(&self, time: StoreTime) -> Option<StoreTime> {
        let time = second(time)?;
        let mut period = OffsetPeriod::at(&self.zone, time)?;
        let now = period.wall(time).checked_add(1.second()).ok()?;
        let mut wall = self.on_or_after(now.max(self.floor(&period)))?;
        loop {
            if let Some(time) = period.time(wall) {
                return store(time);
            }
            period = period.after(&self.zone)?;
            let change = period.begin()?;
            if self.is_hourly {
                // What is left out is left out, what comes again runs again.
                wall = self.on_or_after(change.to)?;
            } else if wall < change.to {
                return store(change.at);
            }
        }
    }

    /// The last time at or before `time`.
    pub(super) fn last(&self, time: StoreTime) -> Option<StoreTime> {
        let time = second(time)?;
        let mut period = OffsetPeriod::at(&self.zone, time)?;
        let mut now = period.wall(time);
        loop {
            let wall = self.on_or_before(now)?;
            let Some(change) = period.begin() else {
                return store(period.time(wall)?);
            };
            if wall >= self.floor(&period) {
                return store(period.time(wall)?);
            }
            if !self.is_hourly && (change.from..change.to).contains(&wall) {
                return store(change.at);
            }
            period = period.before(&self.zone)?;
            now = change.from.checked_sub(1.second()).ok()?;
        }
    }

    /// The first that a wall clock can show in `period` and that counts: what
    /// it has shown before the clocks were set back does not, as a rule.
    fn floor(&self, period: &OffsetPeriod) -> DateTime {
        period.begin().map_or(DateTime::MIN, |change| {
            if self.is_hourly {
                change.to
            } else {
                change.to.max(change.from)
            }
        })
    }

    /// What a wall clock in the zone shows at `time`.
    pub(super) fn local(&self, time: StoreTime) -> Option<Box<str>> {
        let zoned = second(time)?.to_zoned(self.zone.clone());
        Some(zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string().into())
    }

    /// The change of the clocks that concerns the run at `time`, the one before
    /// it being at `before` or earlier.
    pub(super) fn change(&self, time: StoreTime, before: StoreTime) -> Option<ClockChange> {
        let (time, before) = (second(time)?, second(before)?);
        let period = OffsetPeriod::at(&self.zone, time)?;
        let wall = period.wall(time);
        if let Some(change) = period.begin().filter(|change| change.at > before) {
            let left_out = self.on_or_after(change.from);
            let leaves_out = left_out.is_some_and(|wall| wall < change.to);
            match self.is_hourly {
                false if leaves_out && change.at == time => return Some(ClockChange::StandsIn),
                true if leaves_out => return Some(ClockChange::LeftOut),
                _ => {}
            }
        }
        if period.begin().is_some_and(|change| wall < change.from) {
            return Some(ClockChange::Second);
        }
        let next = period.after(&self.zone)?.begin()?;
        (wall >= next.to && wall < next.from).then_some(match self.is_hourly {
            true => ClockChange::First,
            false => ClockChange::FirstOnly,
        })
    }

    fn on_or_after(&self, wall: DateTime) -> Option<DateTime> {
        self.cron.find_next_occurrence(&wall, true).ok()
    }

    fn on_or_before(&self, wall: DateTime) -> Option<DateTime> {
        self.cron.find_previous_occurrence(&wall, true).ok()
    }

    /// As [`Cadence::from`](super::cadence::Cadence::from). Ticks are numbered
    /// as they are run.
    pub(super) fn choose(
        &self,
        first: (u64, StoreTime),
        now: StoreTime,
        misfire: Misfire,
    ) -> Option<Due> {
        let (tick, next) = first;
        let at = match misfire {
            _ if next >= now => next,
            Misfire::Burst => next,
            Misfire::Once => self.last(now).map_or(next, |last| last.max(next)),
            Misfire::Skip => self.from(now)?,
        };
        let missed = std::iter::successors(Some(next), |time| self.next(*time));
        let skipped = missed.take(COUNTED).take_while(|time| *time < at).count();
        Some(Due {
            tick,
            at,
            skipped: skipped as u64,
        })
    }
}

/// The whole second that `time` lies in.
fn second(time: StoreTime) -> Option<Timestamp> {
    let seconds = i64::try_from(time.as_millis() / SECOND).ok()?;
    Timestamp::from_second(seconds).ok()
}

fn store(time: Timestamp) -> Option<StoreTime> {
    let millis = u64::try_from(time.as_millisecond()).ok()?;
    Some(StoreTime::from_millis(millis))
}

impl fmt::Display for CronRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CronRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

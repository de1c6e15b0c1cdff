//! [`CronRule`]: a cron expression in a time zone.

use std::fmt;
use std::sync::Arc;

use croner::Cron;
use croner::parser::CronParser;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::cadence::{Before, Due};
use super::config::Misfire;
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
        let rule = Self {
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
    ///
    /// Always asked so that the start itself does not count: a time that
    /// summer time leaves out is moved to one that does not match by itself.
    pub(super) fn next(&self, time: StoreTime) -> Option<StoreTime> {
        let whole = time.as_millis() / SECOND * SECOND;
        let start = self.zoned(whole)?;
        store(&self.cron.find_next_occurrence(&start, false).ok()?)
    }

    /// The last time at or before `time`.
    pub(super) fn last(&self, time: StoreTime) -> Option<StoreTime> {
        let whole = time.as_millis() / SECOND * SECOND;
        let start = self.zoned(whole + SECOND)?;
        store(&self.cron.find_previous_occurrence(&start, false).ok()?)
    }

    /// As [`Cadence::after`](super::cadence::Cadence::after). Ticks are
    /// numbered as they are run.
    pub(super) fn following(
        &self,
        before: Before,
        now: StoreTime,
        misfire: Misfire,
    ) -> Option<Due> {
        let next = self.next(before.due_at)?;
        let at = match misfire {
            _ if next >= now => next,
            Misfire::Burst => next,
            Misfire::Once => self.last(now).map_or(next, |last| last.max(next)),
            Misfire::Skip => self.from(now)?,
        };
        let missed = std::iter::successors(Some(next), |time| self.next(*time));
        let skipped = missed.take(COUNTED).take_while(|time| *time < at).count();
        Some(Due {
            tick: before.tick + 1,
            at,
            skipped: skipped as u64,
        })
    }

    fn zoned(&self, millis: u64) -> Option<Zoned> {
        let millis = i64::try_from(millis).ok()?;
        let timestamp = Timestamp::from_millisecond(millis).ok()?;
        Some(timestamp.to_zoned(self.zone.clone()))
    }
}

fn store(zoned: &Zoned) -> Option<StoreTime> {
    let millis = u64::try_from(zoned.timestamp().as_millisecond()).ok()?;
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

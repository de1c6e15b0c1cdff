//! [`Cadence`]: when ticks are due. Pure: no clock, no I/O.

use std::fmt;
use std::time::Duration;

use super::config::Misfire;
use crate::model::StoreTime;

/// When ticks are due, on the store's clock.
#[derive(Clone, Debug)]
pub(super) enum Cadence {
    Rate {
        initial: Duration,
        period: Duration,
    },
    Delay {
        initial: Duration,
        period: Duration,
    },
    #[cfg(feature = "cron")]
    Cron(super::cron::CronRule),
}

/// A tick to come, or late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) tick: u64,
    pub(super) at: StoreTime,
    /// How many before it are left out.
    pub(super) skipped: u64,
}

/// What is known of the tick before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) tick: u64,
    pub(super) due_at: StoreTime,
    /// `None`: not known.
    pub(super) finished_at: Option<StoreTime>,
}

impl Cadence {
    /// The cadence that `plan` was printed from, if this version knows it.
    pub(super) fn read(plan: &str) -> Option<Self> {
        let (kind, rest) = plan.split_once(' ')?;
        #[cfg(feature = "cron")]
        if kind == "cron" {
            let (expr, zone) = rest.rsplit_once(' ')?;
            return super::cron::CronRule::new(expr, zone).ok().map(Self::Cron);
        }
        let millis = |text: &str| {
            let number = text.strip_suffix("ms")?.parse().ok()?;
            Some(Duration::from_millis(number))
        };
        let (period, initial) = rest.split_once(" after ")?;
        let (period, initial) = (millis(period)?, millis(initial)?);
        match kind {
            "rate" => Some(Self::Rate { initial, period }),
            "delay" => Some(Self::Delay { initial, period }),
            _ => None,
        }
    }

    /// When the first tick of a schedule that begins at `origin` is due;
    /// `None`: never.
    pub(super) fn first(&self, origin: StoreTime) -> Option<StoreTime> {
        match self {
            Self::Rate { initial, .. } | Self::Delay { initial, .. } => Some(origin + *initial),
            #[cfg(feature = "cron")]
            Self::Cron(rule) => rule.from(origin),
        }
    }

    /// The tick after `before`, and when it is due; `None`: there is none any
    /// more.
    pub(super) fn following(&self, before: Before) -> Option<(u64, StoreTime)> {
        let at = match self {
            Self::Rate { period, .. } => before.due_at + *period,
            Self::Delay { period, .. } => before.finished_at.unwrap_or(before.due_at) + *period,
            #[cfg(feature = "cron")]
            Self::Cron(rule) => rule.next(before.due_at)?,
        };
        Some((before.tick.saturating_add(1), at))
    }

    /// The tick to run when all before `first`, due then, have been.
    pub(super) fn from(
        &self,
        first: (u64, StoreTime),
        now: StoreTime,
        misfire: Misfire,
    ) -> Option<Due> {
        let (tick, at) = first;
        match self {
            Self::Rate { period, .. } => Some(on_grid(first, *period, now, misfire)),
            Self::Delay { .. } => Some(Due {
                tick,
                at,
                skipped: 0,
            }),
            #[cfg(feature = "cron")]
            Self::Cron(rule) => rule.choose(first, now, misfire),
        }
    }
}

/// The number of a tick is its place in the grid, so that those left out show
/// as a gap. Counted from the first that was not run: all are whole
/// milliseconds, so that this is the grid of the very first.
fn on_grid(first: (u64, StoreTime), period: Duration, now: StoreTime, misfire: Misfire) -> Due {
    let period = u64::try_from(period.as_millis()).unwrap_or(u64::MAX).max(1);
    let (tick, due) = (first.0, first.1.as_millis());
    let late = now.as_millis().saturating_sub(due);
    // How many steps on the one to run lies.
    let steps = match misfire {
        Misfire::Burst => 0,
        Misfire::Once => late / period,
        Misfire::Skip => late.div_ceil(period),
    };
    Due {
        tick: tick.saturating_add(steps),
        at: StoreTime::from_millis(due.saturating_add(steps.saturating_mul(period))),
        skipped: steps,
    }
}

impl fmt::Display for Cadence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |kind: &str, initial: &Duration, period: &Duration| {
            let (period, initial) = (period.as_millis(), initial.as_millis());
            write!(f, "{kind} {period}ms after {initial}ms")
        };
        match self {
            Self::Rate { initial, period } => line("rate", initial, period),
            Self::Delay { initial, period } => line("delay", initial, period),
            #[cfg(feature = "cron")]
            Self::Cron(rule) => rule.fmt(f),
        }
    }
}

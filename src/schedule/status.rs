//! [`ScheduleStatus`]: what a scheduler of this process has done and will do.

use std::sync::MutexGuard;
use std::time::Duration;

use super::tick::Tick;
use crate::clock::{Clock, Moment};
use crate::model::{FencingToken, StoreTime};
use crate::sync::Mutex;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RunOutcome {
    /// Well.
    Done,
    /// With an error.
    Failed,
    /// With a panic.
    Panicked,
    /// It was given up at its time limit.
    TimedOut,
    /// It was cut off: leadership was lost, it outlasted a stop, or it said so
    /// itself ([`Unfinished`](super::Unfinished)).
    Cut,
}

impl RunOutcome {
    /// The same as one word, as logs and metrics have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
            Self::Cut => "cut",
        }
    }
}

/// The last run that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LastRun {
    /// Its tick.
    pub tick: u64,
    /// When it was due.
    pub due_at: StoreTime,
    /// When it was started.
    pub started_at: StoreTime,
    /// The token it ran under.
    pub token: FencingToken,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub outcome: RunOutcome,
}

/// The run that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NextRun {
    /// Its tick.
    pub tick: u64,
    /// When it is due, on the store's clock.
    pub due_at: StoreTime,
}

/// What a scheduler of this process has done since it was made, and will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ScheduleStatus {
    /// Whether it has been started, and not stopped.
    pub running: bool,
    /// The token it leads with.
    pub leading: Option<FencingToken>,
    /// The tick that is run at this moment.
    pub current: Option<u64>,
    /// The last run that has ended.
    pub last_run: Option<LastRun>,
    /// What comes next; known to the leader only.
    pub next_run: Option<NextRun>,
    /// Runs that were started.
    pub runs: u64,
    /// Runs that ended with an error, a panic or at the time limit.
    pub failures: u64,
    /// Runs that were cut off.
    pub cut: u64,
    /// Ticks that were left out by the rule for late ones.
    pub skipped: u64,
    /// Ticks that were not run because they were later than the late limit.
    #[cfg_attr(feature = "serde", serde(default))]
    pub too_late: u64,
    /// Ticks without an end that were found on coming to office.
    pub unfinished: u64,
}

/// The status while it changes.
#[derive(Debug, Default)]
pub(super) struct StatusBoard(Mutex<ScheduleStatus>);

impl StatusBoard {
    pub(super) fn read(&self) -> ScheduleStatus {
        self.status().clone()
    }

    pub(super) fn status(&self) -> MutexGuard<'_, ScheduleStatus> {
        self.0.lock()
    }

    /// A run begins; unless it is told otherwise, it ends cut off.
    pub(super) fn begin<'a>(&'a self, tick: &Tick, clock: &'a Clock) -> RunRecord<'a> {
        let mut status = self.status();
        status.runs += 1;
        status.current = Some(tick.number);
        status.next_run = None;
        RunRecord {
            board: self,
            clock,
            began: clock.now(),
            run: LastRun {
                tick: tick.number,
                due_at: tick.due_at,
                started_at: tick.started_at,
                token: tick.tenure.own_token(),
                took: Duration::ZERO,
                outcome: RunOutcome::Cut,
            },
        }
    }
}

/// A run under way. Dropped, it is over.
pub(super) struct RunRecord<'a> {
    board: &'a StatusBoard,
    clock: &'a Clock,
    began: Moment,
    run: LastRun,
}

impl RunRecord<'_> {
    /// It has ended, with `outcome`; how long it took.
    pub(super) fn end(mut self, outcome: RunOutcome) -> Duration {
        self.run.outcome = outcome;
        self.clock.now().since(self.began)
    }
}

impl Drop for RunRecord<'_> {
    fn drop(&mut self) {
        self.run.took = self.clock.now().since(self.began);
        let mut status = self.board.status();
        status.current = None;
        match self.run.outcome {
            RunOutcome::Done => {}
            RunOutcome::Cut => status.cut += 1,
            _ => status.failures += 1,
        }
        status.last_run = Some(self.run.clone());
    }
}

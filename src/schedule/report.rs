//! [`ScheduleReport`]: what a store knows of a schedule, for people.

use std::time::Duration;

use super::cadence::{Before, Cadence};
use crate::backend::{Bookmark, Entry, LedgerEntry, LedgerLine, Ledgers, Page, TickState};
use crate::model::{ContenderId, FencingToken, MutexName, StoreTime};

/// How the last run of a schedule went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum RunResult {
    /// Nothing has been run yet.
    Planned,
    /// It runs: the leader that began it still leads.
    Running,
    /// It was begun, no word came how it ended, and the process that began it does not
    /// lead any more.
    Unfinished,
    /// It ended well.
    Done,
    /// It ended with an error, a panic or at its time limit.
    Failed,
    /// It was later than the late limit, and was not run.
    Skipped,
}

impl RunResult {
    /// The same as one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Unfinished => "unfinished",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What a store knows of one schedule, or of work that is done
/// [once in a period](crate::LockGuard::once_per).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleReport {
    /// Its name, as [found](MutexName::found).
    pub name: MutexName,
    /// Its ledger, if that can be made out.
    pub ledger: Option<LedgerEntry>,
    /// Who leads now.
    pub leader: Option<ContenderId>,
    /// How the last run went.
    pub result: Option<RunResult>,
    /// When the next run is due, by the plan and the last run alone: what is
    /// past is overdue, and the rule for late ticks decides about it. `None`
    /// where that is not known: while a run of a fixed delay lasts, or when a
    /// plan cannot be read here.
    pub next_due: Option<StoreTime>,
    /// What is wrong with what the store has of it, and what a person can do.
    pub fault: Option<Box<str>>,
}

impl ScheduleReport {
    pub(crate) fn new(line: LedgerLine, mutex: Option<&Entry>, now: StoreTime) -> Self {
        let owner = mutex.filter(|entry| entry.owner.has_owner(now));
        let leader = owner.and_then(|entry| entry.owner.owner_id().cloned());
        let leads_with = owner.and_then(|entry| entry.owner.token().or(entry.token));
        let ledger = line.ledger;
        let result = ledger.as_ref().map(|entry| result(entry, leads_with));
        let next_due = ledger.as_ref().and_then(|entry| next(entry, result));
        Self {
            name: line.name,
            ledger,
            leader,
            result,
            next_due,
            fault: line.fault,
        }
    }

    /// The plan in words that people know: `every 30s`, `1h after each run`,
    /// `30 2 * * * Europe/Zurich`, `once in a period`.
    #[must_use]
    pub fn plan(&self) -> Option<String> {
        let plan = &self.ledger.as_ref()?.plan;
        if plan.starts_with("once, by ") {
            return Some("once in a period".into());
        }
        Some(match Cadence::read(plan) {
            Some(Cadence::Rate { period, .. }) => format!("every {}", words(period)),
            Some(Cadence::Delay { period, .. }) => format!("{} after each run", words(period)),
            #[cfg(feature = "cron")]
            Some(Cadence::Cron(_)) => plan.trim_start_matches("cron ").into(),
            None => plan.to_string(),
        })
    }

    /// How late the last run began.
    #[must_use]
    pub fn late_by(&self) -> Option<Duration> {
        let entry = self.ledger.as_ref()?;
        Some(entry.begun_at?.since(entry.due_at))
    }

    /// How long the last run took, if it has ended.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        let entry = self.ledger.as_ref()?;
        Some(entry.finished_at?.since(entry.begun_at?))
    }
}

fn result(entry: &LedgerEntry, leads_with: Option<FencingToken>) -> RunResult {
    match entry.state {
        TickState::Planned => RunResult::Planned,
        TickState::Done => RunResult::Done,
        TickState::Failed => RunResult::Failed,
        TickState::Skipped => RunResult::Skipped,
        TickState::Claimed if leads_with.map(FencingToken::store) == Some(entry.token.store()) => {
            RunResult::Running
        }
        TickState::Claimed => RunResult::Unfinished,
    }
}

fn next(entry: &LedgerEntry, result: Option<RunResult>) -> Option<StoreTime> {
    let cadence = Cadence::read(&entry.plan)?;
    if entry.state == TickState::Planned {
        return Some(entry.due_at);
    }
    if matches!(cadence, Cadence::Delay { .. }) && result == Some(RunResult::Running) {
        return None;
    }
    let before = Before {
        tick: entry.last_tick,
        due_at: entry.due_at,
        finished_at: entry.finished_at,
    };
    cadence.following(before).map(|(_, at)| at)
}

/// A length of time in its two largest units.
fn words(length: Duration) -> String {
    let millis = length.as_millis();
    let mut rest = millis;
    let mut parts = Vec::new();
    for (unit, name) in [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
        (1, "ms"),
    ] {
        if rest >= unit {
            parts.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    parts.join(" ")
}

/// A page of schedules, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schedules {
    /// The schedules.
    pub reports: Vec<ScheduleReport>,
    /// The store's time, to which their times compare.
    pub now: StoreTime,
    next: Option<MutexName>,
    bookmark: Option<Bookmark>,
}

impl Schedules {
    /// `mutexes` are those of the same names that are in use.
    pub(crate) fn new(ledgers: Ledgers, mutexes: &[Entry]) -> Self {
        let now = ledgers.now;
        let report = |line: LedgerLine| {
            let mutex = mutexes.iter().find(|entry| entry.name == line.name);
            ScheduleReport::new(line, mutex, now)
        };
        Self {
            reports: ledgers.entries.into_iter().map(report).collect(),
            now,
            next: ledgers.next,
            bookmark: ledgers.bookmark,
        }
    }

    /// The page after this one, of the same size as `page`; `None` when this
    /// was the last.
    #[must_use]
    pub fn next_page(&self, page: &Page) -> Option<Page> {
        let next = self.next.clone()?;
        Some(Page {
            bookmark: self.bookmark.clone(),
            ..Page::first(page.limit).after(next)
        })
    }
}

//! What mutexes are wanted for, where more than their owners tell it: schedules
//! have a ledger, and in Redis reentrant locks and the parts of combination locks
//! lie elsewhere.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use tenure::backend::{Hold, Page};
use tenure::model::{MutexName, Purpose, StoreTime};
#[cfg(feature = "http")]
use tenure::schedule::RunResult;
use tenure::schedule::ScheduleReport;
use tenure::{Coordinator, Error};

#[cfg(feature = "http")]
use crate::status::Run;
use crate::status::{Row, millis};
use crate::text::stamp;

const PAGE: usize = 500;
/// A leader takes a moment to begin a run that is due.
const LATE: Duration = Duration::from_secs(1);

/// What is known of them, as of one look.
#[derive(Debug)]
pub struct Kinds {
    schedules: Vec<(ScheduleReport, StoreTime)>,
    holds: Vec<Hold>,
    /// When the store told of the holds.
    seen: Instant,
    /// What could not be learned: this user may not, or the store did not answer.
    unknown: Vec<(&'static str, Error)>,
}

const SCHEDULES: &str = "schedules";
const REENTRANT: &str = "reentrant locks";

impl Default for Kinds {
    fn default() -> Self {
        Self {
            schedules: Vec::new(),
            holds: Vec::new(),
            seen: Instant::now(),
            unknown: Vec::new(),
        }
    }
}

impl Kinds {
    /// Asks the store about the mutexes of these names, or about all.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn gather(coordinator: &Coordinator, names: &[MutexName]) -> Self {
        let mut kinds = Self::default();
        if let Err(error) = kinds.gather_schedules(coordinator, names).await {
            kinds.unknown.push((SCHEDULES, error));
        }
        match coordinator.reentrant_locks(names).await {
            Ok(holds) => kinds.holds = holds,
            Err(error) => kinds.unknown.push((REENTRANT, error)),
        }
        kinds.seen = Instant::now();
        kinds
    }

    async fn gather_schedules(
        &mut self,
        coordinator: &Coordinator,
        names: &[MutexName],
    ) -> tenure::Result<()> {
        if !coordinator.has_ledger() {
            return Ok(());
        }
        let mut page = match names {
            [] => Page::first(PAGE),
            names => Page::of(names.to_vec()),
        };
        loop {
            let told = coordinator.schedules(&page).await?;
            let next = told.next_page(&page);
            let is_schedule =
                |report: &ScheduleReport| report.plan().as_deref() != Some("once in a period");
            let reports = told.reports.into_iter().filter(is_schedule);
            self.schedules
                .extend(reports.map(|report| (report, told.now)));
            let Some(next) = next else {
                return Ok(());
            };
            page = next;
        }
    }

    /// The same with what is known from `before` of each part that could not be
    /// learned now: not to know of a lock does not make it free.
    #[cfg(feature = "http")]
    #[must_use]
    pub(crate) fn or_as_before(mut self, before: Self) -> Self {
        if self.is_unknown(SCHEDULES) {
            self.schedules = before.schedules;
        }
        if self.is_unknown(REENTRANT) {
            (self.holds, self.seen) = (before.holds, before.seen);
        }
        self
    }

    #[cfg(feature = "http")]
    fn is_unknown(&self, part: &str) -> bool {
        self.unknown.iter().any(|(unknown, _)| *unknown == part)
    }

    /// What could not be learned, and why.
    #[must_use]
    pub fn unknown(&self) -> &[(&'static str, Error)] {
        &self.unknown
    }

    /// Says of each row what it is, and adds reentrant locks that lie elsewhere.
    /// A schedule whose mutex is not among the rows is left out.
    pub fn tell(&self, rows: &mut Vec<Row>) {
        self.say(rows, false);
    }

    /// The same, and adds schedules that have no leader at this moment, and so
    /// no mutex in some stores.
    pub fn tell_all(&self, rows: &mut Vec<Row>) {
        self.say(rows, true);
    }

    fn say(&self, rows: &mut Vec<Row>, adds_schedules: bool) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            places.insert(row.name.clone(), at);
        }
        for (report, now) in &self.schedules {
            let row = match places.get(report.name.as_str()) {
                Some(at) => &mut rows[*at],
                None if adds_schedules => {
                    rows.push(Row::free(&report.name));
                    let last = rows.len() - 1;
                    &mut rows[last]
                }
                None => continue,
            };
            scheduled(row, report, *now);
        }
        for hold in &self.holds {
            // One that was asked for, and that no mutex was found of.
            let at = places.get(hold.name.as_str()).copied();
            let at = at.filter(|at| rows[*at].owner.is_none() && rows[*at].fault.is_none());
            let row = match at {
                Some(at) => &mut rows[at],
                None => {
                    rows.push(Row::free(&hold.name));
                    let last = rows.len() - 1;
                    &mut rows[last]
                }
            };
            reentrant(row, hold, self.seen);
        }
        rows.sort_by(|left, right| left.name.cmp(&right.name));
    }

    /// The last run of each schedule.
    #[cfg(feature = "http")]
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&MutexName, Run)> {
        let reports = self.schedules.iter();
        reports.filter_map(|(report, _)| Some((&report.name, run(report)?)))
    }
}

fn scheduled(row: &mut Row, report: &ScheduleReport, now: StoreTime) {
    // Also while it is held for something else, as by a person who keeps it from running.
    row.kind = Some(Purpose::Schedule.word());
    row.next_run = report.next_due.and_then(store_stamp);
    let late = report.next_due.map(|due| now.since(due));
    row.late_ms = late.filter(|late| *late >= LATE).map(millis);
}

fn reentrant(row: &mut Row, hold: &Hold, seen: Instant) {
    // Redisson's say nothing, and are no other.
    row.kind = Some(hold.purpose.unwrap_or(Purpose::Reentrant).word());
    row.holds = Some(hold.count);
    row.owner = Some(hold.holder.to_string());
    row.token = hold.token;
    row.left_ms = Some(millis(hold.left));
    row.seen = seen;
}

#[cfg(feature = "http")]
fn run(report: &ScheduleReport) -> Option<Run> {
    let ledger = report.ledger.as_ref()?;
    let result = report.result?;
    if result == RunResult::Planned {
        return None;
    }
    Some(Run {
        at: store_stamp(ledger.begun_at.unwrap_or(ledger.due_at))?,
        run: ledger.last_tick,
        outcome: Some(result.word()),
        late_ms: report.late_by().map(millis),
        duration_ms: report.took().map(millis),
        token: ledger.token,
    })
}

fn store_stamp(time: StoreTime) -> Option<String> {
    let since = Duration::from_millis(time.as_millis());
    stamp(SystemTime::UNIX_EPOCH.checked_add(since)?)
}

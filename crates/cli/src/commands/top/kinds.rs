//! [`Kinds`]: which mutexes are schedules, and the reentrant locks that lie
//! elsewhere.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::{Hold, Page};
use tenure::model::{MutexName, Purpose, StoreTime};
use tenure::schedule::{RunResult, ScheduleReport};
use tenure_dashboard::status::Row;

use crate::output::{brief, plain};

const PAGE: usize = 500;

/// What was seen of them last. What cannot be learned, because this user may
/// not or the store does not answer, stays as it was.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    schedules: HashMap<String, SeenSchedule>,
    holds: Vec<Hold>,
    holds_at: Option<Instant>,
}

/// A schedule, and when it was seen.
#[derive(Clone, Debug)]
struct SeenSchedule {
    report: ScheduleReport,
    /// The store's time then, and ours.
    now: StoreTime,
    at: Instant,
}

impl Kinds {
    /// Looks anew.
    pub(super) async fn look(mut self, coordinator: &Coordinator, names: &[MutexName]) -> Self {
        if coordinator.has_ledger()
            && let Ok(schedules) = schedules(coordinator, names).await
        {
            self.schedules = schedules;
        }
        if let Ok(holds) = coordinator.reentrant_locks(names).await {
            (self.holds, self.holds_at) = (holds, Some(Instant::now()));
        }
        self
    }

    /// Says of each row what it is, and adds reentrant locks that lie
    /// elsewhere.
    pub(super) fn tell(&self, rows: &mut Vec<Row>, now: Instant) {
        for row in rows.iter_mut() {
            if self.schedules.contains_key(&row.name) {
                row.kind = Some(Purpose::Schedule.word());
            }
        }
        let age = self
            .holds_at
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        // One that was asked for, and that no mutex was found of.
        let free = rows.iter().enumerate();
        let free = free.filter(|(_, row)| row.owner.is_none() && row.fault.is_none());
        let mut free: HashMap<String, usize> =
            free.map(|(at, row)| (row.name.clone(), at)).collect();
        for hold in &self.holds {
            let at = free.remove(hold.name.as_str()).unwrap_or_else(|| {
                rows.push(Row::free(&hold.name));
                rows.len() - 1
            });
            reentrant(&mut rows[at], hold, age);
        }
    }

    /// What there is to say of the schedule `name`, with a label each.
    pub(super) fn details(&self, name: &str) -> Vec<(&'static str, String)> {
        let Some(SeenSchedule { report, now, at }) = self.schedules.get(name) else {
            return Vec::new();
        };
        let age = at.elapsed();
        let mut told = Vec::new();
        told.extend(report.plan().map(|plan| ("plan", plain(&plan))));
        if let (Some(ledger), Some(result)) = (&report.ledger, report.result)
            && result != RunResult::Planned
        {
            let begun = ledger.begun_at;
            let parts = [
                Some(format!("{} {}", ledger.last_tick, result.word())),
                begun.map(|begun| format!("begun {} ago", brief(now.since(begun) + age))),
                report.took().map(|took| format!("took {}", brief(took))),
                report.late_by().map(|late| format!("{} late", brief(late))),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            told.push(("last run", parts.join(", ")));
        }
        if let Some(due) = report.next_due {
            let (left, late) = (due.since(*now), now.since(due));
            let text = match left.checked_sub(age) {
                Some(left) if !left.is_zero() => format!("in {}", brief(left)),
                _ => format!("{} overdue", brief(late + age.saturating_sub(left))),
            };
            told.push(("next run", text));
        }
        told
    }
}

/// Says of a row that it is a reentrant lock, which was seen so long ago.
fn reentrant(row: &mut Row, hold: &Hold, age: Duration) {
    // Redisson's say nothing, and are no other.
    row.kind = Some(hold.purpose.unwrap_or(Purpose::Reentrant).word());
    row.holds = Some(hold.count);
    row.owner = Some(hold.holder.to_string());
    row.token = hold.token;
    let left = hold.left.saturating_sub(age);
    row.left_ms = u64::try_from(left.as_millis()).ok();
}

async fn schedules(
    coordinator: &Coordinator,
    names: &[MutexName],
) -> tenure::Result<HashMap<String, SeenSchedule>> {
    let mut page = match names {
        [] => Page::first(PAGE),
        names => Page::of(names.to_vec()),
    };
    let mut schedules = HashMap::new();
    loop {
        let told = coordinator.schedules(&page).await?;
        let next = told.next_page(&page);
        let (now, at) = (told.now, Instant::now());
        for report in told.reports {
            // Work that is done once in a period is a lock like any other.
            if report.plan().as_deref() != Some("once in a period") {
                let name = report.name.to_string();
                schedules.insert(name, SeenSchedule { report, now, at });
            }
        }
        match next {
            Some(next) => page = next,
            None => return Ok(schedules),
        }
    }
}

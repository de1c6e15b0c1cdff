//! Which mutexes are more than that: schedules, and reentrant locks.

use std::time::{Duration, SystemTime};

use tenure::Coordinator;
use tenure::backend::{Hold, Page};
use tenure::model::MutexName;
use tenure_dashboard::status::Row;

use crate::exit::told;
use crate::output::{self, Voice, plain};

/// Says of each row what it is, and adds reentrant locks that lie elsewhere.
/// What cannot be learned, because this user may not, stays unsaid.
pub(super) async fn tell(
    rows: &mut Vec<Row>,
    coordinator: &Coordinator,
    names: &[MutexName],
    voice: &Voice,
) {
    if let Err(error) = schedules(rows, coordinator).await {
        voice.detail(&format_args!("schedules are not shown: {}", told(&error)));
    }
    match coordinator.reentrant_locks(names).await {
        Ok(holds) => {
            for hold in holds {
                reentrant(rows, hold);
            }
            rows.sort_by(|left, right| left.name.cmp(&right.name));
        }
        Err(error) => {
            let why = told(&error);
            voice.detail(&format_args!("reentrant locks are not shown: {why}"));
        }
    }
}

async fn schedules(rows: &mut [Row], coordinator: &Coordinator) -> tenure::Result<()> {
    if !coordinator.has_ledger() || rows.is_empty() {
        return Ok(());
    }
    let named = rows.iter().map(|row| MutexName::found(&row.name));
    let told = coordinator.schedules(&Page::of(named)).await?;
    for report in told.reports {
        let is_once = report.plan().as_deref() == Some("once in a period");
        let name = report.name.to_string();
        let Some(row) = rows.iter_mut().find(|row| row.name == name && !is_once) else {
            continue;
        };
        row.kind = Some("schedule");
        row.next_run = report.next_due.map(|due| {
            let due = Duration::from_millis(due.as_millis());
            output::stamp(SystemTime::UNIX_EPOCH + due)
        });
    }
    Ok(())
}

/// Adds a reentrant lock, or says of its row that it is one.
pub(in crate::commands) fn reentrant(rows: &mut Vec<Row>, hold: Hold) {
    let name = hold.name.to_string();
    // One that was asked for, and that no mutex was found of.
    let at = rows
        .iter()
        .position(|row| row.name == name && row.owner.is_none() && row.fault.is_none());
    let mut row = match at {
        Some(at) => rows.swap_remove(at),
        None => Row::free(&hold.name),
    };
    row.kind = Some("reentrant");
    row.holds = Some(hold.count);
    row.owner = Some(hold.holder.into());
    row.token = hold.token;
    row.left_ms = u64::try_from(hold.left.as_millis()).ok();
    rows.push(row);
}

/// A line below the table for each that is more than a mutex.
pub(super) fn lines(rows: &[Row]) -> Vec<String> {
    let line = |row: &Row| {
        let name = plain(&row.name);
        match (row.kind?, row.holds, &row.next_run) {
            (_, Some(1), _) => Some(format!("{name} is a reentrant lock, held once")),
            (_, Some(count), _) => Some(format!("{name} is a reentrant lock, held {count} times")),
            (_, _, Some(next)) => Some(format!(
                "{name} is a schedule, next due {next}; see tenure schedules"
            )),
            _ => Some(format!("{name} is a schedule; see tenure schedules")),
        }
    };
    rows.iter().filter_map(line).collect()
}

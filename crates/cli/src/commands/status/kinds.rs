//! Which mutexes are more than that: schedules, and reentrant locks.

use tenure::Coordinator;
use tenure::model::MutexName;
use tenure_dashboard::kinds::Kinds;
use tenure_dashboard::status::Row;

use crate::exit::told;
use crate::output::{Voice, plain};

/// Says of each row what it is, and adds reentrant locks that lie elsewhere.
/// What cannot be learned, because this user may not, stays unsaid.
pub(super) async fn tell(
    rows: &mut Vec<Row>,
    coordinator: &Coordinator,
    names: &[MutexName],
    voice: &Voice,
) {
    let kinds = Kinds::gather(coordinator, names).await;
    for (what, error) in kinds.unknown() {
        voice.detail(&format_args!("{what} are not shown: {}", told(error)));
    }
    kinds.tell(rows);
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

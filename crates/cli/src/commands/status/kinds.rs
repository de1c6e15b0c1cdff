//! What mutexes are wanted for, where more than their owners tell it.

use tenure::Coordinator;
use tenure::model::{MutexName, Purpose};
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

/// A line below the table for each of which there is more to say.
pub(super) fn lines(rows: &[Row]) -> Vec<String> {
    let line = |row: &Row| {
        let (name, kind) = (plain(&row.name), row.kind?);
        let what = match kind == Purpose::Combination.word() {
            true => "a combination lock's part on this server",
            false => "a reentrant lock",
        };
        match (row.holds, &row.next_run) {
            (Some(1), _) => Some(format!("{name} is {what}, held once")),
            (Some(count), _) => Some(format!("{name} is {what}, held {count} times")),
            (_, Some(next)) => Some(format!(
                "{name} is a schedule, next due {next}; see tenure schedules"
            )),
            _ if kind == Purpose::Schedule.word() => {
                Some(format!("{name} is a schedule; see tenure schedules"))
            }
            _ => None,
        }
    };
    rows.iter().filter_map(line).collect()
}

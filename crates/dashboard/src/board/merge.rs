//! What a new look at a mutex means beside the one before.

use std::time::{Duration, Instant};

use crate::status::{Row, millis};

/// By how much the end of a lease moves between two looks when it was not
/// renewed: answers take their time.
const BLUR: Duration = Duration::from_millis(100);

/// Adds to a row what only earlier looks can know.
pub(super) fn complete(row: &mut Row, before: Option<&Row>, own_lease: Duration) {
    let before = before.filter(|before| is_same_grant(before, row));
    if let Some(since) = before.and_then(|before| before.since.clone()) {
        // Computed anew each time, it would move by a millisecond.
        row.since = Some(since);
    }
    let Some(left) = row.left_ms else { return };
    let longest = before.and_then(|before| before.lease_ms).unwrap_or(0);
    // One that was never renewed has its whole lease behind and before it. Of
    // others this server's own terms are as good a guess as any, until more was seen.
    let guess = row.held_ms.map_or(left, |held| held.saturating_add(left));
    row.lease_ms = Some(longest.max(left).max(guess.min(millis(own_lease))));
}

/// Whether two looks saw the same owner under the same grant.
fn is_same_grant(before: &Row, after: &Row) -> bool {
    before.owner.is_some() && before.owner == after.owner && before.token == after.token
}

/// Whether a page must be told of it: more than time has passed.
pub(super) fn is_news(before: &Row, after: &Row) -> bool {
    is_renewed(before, after)
        || before.owner != after.owner
        || before.token != after.token
        || before.since != after.since
        || before.waiters != after.waiters
        || before.kind != after.kind
        || before.next_run != after.next_run
        || before.late_ms.is_some() != after.late_ms.is_some()
        || before.runs != after.runs
        || before.holds != after.holds
        || before.fault != after.fault
}

fn is_renewed(before: &Row, after: &Row) -> bool {
    match (end(before), end(after)) {
        (Some(before), Some(after)) => after > before + BLUR,
        (before, after) => before.is_some() != after.is_some(),
    }
}

fn end(row: &Row) -> Option<Instant> {
    let left = Duration::from_millis(row.left_ms?);
    row.seen.checked_add(left)
}

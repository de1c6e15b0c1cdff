//! [`Takes`]: the statements that take a free row, on which the promise rests.

use std::sync::Arc;

use super::purpose;
use super::stamp::SCALE;
use super::statements::{AT_ONCE, COMMITS, NOW, SECONDS, SKIP};

/// Each of them takes a free row and is told, after what it says itself: id,
/// ttl, lease, the [digit](purpose::digit) of the purpose where the table has
/// room for it, then the name twice and a limit.
#[derive(Clone, Debug)]
pub(super) struct Takes {
    /// Waits where another transaction holds the row.
    pub(super) waiting: Arc<str>,
    /// Goes around such a row: the name comes first, and only once more.
    /// Nothing but the inner question may find the row by its key, or MySQL
    /// reads it there, and waits.
    pub(super) unlocked: Arc<str>,
    /// Fails at once at such a row. Half the work of going around it, and
    /// MariaDB's alone: the shortest wait that MySQL knows is a second.
    pub(super) at_once: Arc<str>,
}

impl Takes {
    pub(super) fn new(table: &str, says_purpose: bool) -> Self {
        // NULL is in tables of other makes only.
        let is_free = format!("IFNULL(m.transition_at, 0) < {NOW} AND {COMMITS}");
        let granted = granted(says_purpose);
        let waiting = format!(
            "UPDATE {table} AS m SET {granted} WHERE m.mutex = ? AND {is_free} \
             AND BINARY CONVERT(m.mutex USING utf8mb4) = ? AND IFNULL(m.version, 0) < ?"
        );
        Self {
            at_once: format!("{AT_ONCE}{waiting}").into(),
            waiting: waiting.into(),
            unlocked: format!(
                "UPDATE (SELECT m.mutex FROM {table} AS m WHERE m.mutex = ? AND {is_free} \
                 LIMIT 1{SKIP}) AS unlocked STRAIGHT_JOIN {table} AS m \
                 ON m.mutex = unlocked.mutex SET {granted} WHERE {is_free} \
                 AND BINARY CONVERT(m.mutex USING utf8mb4) = ? AND IFNULL(m.version, 0) < ?"
            )
            .into(),
        }
    }
}

fn granted(says_purpose: bool) -> String {
    let purpose = purpose::written(says_purpose);
    format!(
        "m.version = LAST_INSERT_ID(GREATEST(IFNULL(m.version, 0) + 1, {SECONDS}) * {SCALE} \
         + {NOW} MOD {SCALE}) DIV {SCALE}, \
         m.owner_id = ?, m.acquired_at = {NOW}, m.ttl_at = {NOW} + ?, \
         m.transition_at = {NOW} + ?{purpose}"
    )
}

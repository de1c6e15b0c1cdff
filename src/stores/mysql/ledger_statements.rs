//! The statements about ledgers.

use std::sync::Arc;

use super::statements::{COMMITS, NOW};

#[derive(Clone, Debug)]
pub(super) struct LedgerStatements {
    pub(super) read: Arc<str>,
    /// All in the order of bytes: after a name, and how many.
    pub(super) list: Arc<str>,
    /// The same, from the first.
    pub(super) list_first: Arc<str>,
    pub(super) claim: Arc<str>,
    pub(super) claim_first: Arc<str>,
    pub(super) finish: Arc<str>,
    /// Whether there is room for a note about the run: it is bound then.
    pub(super) notes: bool,
}

impl LedgerStatements {
    /// `table` and `schedule` are quoted, `grant` says who owns. A table of an
    /// earlier version has no column for `notes`.
    pub(super) fn new(table: &str, schedule: &str, grant: &str, notes: bool) -> Self {
        let ledger = "plan, origin, last_tick, due_at, token, state, finished_at";
        let run = if notes { "run" } else { "NULL AS run" };
        let (column, value, set, ended) = match notes {
            true => (", run", ", ?", ", run = ?", ", run = COALESCE(?, run)"),
            false => ("", "", "", ""),
        };
        let list = |which: &str| -> Arc<str> {
            format!(
                "SELECT name, {ledger}, {run}, {NOW} AS now FROM {schedule} {which} \
                 ORDER BY BINARY name LIMIT ?"
            )
            .into()
        };
        Self {
            read: format!("SELECT {ledger}, {run} FROM {schedule} WHERE name = ?").into(),
            list: list("WHERE BINARY name > ?"),
            list_first: list(""),
            // Each a statement by itself, so that nothing is held while its
            // claimer is away. The grant may end under it: then the next
            // owner's claim, of a larger token, comes before or after this one,
            // and both fit.
            claim: format!(
                "UPDATE {schedule} SET plan = ?, origin = ?, last_tick = ?, due_at = ?, \
                 token = ?, state = ?, finished_at = NULL{set} \
                 WHERE name = ? AND IF(BINARY plan = ?, NOT ?, ?) \
                 AND ((last_tick < ? OR last_tick = ? AND state = 'planned') AND token <= ? \
                 OR ? AND last_tick = ? AND state = 'claimed' AND token < ?) \
                 AND {COMMITS} AND EXISTS (SELECT 1 FROM {table} WHERE {grant})"
            )
            .into(),
            claim_first: format!(
                "INSERT INTO {schedule} (name, {ledger}{column}) \
                 SELECT ?, ?, ?, ?, ?, ?, ?, NULL{value} FROM {table} \
                 WHERE {grant} AND {COMMITS}"
            )
            .into(),
            finish: format!(
                "UPDATE {schedule} SET state = ?, finished_at = {NOW}{ended} \
                 WHERE name = ? AND last_tick = ? AND token = ? AND state <> 'planned'"
            )
            .into(),
            notes,
        }
    }

    /// The rows of `count` names.
    pub(super) fn find_many(&self, schedule: &str, count: usize) -> String {
        let run = if self.notes { "run" } else { "NULL AS run" };
        format!(
            "SELECT name, plan, origin, last_tick, due_at, token, state, finished_at, {run}, \
             {NOW} AS now FROM {schedule} WHERE name IN ({}) ORDER BY BINARY name",
            vec!["?"; count].join(",")
        )
    }
}

//! The statements about ledgers.

use std::sync::Arc;

use super::statements::CLOCK;

#[derive(Clone, Debug)]
pub(super) struct LedgerStatements {
    pub(super) read: Arc<str>,
    /// Those after a name, and those of some names; with the time, also when
    /// there are none.
    pub(super) list: Arc<str>,
    pub(super) find_many: Arc<str>,
    pub(super) claim: Arc<str>,
    pub(super) finish: Arc<str>,
}

impl LedgerStatements {
    /// `table` and `schedule` are quoted. A table of an earlier version has no
    /// column for `notes`.
    pub(super) fn new(table: &str, schedule: &str, notes: bool) -> Self {
        let ledger = "plan, origin, last_tick, due_at, token, state, finished_at";
        let run = if notes { "run" } else { "NULL::text AS run" };
        let (column, value, excluded, ended) = match notes {
            true => (
                ", run",
                ", NULLIF($14, '')",
                ", run = excluded.run",
                ", run = COALESCE(NULLIF($5, ''), run)",
            ),
            false => ("", "", "", ""),
        };
        let some = |which: &str, rest: &str| -> Arc<str> {
            format!(
                "WITH {CLOCK} SELECT clock.now, l.* FROM clock LEFT JOIN LATERAL \
                 (SELECT name, {ledger}, {run} FROM {schedule} WHERE {which} \
                 ORDER BY name COLLATE \"C\" {rest}) AS l ON true ORDER BY l.name COLLATE \"C\""
            )
            .into()
        };
        Self {
            read: format!("SELECT {ledger}, {run} FROM {schedule} WHERE name = $1").into(),
            list: some("name > $1 COLLATE \"C\"", "LIMIT $2"),
            find_many: some("name = ANY($1::text[])", ""),
            // One statement, so that nothing is held while its claimer is away.
            // The grant may end under it: then the next owner's claim, of a
            // larger token, comes before or after this one, and both fit.
            claim: format!(
                "WITH {CLOCK}, owns AS (SELECT 1 FROM {table} AS m, clock WHERE m.mutex = $1 \
                 AND m.owner_id = $2 AND m.version = $3 AND m.nonce = $4 \
                 AND m.transition_at >= clock.now), \
                 claimed AS (INSERT INTO {schedule} AS s (name, {ledger}{column}) \
                 SELECT $1, $5, $6, $7, $8, $9, $12, NULL{value} FROM owns \
                 ON CONFLICT (name) DO UPDATE SET plan = excluded.plan, \
                 origin = excluded.origin, last_tick = excluded.last_tick, \
                 due_at = excluded.due_at, token = excluded.token, state = excluded.state, \
                 finished_at = NULL{excluded} \
                 WHERE (CASE WHEN s.plan = excluded.plan THEN NOT $13 ELSE $10 END) \
                 AND ((s.last_tick < excluded.last_tick \
                 OR s.last_tick = excluded.last_tick AND s.state = 'planned') \
                 AND s.token <= excluded.token \
                 OR $11 AND s.last_tick = excluded.last_tick AND s.state = 'claimed' \
                 AND s.token < excluded.token) RETURNING 1) \
                 SELECT EXISTS (SELECT 1 FROM owns) AS owns, \
                 EXISTS (SELECT 1 FROM claimed) AS claimed"
            )
            .into(),
            finish: format!(
                "WITH {CLOCK} UPDATE {schedule} SET state = $1, finished_at = clock.now{ended} \
                 FROM clock WHERE name = $2 AND last_tick = $3 AND token = $4 \
                 AND state <> 'planned' RETURNING 1"
            )
            .into(),
        }
    }
}

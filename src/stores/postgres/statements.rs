//! The statements, made once for the tables' names.
//!
//! The time is read once per statement, by `clock_timestamp()`: `now()` is
//! that of the transaction. A statement that had to wait for a row goes on
//! with the time it read before, which only makes its lease shorter.

use std::sync::Arc;

pub(super) const CLOCK: &str = "clock AS (SELECT \
     floor(extract(epoch FROM at) * 1000)::bigint AS now, \
     floor(extract(epoch FROM at) * 1000000)::bigint AS micros \
     FROM (SELECT clock_timestamp() AS at) AS read)";

const COLUMNS: &str = "mutex, owner_id, acquired_at, ttl_at, transition_at, version, nonce";

#[derive(Clone, Debug)]
pub(super) struct Statements {
    /// Quoted.
    pub(super) table: String,
    pub(super) schedule: String,
    /// Where a free mutex is announced, and where a new owner is.
    pub(super) freed: String,
    pub(super) owned: String,
    pub(super) take: Arc<str>,
    pub(super) find: Arc<str>,
    pub(super) find_many: Arc<str>,
    pub(super) renew: Arc<str>,
    pub(super) release: Arc<str>,
    pub(super) leave: Arc<str>,
    pub(super) revoke: Arc<str>,
    pub(super) list: Arc<str>,
    pub(super) read_ledger: Arc<str>,
    pub(super) claim: Arc<str>,
    pub(super) finish: Arc<str>,
}

impl Statements {
    pub(super) fn new(table: &str, schedule: &str) -> Arc<Self> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('.', "\".\""));
        let (freed, owned) = (table.to_owned(), format!("{table}_owner"));
        let (table, schedule) = (quoted(table), quoted(schedule));
        let free = |which: &str| -> Arc<str> {
            format!(
                "WITH {CLOCK}, freed AS (UPDATE {table} AS m SET owner_id = '', acquired_at = 0, \
                 ttl_at = 0, transition_at = 0, nonce = '' FROM clock \
                 WHERE m.mutex = $1 AND m.transition_at >= clock.now AND {which} \
                 RETURNING m.mutex) \
                 SELECT EXISTS (SELECT 1 FROM freed) AS won, clock.now, {}, \
                 (SELECT pg_notify('{freed}', freed.mutex)::text FROM freed) AS told \
                 FROM clock LEFT JOIN {table} AS m ON m.mutex = $1",
                columns("m.")
            )
            .into()
        };
        let ledger = "plan, origin, last_tick, due_at, token, state, finished_at";
        Arc::new(Self {
            // Guarded by NOT EXISTS: a refused upsert without it would lock the
            // row and write to the log.
            take: format!(
                "WITH {CLOCK}, taken AS (INSERT INTO {table} AS m ({COLUMNS}) \
                 SELECT $1, $2, now, now + $3, now + $4, micros, $5 FROM clock \
                 WHERE NOT EXISTS (SELECT 1 FROM {table} AS h \
                 WHERE h.mutex = $1 AND h.transition_at >= clock.now) \
                 ON CONFLICT (mutex) DO UPDATE SET owner_id = excluded.owner_id, \
                 acquired_at = excluded.acquired_at, ttl_at = excluded.ttl_at, \
                 transition_at = excluded.transition_at, \
                 version = greatest(m.version + 1, excluded.version), nonce = excluded.nonce \
                 WHERE coalesce(m.transition_at, 0) < excluded.acquired_at RETURNING m.*) \
                 SELECT taken.mutex IS NOT NULL AS won, clock.now, {}, \
                 (SELECT pg_notify('{owned}', taken.mutex)::text FROM taken) AS told \
                 FROM clock LEFT JOIN taken ON true LEFT JOIN {table} AS m ON m.mutex = $1",
                either("taken.", "m.")
            )
            .into(),
            find: format!(
                "WITH {CLOCK} SELECT false AS won, clock.now, {} \
                 FROM clock LEFT JOIN {table} AS m ON m.mutex = $1",
                columns("m.")
            )
            .into(),
            find_many: format!(
                "WITH {CLOCK} SELECT false AS won, clock.now, {} \
                 FROM clock, {table} AS m WHERE m.mutex = ANY($1::text[])",
                columns("m.")
            )
            .into(),
            // Around the rows that another transaction holds: one of them must
            // not cost the others their time.
            renew: format!(
                "WITH {CLOCK}, asked AS (SELECT * FROM unnest($1::text[], $2::text[], \
                 $3::bigint[], $4::text[]) WITH ORDINALITY \
                 AS a (mutex, owner_id, version, nonce, place)), \
                 unlocked AS (SELECT m.mutex FROM {table} AS m JOIN asked AS a \
                 ON m.mutex = a.mutex AND m.owner_id = a.owner_id AND m.version = a.version \
                 AND m.nonce = a.nonce FOR NO KEY UPDATE OF m SKIP LOCKED), \
                 renewed AS (UPDATE {table} AS m SET ttl_at = clock.now + $5, \
                 transition_at = clock.now + $6 FROM asked AS a, unlocked AS u, clock \
                 WHERE m.mutex = u.mutex AND m.mutex = a.mutex AND m.owner_id = a.owner_id AND m.version = a.version \
                 AND m.nonce = a.nonce AND m.transition_at >= clock.now RETURNING m.*) \
                 SELECT r.mutex IS NOT NULL AS won, clock.now, {} \
                 FROM asked AS a CROSS JOIN clock LEFT JOIN renewed AS r \
                 ON r.mutex = a.mutex AND r.owner_id = a.owner_id AND r.version = a.version \
                 AND r.nonce = a.nonce LEFT JOIN {table} AS m ON m.mutex = a.mutex \
                 ORDER BY a.place",
                either("r.", "m.")
            )
            .into(),
            release: free("m.owner_id = $2 AND m.version = $3 AND m.nonce = $4"),
            leave: free("m.owner_id = $2 AND m.nonce = $3"),
            revoke: free("($2 OR m.version = $3)"),
            // A row also when nothing is owned: it has the time.
            list: format!(
                "WITH {CLOCK} SELECT false AS won, clock.now, {} FROM clock \
                 LEFT JOIN LATERAL (SELECT * FROM {table} AS o \
                 WHERE o.transition_at >= clock.now AND o.mutex > $1 COLLATE \"C\" \
                 ORDER BY o.mutex COLLATE \"C\" LIMIT $2) AS m ON true \
                 ORDER BY m.mutex COLLATE \"C\"",
                columns("m.")
            )
            .into(),
            read_ledger: format!("SELECT {ledger} FROM {schedule} WHERE name = $1").into(),
            // One statement, so that nothing is held while its claimer is away.
            // The grant may end under it: then the next owner's claim, of a
            // larger token, comes before or after this one, and both fit.
            claim: format!(
                "WITH {CLOCK}, owns AS (SELECT 1 FROM {table} AS m, clock WHERE m.mutex = $1 \
                 AND m.owner_id = $2 AND m.version = $3 AND m.nonce = $4 \
                 AND m.transition_at >= clock.now), \
                 claimed AS (INSERT INTO {schedule} AS s (name, {ledger}) \
                 SELECT $1, $5, $6, $7, $8, $9, $12, NULL FROM owns \
                 ON CONFLICT (name) DO UPDATE SET plan = excluded.plan, \
                 origin = excluded.origin, last_tick = excluded.last_tick, \
                 due_at = excluded.due_at, token = excluded.token, state = excluded.state, \
                 finished_at = NULL \
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
                "WITH {CLOCK} UPDATE {schedule} SET state = $1, finished_at = clock.now \
                 FROM clock WHERE name = $2 AND last_tick = $3 AND token = $4 \
                 AND state <> 'planned' RETURNING 1"
            )
            .into(),
            table,
            schedule,
            freed,
            owned,
        })
    }
}

fn columns(of: &str) -> String {
    let qualified = COLUMNS.split(", ").map(|column| format!("{of}{column}"));
    qualified.collect::<Vec<_>>().join(", ")
}

/// What was written, or else what was there before.
fn either(written: &str, before: &str) -> String {
    let either = |column| format!("COALESCE({written}{column}, {before}{column}) AS {column}");
    COLUMNS
        .split(", ")
        .map(either)
        .collect::<Vec<_>>()
        .join(", ")
}

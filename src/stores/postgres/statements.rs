//! The statements, made once for the tables' names.
//!
//! The time is read once per statement, by `clock_timestamp()`: `now()` is
//! that of the transaction. A statement that had to wait for a row goes on
//! with the time it read before, which only makes its lease shorter.

use super::ledger_statements::LedgerStatements;
use super::wire::Prepared;
use crate::stores::sql::ByNotes;

pub(super) const CLOCK: &str = "clock AS (SELECT \
     floor(extract(epoch FROM at) * 1000)::bigint AS now, \
     floor(extract(epoch FROM at) * 1000000)::bigint AS micros \
     FROM (SELECT clock_timestamp() AS at) AS read)";

const COLUMNS: &str = "mutex, owner_id, acquired_at, ttl_at, transition_at, version, nonce";

const NOT_OWNED: &str = "owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, nonce = ''";

#[derive(Clone, Debug)]
pub(super) struct Statements {
    /// Quoted.
    pub(super) table: String,
    pub(super) schedule: String,
    /// Where a free mutex is announced, and where a new owner is.
    pub(super) freed: String,
    pub(super) owned: String,
    /// Takes one that was owned before and is free, as most that are taken are, and
    /// answers no row otherwise. `take` costs the server twice as much: it makes the
    /// row, and shows the owner.
    pub(super) take_free: Prepared,
    pub(super) take: Prepared,
    pub(super) find: Prepared,
    pub(super) find_many: Prepared,
    /// Renews, and answers which. `renew_each` shows each of them besides, and who
    /// owns what was not renewed, and costs the server four times as much.
    pub(super) renew: Prepared,
    pub(super) renew_each: Prepared,
    /// Frees what is held, as it nearly always is, and answers no row otherwise. A
    /// release that a crash of the server undoes makes no second owner: the mutex is
    /// free at the end of the lease, as if its owner had died. So it waits for no disk.
    pub(super) release_held: Prepared,
    pub(super) release: Prepared,
    pub(super) leave: Prepared,
    pub(super) revoke: Prepared,
    pub(super) list: Prepared,
    pub(super) ledgers: ByNotes<LedgerStatements>,
}

impl Statements {
    pub(super) fn new(table: &str, schedule: &str) -> Self {
        let quoted = |name: &str| format!("\"{}\"", name.replace('.', "\".\""));
        let (freed, owned) = (table.to_owned(), format!("{table}_owner"));
        let prepared = |what, types, text| Prepared::new(what, &freed, types, text);
        let (table, schedule) = (quoted(table), quoted(schedule));
        let free = |which: &str| {
            format!(
                "WITH {CLOCK}, freed AS (UPDATE {table} AS m SET {NOT_OWNED} FROM clock \
                 WHERE m.mutex = $1 AND m.transition_at >= clock.now AND {which} \
                 RETURNING m.mutex) \
                 SELECT EXISTS (SELECT 1 FROM freed) AS won, clock.now, {}, \
                 (SELECT pg_notify('{freed}', freed.mutex)::text FROM freed) AS told \
                 FROM clock LEFT JOIN {table} AS m ON m.mutex = $1",
                columns("m.")
            )
        };
        // Read before the row is waited for, and once: it is no part of the statement
        // that could be read again with it.
        let clock = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros \
             OFFSET 0) AS clock";
        let same = "m.owner_id = a.owner_id AND m.version = a.version AND m.nonce = a.nonce";
        let held = "m.owner_id = $2 AND m.version = $3 AND m.nonce = $4";
        Self {
            take_free: prepared(
                "take_free",
                "(text, text, bigint, bigint, text)",
                format!(
                    "UPDATE {table} AS m SET owner_id = $2, acquired_at = clock.micros / 1000, \
                 ttl_at = clock.micros / 1000 + $3, transition_at = clock.micros / 1000 + $4, \
                 version = greatest(m.version + 1, clock.micros), nonce = $5 FROM {clock} \
                 WHERE m.mutex = $1 AND m.transition_at < clock.micros / 1000 \
                 RETURNING clock.micros, m.version, m.transition_at, pg_notify('{owned}', $1)"
                ),
            )
            .quick(),
            // Guarded by NOT EXISTS: a refused upsert without it would lock the
            // row and write to the log.
            take: prepared(
                "take",
                "(text, text, bigint, bigint, text)",
                format!(
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
                ),
            ),
            find: prepared(
                "find",
                "(text)",
                format!(
                    "WITH {CLOCK} SELECT false AS won, clock.now, {} \
                 FROM clock LEFT JOIN {table} AS m ON m.mutex = $1",
                    columns("m.")
                ),
            ),
            // A row also when there is none of them: it has the time.
            find_many: prepared(
                "find_many",
                "(text[])",
                format!(
                    "WITH {CLOCK} SELECT false AS won, clock.now, {} \
                 FROM clock LEFT JOIN {table} AS m ON m.mutex = ANY($1::text[])",
                    columns("m.")
                ),
            ),
            // Around the rows that another transaction holds: one of them must
            // not cost the others their time. Answers the places of those that
            // were renewed, and when the first of them ends.
            renew: prepared(
                "renew",
                "(text[], text[], bigint[], text[], bigint, bigint)",
                format!(
                    "WITH {CLOCK}, unlocked AS (SELECT a.* FROM unnest($1::text[], $2::text[], \
                 $3::bigint[], $4::text[]) WITH ORDINALITY \
                 AS a (mutex, owner_id, version, nonce, place) JOIN {table} AS m \
                 ON m.mutex = a.mutex AND {same} \
                 AND m.transition_at >= (SELECT now FROM clock) \
                 FOR NO KEY UPDATE OF m SKIP LOCKED), \
                 renewed AS (UPDATE {table} AS m SET ttl_at = clock.now + $5, \
                 transition_at = clock.now + $6 FROM unlocked AS a, clock \
                 WHERE m.mutex = a.mutex AND {same} \
                 RETURNING a.place, m.transition_at, {same} AS same) \
                 SELECT (SELECT now FROM clock), min(transition_at), \
                 string_agg(place::text, ',') FROM renewed WHERE same"
                ),
            ),
            renew_each: prepared(
                "renew_each",
                "(text[], text[], bigint[], text[], bigint, bigint)",
                format!(
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
                ),
            ),
            release_held: prepared(
                "release_held",
                "(text, text, bigint, text)",
                format!(
                    "UPDATE {table} AS m SET {NOT_OWNED} FROM {clock} \
                 WHERE m.mutex = $1 AND m.transition_at >= clock.micros / 1000 AND {held} \
                 RETURNING clock.micros, pg_notify('{freed}', $1)"
                ),
            )
            .quick()
            .forgettable(),
            release: prepared("release", "(text, text, bigint, text)", free(held)).forgettable(),
            leave: prepared(
                "leave",
                "(text, text, text)",
                free("m.owner_id = $2 AND m.nonce = $3"),
            ),
            revoke: prepared(
                "revoke",
                "(text, boolean, bigint)",
                free("($2 OR m.version = $3)"),
            ),
            // A row also when nothing is owned: it has the time.
            list: prepared(
                "list",
                "(text, bigint)",
                format!(
                    "WITH {CLOCK} SELECT false AS won, clock.now, {} FROM clock \
                 LEFT JOIN LATERAL (SELECT * FROM {table} AS o \
                 WHERE o.transition_at >= clock.now AND o.mutex > $1 COLLATE \"C\" \
                 ORDER BY o.mutex COLLATE \"C\" LIMIT $2) AS m ON true \
                 ORDER BY m.mutex COLLATE \"C\"",
                    columns("m.")
                ),
            ),
            ledgers: ByNotes::new(|notes| LedgerStatements::new(&table, &schedule, notes)),
            table,
            schedule,
            freed,
            owned,
        }
    }
}

impl Statements {
    pub(super) fn ledger(&self) -> &LedgerStatements {
        self.ledgers.get()
    }
}

fn columns(of: &str) -> String {
    let qualified = COLUMNS.split(", ").map(|column| match column {
        // A table made by hand may have CHAR, which comes padded with blanks.
        "mutex" => format!("{of}mutex::text AS mutex"),
        _ => format!("{of}{column}"),
    });
    qualified.collect::<Vec<_>>().join(", ")
}

/// What was written, or else what was there before.
fn either(written: &str, before: &str) -> String {
    let either = |column| {
        let text = if column == "mutex" { "::text" } else { "" };
        format!("COALESCE({written}{column}, {before}{column}){text} AS {column}")
    };
    COLUMNS
        .split(", ")
        .map(either)
        .collect::<Vec<_>>()
        .join(", ")
}

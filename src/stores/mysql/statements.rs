//! The statements, made once for the tables' names.
//!
//! Times are the server's, in UTC whatever the session's zone says; the form
//! of the expression keeps the primary key. Names and ids are compared as
//! bytes, whatever the table's character set and collation; the plain
//! comparison beside it keeps the key.

use std::sync::{Arc, OnceLock};

use super::ledger_statements::LedgerStatements;
use super::purpose;
use super::stamp::SCALE;
use super::takes::Takes;
use crate::stores::sql::ByNotes;

/// Milliseconds since 1970, the same throughout a statement.
pub(super) const NOW: &str =
    "(TIMESTAMPDIFF(MICROSECOND,'1970-01-01 00:00:00',UTC_TIMESTAMP(6)) DIV 1000)";

/// Seconds since 2026, when the row at hand is written: `NOW` is read when the
/// statement begins, and may be old by the time a lock is given.
///
/// A version is never smaller than this was at its grant. So it tells how long
/// ago that was, at least, and a row that was removed and made again, by a JVM
/// peer with version 0, still has a larger one than before. It fits a signed
/// INT until 2094.
pub(super) const SECONDS: &str = "(TIMESTAMPDIFF(SECOND,'2026-01-01 00:00:00',SYSDATE()) \
     + TIMESTAMPDIFF(SECOND,NOW(),UTC_TIMESTAMP()))";

const IS_NAME: &str = "mutex = ? AND BINARY CONVERT(mutex USING utf8mb4) = ?";
const IS_OWNER: &str = "BINARY CONVERT(owner_id USING utf8mb4) = ?";
/// Who frees also says when: the answer carries the time.
const FREE: &str = "owner_id = '', acquired_at = 0, ttl_at = 0";

/// What makes an owner, or keeps one, is committed with its statement or does
/// not happen: a pooler may give a statement a session that was never set up.
pub(super) const COMMITS: &str = "@@autocommit";

/// MySQL 8.0, MariaDB 10.6.
pub(super) const SKIP: &str = " FOR UPDATE SKIP LOCKED";

/// A statement that waits for no row. MariaDB.
pub(super) const AT_ONCE: &str = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR ";

/// A number below zero, in a table of another make, is none.
pub(super) const COLUMNS: &str = "mutex, owner_id, \
     CAST(GREATEST(acquired_at, 0) AS UNSIGNED) AS acquired_at, \
     CAST(GREATEST(ttl_at, 0) AS UNSIGNED) AS ttl_at, \
     CAST(GREATEST(transition_at, 0) AS UNSIGNED) AS transition_at, \
     CAST(GREATEST(version, 0) AS UNSIGNED) AS version";

#[derive(Clone, Debug)]
pub(super) struct Statements {
    /// As they stand in the URL.
    pub(super) names: [String; 2],
    /// Quoted.
    pub(super) table: String,
    pub(super) schedule: String,
    /// For a table that has no room for the purpose, and for one that has.
    takes: [Takes; 2],
    /// The stamp that this session's last statement left, if it is that of the
    /// grant in the row: the name twice, and the id.
    pub(super) stamp: Arc<str>,
    /// Proves a grant that was read by writing to it, and answers what is left
    /// of it: the name twice, id and version.
    pub(super) prove: Arc<str>,
    pub(super) find: Arc<str>,
    pub(super) insert: Arc<str>,
    pub(super) release: Arc<str>,
    pub(super) leave: Arc<str>,
    pub(super) revoke: Arc<str>,
    pub(super) owns: Arc<str>,
    pub(super) ledgers: ByNotes<LedgerStatements>,
    /// Whether the key of the table sorts names by their bytes, once known.
    pub(super) by_bytes: OnceLock<bool>,
}

impl Statements {
    pub(super) fn new(table: &str, schedule: &str) -> Self {
        let quoted = |name: &str| format!("`{}`", name.replace('.', "`.`"));
        let names = [table.to_owned(), schedule.to_owned()];
        let (table, schedule) = (quoted(table), quoted(schedule));
        let freed = format!("UPDATE {table} SET {FREE}, transition_at = 0 * LAST_INSERT_ID({NOW})");
        let grant = format!("{IS_NAME} AND {IS_OWNER} AND version = ? AND transition_at >= {NOW}");
        Self {
            takes: [false, true].map(|says_purpose| Takes::new(&table, says_purpose)),
            stamp: format!(
                "SELECT LAST_INSERT_ID() AS stamp FROM {table} \
                 WHERE {IS_NAME} AND {IS_OWNER} AND version = LAST_INSERT_ID() DIV {SCALE}"
            )
            .into(),
            // It costs the lease a millisecond, because a write that changes
            // nothing is not told to the other nodes of a cluster, nor judged
            // by them.
            prove: format!(
                "UPDATE {table} SET transition_at = transition_at - 1 \
                 + 0 * LAST_INSERT_ID(transition_at - {NOW}), \
                 ttl_at = LEAST(ttl_at, transition_at) \
                 WHERE {grant} AND transition_at > {NOW} AND {COMMITS}"
            )
            .into(),
            // Also a row whose name the collation holds equal: the caller
            // compares bytes. The time also when there is no row.
            find: format!(
                "SELECT {COLUMNS}, NULL AS purpose, clock.now FROM (SELECT {NOW} AS now) AS clock \
                 LEFT JOIN {table} ON mutex = ?"
            )
            .into(),
            insert: format!(
                "INSERT INTO {table} (mutex, acquired_at, ttl_at, transition_at, owner_id, version) \
                 VALUES (?, 0, 0, 0, '', 0)"
            )
            .into(),
            release: format!(
                "{freed} WHERE {grant}"
            )
            .into(),
            leave: format!(
                "{freed} WHERE {IS_NAME} AND {IS_OWNER} AND version > ? AND transition_at >= {NOW}"
            )
            .into(),
            revoke: format!(
                "{freed} WHERE {IS_NAME} AND (? OR version = ?) AND transition_at >= {NOW}"
            )
            .into(),
            owns: format!("SELECT COUNT(*) FROM {table} WHERE {grant}").into(),
            ledgers: ByNotes::new(|notes| LedgerStatements::new(&table, &schedule, &grant, notes)),
            by_bytes: OnceLock::new(),
            names,
            table,
            schedule,
        }
    }

    /// Renews `count` grants: `count` names, ttl, lease, then `count` times
    /// name, id and version.
    ///
    /// Around the rows that another transaction holds, where the server can:
    /// one of them must not cost the others their time. The inner question has
    /// a limit and comes first, or the server would merge the two, and wait.
    pub(super) fn renew(&self, count: usize, skips: bool) -> String {
        format!(
            "UPDATE (SELECT mutex FROM {table} WHERE mutex IN ({}) LIMIT {count}{}) AS unlocked \
             STRAIGHT_JOIN {table} AS m ON m.mutex = unlocked.mutex \
             SET m.ttl_at = LAST_INSERT_ID({NOW}) + ?, m.transition_at = {NOW} + ? \
             WHERE m.transition_at >= {NOW} AND {COMMITS} AND (BINARY CONVERT(m.mutex USING utf8mb4), \
             BINARY CONVERT(m.owner_id USING utf8mb4), m.version) IN ({})",
            places("?", count),
            if skips { SKIP } else { "" },
            places("(?,?,?)", count),
            table = self.table,
        )
    }

    pub(super) fn takes(&self, says_purpose: bool) -> &Takes {
        &self.takes[usize::from(says_purpose)]
    }

    pub(super) fn ledger(&self) -> &LedgerStatements {
        self.ledgers.get()
    }

    /// Asks whether the server can skip rows: an error of syntax when not.
    pub(super) fn skip(&self) -> String {
        format!("SELECT mutex FROM {} WHERE mutex = ''{SKIP}", self.table)
    }

    /// The rows of `count` names.
    pub(super) fn find_many(&self, count: usize, says_purpose: bool) -> String {
        format!(
            "SELECT {COLUMNS}, {}, {NOW} AS now FROM {} WHERE mutex IN ({})",
            purpose::column(says_purpose),
            self.table,
            places("?", count)
        )
    }
}

fn places(place: &str, count: usize) -> String {
    vec![place; count].join(",")
}

//! The statements, made once for the tables' names.
//!
//! Times are the server's, in UTC whatever the session's zone says; the form
//! of the expression keeps the primary key. Names and ids are compared as
//! bytes, whatever the table's character set and collation; the plain
//! comparison beside it keeps the key.

use std::sync::{Arc, OnceLock};

use super::stamp::SCALE;

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

pub(super) const COLUMNS: &str = "mutex, owner_id, CAST(acquired_at AS UNSIGNED) AS acquired_at, \
     CAST(ttl_at AS UNSIGNED) AS ttl_at, CAST(transition_at AS UNSIGNED) AS transition_at, \
     CAST(version AS UNSIGNED) AS version";

#[derive(Clone, Debug)]
pub(super) struct Statements {
    /// As they stand in the URL.
    pub(super) names: [String; 2],
    /// Quoted.
    pub(super) table: String,
    pub(super) schedule: String,
    pub(super) take: Arc<str>,
    pub(super) find: Arc<str>,
    pub(super) insert: Arc<str>,
    pub(super) release: Arc<str>,
    pub(super) leave: Arc<str>,
    pub(super) revoke: Arc<str>,
    pub(super) hold: Arc<str>,
    pub(super) read_ledger: Arc<str>,
    pub(super) write_ledger: Arc<str>,
    pub(super) finish: Arc<str>,
    /// Whether the key of the table sorts names by their bytes, once known.
    pub(super) by_bytes: OnceLock<bool>,
}

impl Statements {
    pub(super) fn new(table: &str, schedule: &str) -> Arc<Self> {
        let quoted = |name: &str| format!("`{}`", name.replace('.', "`.`"));
        let names = [table.to_owned(), schedule.to_owned()];
        let (table, schedule) = (quoted(table), quoted(schedule));
        let freed = format!("UPDATE {table} SET {FREE}, transition_at = 0 * LAST_INSERT_ID({NOW})");
        let ledger = "plan, origin, last_tick, due_at, token, state, finished_at";
        Arc::new(Self {
            take: format!(
                "UPDATE {table} SET version = \
                 LAST_INSERT_ID(GREATEST(version + 1, {SECONDS}) * {SCALE} + {NOW} MOD {SCALE}) \
                 DIV {SCALE}, \
                 owner_id = ?, acquired_at = {NOW}, ttl_at = {NOW} + ?, transition_at = {NOW} + ? \
                 WHERE {IS_NAME} AND transition_at < {NOW} AND version < ?"
            )
            .into(),
            // Also a row whose name the collation holds equal: the caller
            // compares bytes. The time also when there is no row.
            find: format!(
                "SELECT {COLUMNS}, clock.now FROM (SELECT {NOW} AS now) AS clock \
                 LEFT JOIN {table} ON mutex = ?"
            )
            .into(),
            insert: format!(
                "INSERT INTO {table} (mutex, acquired_at, ttl_at, transition_at, owner_id, version) \
                 VALUES (?, 0, 0, 0, '', 0)"
            )
            .into(),
            release: format!(
                "{freed} WHERE {IS_NAME} AND {IS_OWNER} AND version = ? AND transition_at >= {NOW}"
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
            // The claimer's grant, kept from ending while its tick is written.
            hold: format!(
                "SELECT 1 FROM {table} WHERE {IS_NAME} AND {IS_OWNER} AND version = ? \
                 AND transition_at >= {NOW} FOR UPDATE"
            )
            .into(),
            read_ledger: format!("SELECT {ledger} FROM {schedule} WHERE name = ?").into(),
            write_ledger: format!(
                "REPLACE INTO {schedule} (name, {ledger}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL)"
            )
            .into(),
            finish: format!(
                "UPDATE {schedule} SET state = ?, finished_at = {NOW} \
                 WHERE name = ? AND last_tick = ? AND token = ?"
            )
            .into(),
            by_bytes: OnceLock::new(),
            names,
            table,
            schedule,
        })
    }

    /// Renews `count` grants: ttl, lease, then `count` names, then `count`
    /// times name, id and version.
    pub(super) fn renew(&self, count: usize) -> String {
        format!(
            "UPDATE {} SET ttl_at = LAST_INSERT_ID({NOW}) + ?, transition_at = {NOW} + ? \
             WHERE transition_at >= {NOW} AND mutex IN ({}) \
             AND (BINARY CONVERT(mutex USING utf8mb4), BINARY CONVERT(owner_id USING utf8mb4), \
             version) IN ({})",
            self.table,
            places("?", count),
            places("(?,?,?)", count),
        )
    }

    /// The rows of `count` names.
    pub(super) fn find_many(&self, count: usize) -> String {
        format!(
            "SELECT {COLUMNS}, {NOW} AS now FROM {} WHERE mutex IN ({})",
            self.table,
            places("?", count)
        )
    }
}

fn places(place: &str, count: usize) -> String {
    vec![place; count].join(",")
}

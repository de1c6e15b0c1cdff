//! Removing rows that no process has used for long.
//!
//! A version is the last one plus one, or the second in which it was granted
//! (see `statements`): so it tells that no process of ours took the mutex since,
//! and a new row begins with a larger one. Rows of JVM peers tell nothing of
//! their last use; peers make their row again when they need it.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Row as _};

use super::calls::millis;
use super::dialect::{Connection, MySql};
use super::statements::{NOW, SECONDS, SKIP, Statements};
use crate::error::Result;
use crate::model::FencingToken;
use crate::stores::sql::{Answers, Client, Removed, questions, text};

/// How many rows one statement removes: their locks are held for that long.
const TOGETHER: u64 = 500;

/// More would overflow the server's numbers.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// In two calls, each of which may lose a race and be sent again: what the
/// first has removed is counted once.
pub(super) async fn remove(
    client: &Client<MySql>,
    unused_for: Duration,
    ledgers: bool,
) -> Result<Removed> {
    let unused_for = unused_for.min(LONGEST);
    let ledgers = match ledgers {
        true => client.ask(RemoveLedgers { unused_for }).await?,
        false => 0,
    };
    let (found, rows) = client.ask(RemoveRows { unused_for }).await?;
    Ok(Removed {
        rows,
        ledgers,
        // Not if others keep what was found from being removed.
        more: (found == TOGETHER && rows > 0) || ledgers == TOGETHER,
    })
}

questions! {
    RemoveRows => (u64, u64), Writes;
    RemoveLedgers => u64, Writes;
}

/// Answers how many were found, and how many of them removed.
struct RemoveRows {
    unused_for: Duration,
}

impl Answers<RemoveRows> for MySql {
    async fn answer(&self, on: &mut Connection, asked: &RemoveRows) -> sqlx::Result<(u64, u64)> {
        let table = &self.statements.table;
        let seconds = asked.unused_for.as_secs();
        let is_old = format!("transition_at < {NOW} AND version + ? < {SECONDS}");
        // Found without a lock: the DELETE must not wait for a row that another
        // transaction holds and that is not old.
        let sql = format!("SELECT mutex FROM {table} WHERE {is_old} LIMIT {TOGETHER}");
        let found = sqlx::query(AssertSqlSafe(sql)).bind(seconds);
        let found = found.fetch_all(&mut *on).await?;
        if found.is_empty() {
            return Ok((0, 0));
        }
        let places = vec!["?"; found.len()].join(",");
        let sql = format!("DELETE FROM {table} WHERE {is_old} AND mutex IN ({places})");
        let mut query = sqlx::query(AssertSqlSafe(sql))
            .bind(seconds)
            .persistent(false);
        for row in &found {
            let name: Vec<u8> = row.try_get_unchecked("mutex")?;
            query = query.bind(text(Some(&name)));
        }
        let removed = query.execute(on).await?.rows_affected();
        Ok((found.len() as u64, removed))
    }
}

struct RemoveLedgers {
    unused_for: Duration,
}

impl Answers<RemoveLedgers> for MySql {
    async fn answer(&self, on: &mut Connection, asked: &RemoveLedgers) -> sqlx::Result<u64> {
        let millis = millis(asked.unused_for);
        let Statements {
            table, schedule, ..
        } = &self.statements;
        let per_grant = FencingToken::PER_GRANT;
        // A version that the clock has not passed yet was granted lately.
        let old = format!(
            "WHERE GREATEST(origin, due_at, COALESCE(finished_at, 0)) + ? \
             < {NOW} AND token DIV {per_grant} + ? DIV 1000 < {SECONDS} \
             AND name NOT IN (SELECT CONVERT(mutex USING utf8mb4) COLLATE utf8mb4_bin FROM {table} \
             WHERE transition_at >= {NOW}) LIMIT {TOGETHER}"
        );
        // One that is locked is being claimed: it stays, and the others do not
        // wait for it.
        let sql = match self.skips() {
            true => format!(
                "DELETE s FROM (SELECT name FROM {schedule} {old}{SKIP}) AS unlocked \
                 STRAIGHT_JOIN {schedule} AS s ON s.name = unlocked.name"
            ),
            false => format!("DELETE FROM {schedule} {old}"),
        };
        let query = sqlx::query(AssertSqlSafe(sql)).bind(millis).bind(millis);
        Ok(query.execute(on).await?.rows_affected())
    }
}

//! Removing rows that nobody has used for long.
//!
//! A version is the last one plus one, or the second in which it was granted
//! (see `statements`): so it tells that nobody of ours took the mutex since,
//! and a new row begins with a larger one. Rows of JVM peers tell nothing of
//! their last use; peers make their row again when they need it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::client::MySql;
use super::schema::Schedules;
use super::statements::{NOW, SECONDS, SKIP, Statements};
use crate::backend::{Bookmark, Prune, Pruned};
use crate::error::Result;
use crate::model::FencingToken;
use crate::stores::sql::{Ask, text};

/// How many rows one statement removes: their locks are held for that long.
const TOGETHER: u64 = 500;

/// More would overflow the server's numbers.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// There was more to remove.
struct More;

impl MySql {
    pub(super) async fn prune_step(&self, prune: &Prune) -> Result<Pruned> {
        let unused_for = prune.unused_for.min(LONGEST);
        let seconds = unused_for.as_secs();
        let mut ledgers = 0;
        if prune.schedules && self.has_ledgers().await? {
            let (to, millis) = (self.to(), super::calls::millis(unused_for));
            let skips = self.skips();
            ledgers = self.write(Ledgers { to, millis, skips }).await?;
        }
        let to = self.to();
        let (found, removed) = self.write(Rows { to, seconds }).await?;
        let pruned = Pruned::of(removed, ledgers);
        // Not if others keep what was found from being removed.
        if (found == TOGETHER && removed > 0) || ledgers == TOGETHER {
            return Ok(pruned.to_be_continued(Bookmark::new(More)));
        }
        Ok(pruned)
    }

    async fn has_ledgers(&self) -> Result<bool> {
        let found = self.read(super::schema::Inspect(self.to())).await?;
        Ok(found.schedule != Schedules::Missing)
    }
}

/// Answers how many were found, and how many of them removed.
struct Rows {
    to: Arc<Statements>,
    seconds: u64,
}

impl Ask<MySqlConnection> for Rows {
    type Reply = (u64, u64);

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<(u64, u64)> {
        let table = &self.to.table;
        let is_old = format!("transition_at < {NOW} AND version + ? < {SECONDS}");
        // Found without a lock: one row that somebody holds must not be waited
        // for by all.
        let sql = format!("SELECT mutex FROM {table} WHERE {is_old} LIMIT {TOGETHER}");
        let found = sqlx::query(AssertSqlSafe(sql)).bind(self.seconds);
        let found = found.fetch_all(&mut *connection).await?;
        if found.is_empty() {
            return Ok((0, 0));
        }
        let places = vec!["?"; found.len()].join(",");
        let sql = format!("DELETE FROM {table} WHERE {is_old} AND mutex IN ({places})");
        let mut query = sqlx::query(AssertSqlSafe(sql))
            .bind(self.seconds)
            .persistent(false);
        for row in &found {
            let name: Vec<u8> = row.try_get_unchecked("mutex")?;
            query = query.bind(text(Some(&name)));
        }
        let removed = query.execute(connection).await?.rows_affected();
        Ok((found.len() as u64, removed))
    }
}

/// Ledgers before rows: a row that is gone could not say that it is owned.
struct Ledgers {
    to: Arc<Statements>,
    millis: u64,
    skips: bool,
}

impl Ask<MySqlConnection> for Ledgers {
    type Reply = u64;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<u64> {
        let Statements {
            table, schedule, ..
        } = &*self.to;
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
        let sql = match self.skips {
            true => format!(
                "DELETE s FROM (SELECT name FROM {schedule} {old}{SKIP}) AS unlocked \
                 STRAIGHT_JOIN {schedule} AS s ON s.name = unlocked.name"
            ),
            false => format!("DELETE FROM {schedule} {old}"),
        };
        let query = sqlx::query(AssertSqlSafe(sql))
            .bind(self.millis)
            .bind(self.millis);
        Ok(query.execute(connection).await?.rows_affected())
    }
}

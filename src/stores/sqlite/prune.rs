//! Removing rows that no process has used for long.
//!
//! A version is the microsecond of its grant on the wall clock, or later; that
//! of a new row is the clock's. Both are read where no other can write, so
//! tokens rise over a removal while the wall clock does not go back by more
//! than the row was old. One that is ahead of the clock stays.

use rusqlite::params;

use super::error::failed;
use super::table::{LATEST_WALL_MICROS, Table, signed};
use crate::backend::{Bookmark, Prune, Pruned};
use crate::error::Result;
use crate::model::FencingToken;
use crate::stores::kit::wall;

/// How many rows go at a time: others wait for the file meanwhile.
const TOGETHER: usize = 500;

const ROWS: &str = "
DELETE FROM simba_mutex WHERE mutex IN (
    SELECT mutex FROM simba_mutex WHERE version < ?1
    AND NOT (owner_id <> '' AND boot_id = ?2 AND transition_at >= ?3) LIMIT ?4)";

const LEDGERS: &str = "
DELETE FROM tenure_schedule WHERE mutex IN (
    SELECT s.mutex FROM tenure_schedule AS s
    WHERE max(s.origin, s.due_at, coalesce(s.finished_at, 0)) < ?5 AND s.token / ?6 < ?1
    AND NOT EXISTS (SELECT 1 FROM simba_mutex AS m WHERE m.mutex = s.mutex
        AND m.owner_id <> '' AND m.boot_id = ?2 AND m.transition_at >= ?3) LIMIT ?4)";

/// There was more to remove.
struct More;

impl Table<'_> {
    /// [`Inventory::prune`](crate::backend::Inventory::prune).
    pub(super) fn prune(&self, prune: &Prune) -> Result<Pruned> {
        let number = |length: u128| u64::try_from(length).unwrap_or(u64::MAX);
        let wall = number(wall().as_micros());
        if wall >= LATEST_WALL_MICROS {
            // Versions do not follow such a clock.
            return Ok(Pruned::default());
        }
        let oldest = signed(wall.saturating_sub(number(prune.unused_for.as_micros())));
        let now = self.now.as_millis();
        let oldest_ms = signed(now.saturating_sub(number(prune.unused_for.as_millis())));
        let (now, most) = (signed(now), signed(TOGETHER as u64));
        let remove = || -> rusqlite::Result<(usize, usize)> {
            let mut ledgers = 0;
            if prune.schedules {
                // First: a row that is gone could not say that it is owned.
                let per_grant = signed(FencingToken::PER_GRANT);
                let old = params![oldest, self.boot_id, now, most, oldest_ms, per_grant];
                ledgers = self.connection.prepare_cached(LEDGERS)?.execute(old)?;
            }
            let old = params![oldest, self.boot_id, now, most];
            let rows = self.connection.prepare_cached(ROWS)?.execute(old)?;
            Ok((rows, ledgers))
        };
        let (rows, ledgers) = remove().map_err(failed)?;
        let pruned = Pruned::of(rows as u64, ledgers as u64);
        if rows == TOGETHER || ledgers == TOGETHER {
            return Ok(pruned.to_be_continued(Bookmark::new(More)));
        }
        Ok(pruned)
    }
}

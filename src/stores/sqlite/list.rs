//! Pages of mutexes, and rows that cannot be made out.
//!
//! The file is ours, and still people write it by hand: one row that holds
//! nonsense is shown as such beside the others.

use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};

use super::error::failed;
use super::table::{Table, signed};
use crate::backend::{Answer, Entry, Listing, Nonce, Page};
use crate::error::{Error, Result};
use crate::model::text::shown;
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};

/// Twice the longest lease that can be asked for.
pub(super) const LONGEST: Duration = Duration::from_secs(2 * 366 * 24 * 3600);

/// What is in use or damaged; `{}` is the range of names.
macro_rules! list {
    ($range:literal) => {
        concat!(
            "SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version, nonce \
             FROM simba_mutex WHERE ",
            $range,
            " AND (owner_id <> '' AND boot_id = ?2 AND transition_at >= ?3 \
             OR acquired_at < 0 OR ttl_at < 0 OR transition_at < 0 OR version < 0 OR version >= ?4) \
             ORDER BY mutex LIMIT ?5"
        )
    };
}

/// Names are bound as bytes: not all of them are text.
const FROM: &str = list!("mutex >= CAST(?1 AS TEXT)");
const AFTER: &str = list!("mutex > CAST(?1 AS TEXT)");
const ONE: &str = list!("mutex = CAST(?1 AS TEXT)");

/// A version that can be no token's begins again: no token was made of it.
const MEND: &str = "
UPDATE simba_mutex
SET acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = '', nonce = x'',
    version = CASE WHEN version < 0 OR version >= ?2 THEN 0 ELSE version END
WHERE mutex = CAST(?1 AS TEXT)";

/// The error of a contender that wants a mutex whose row is damaged: trying again does
/// not help.
pub(super) fn damaged(fault: &str) -> Error {
    Error::conflict(format!(
        "the row of this mutex in the SQLite file is damaged: {fault}; revoke it"
    ))
}

/// The error of a row that was read.
pub(super) fn unreadable(error: rusqlite::Error) -> Error {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    match error {
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => {
            damaged(&error.to_string())
        }
        error => match error.sqlite_error_code() {
            Some(_) => failed(error),
            None => damaged(&error.to_string()),
        },
    }
}

impl Table<'_> {
    /// [`Inventory::list`](crate::backend::Inventory::list).
    pub(super) fn list(&self, page: &Page) -> Result<Listing> {
        let mut entries = Vec::new();
        match (&page.names, &page.after) {
            (Some(names), _) => {
                for name in names.iter() {
                    entries.extend(self.lines(ONE, name.as_bytes(), 1)?);
                }
            }
            (None, Some(after)) => entries = self.lines(AFTER, after.as_bytes(), page.limit)?,
            (None, None) => entries = self.lines(FROM, b"", page.limit)?,
        }
        Ok(Listing::of(entries, page, self.now))
    }

    /// One more than `limit`.
    fn lines(&self, statement: &str, name: &[u8], limit: usize) -> Result<Vec<Entry>> {
        let limit = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let query = || {
            let mut statement = self.connection.prepare_cached(statement)?;
            let now = signed(self.now.as_millis());
            let wanted = params![
                name,
                self.boot_id,
                now,
                signed(FencingToken::STORE_LIMIT),
                limit
            ];
            let rows = statement.query_map(wanted, |row| Ok(self.line(row)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        query().map_err(failed)
    }

    /// One row, whatever it holds.
    fn line(&self, row: &Row<'_>) -> Entry {
        let bytes = |at| match row.get_ref(at) {
            Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.to_vec(),
            _ => Vec::new(),
        };
        let name = MutexName::found(bytes(0));
        let number = |at: usize| {
            row.get::<_, i64>(at)
                .ok()
                .and_then(|n| u64::try_from(n).ok())
        };
        let numbers = (number(2), number(3), number(4), number(5));
        let (Some(acquired_at), Some(ttl_at), Some(transition_at), Some(version)) = numbers else {
            return Entry::damaged(name, "a time or version of it is negative; revoke it");
        };
        let Ok(token) = FencingToken::from_store(version) else {
            let fault = format!("its version is {version}, and tokens end below 2^53; revoke it");
            return Entry::damaged(name, fault);
        };
        let owner = bytes(1);
        let id = match std::str::from_utf8(&owner).map(ContenderId::new) {
            Ok(Ok(id)) => id,
            other => {
                let why = match other {
                    Ok(Err(error)) => error.to_string(),
                    _ => format!("{:?} is no UTF-8 text", shown(&owner)),
                };
                let fault = format!("its owner has an id that is not valid here: {why}; revoke it");
                return Entry::damaged(name, fault);
            }
        };
        let at = StoreTime::from_millis;
        let left = at(transition_at).since(self.now);
        if left > LONGEST {
            let days = left.as_secs() / (24 * 3600);
            let fault = format!(
                "it is owned by {id:?} for another {days} days, longer than any lease; revoke it"
            );
            return Entry::damaged(name, fault);
        }
        if acquired_at > transition_at {
            let fault = format!("it is owned by {id:?} from a time after its end; revoke it");
            return Entry::damaged(name, fault);
        }
        let owner = MutexOwner::new(id, at(acquired_at), at(ttl_at), at(transition_at));
        let nonce = <[u8; 16]>::try_from(bytes(6)).ok();
        let nonce = nonce.map(|bytes| Nonce::from_bits(u128::from_be_bytes(bytes)));
        Entry::new(name, owner.with_token(token), Some(token))
            .wanted_for(nonce.and_then(Nonce::purpose))
    }

    /// Makes a damaged row a free one; `None` when it is not damaged.
    pub(super) fn mend(&self, name: &MutexName) -> Result<Option<Answer>> {
        let lines = self.lines(ONE, name.as_bytes(), 1)?;
        let is_damaged = lines.first().is_some_and(|entry| entry.fault.is_some());
        if !is_damaged && std::str::from_utf8(name.as_bytes()).is_ok() {
            return Ok(None);
        }
        let exists = || {
            let sql = "SELECT 1 FROM simba_mutex WHERE mutex = CAST(?1 AS TEXT)";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement
                .query_row([name.as_bytes()], |_| Ok(()))
                .optional()
        };
        if exists().map_err(failed)?.is_none() || !is_damaged {
            return Ok(Some(Answer::refused(MutexOwner::NONE, self.now)));
        }
        let limit = signed(FencingToken::STORE_LIMIT);
        self.change(MEND, params![name.as_bytes(), limit])?;
        Ok(Some(Answer::won(MutexOwner::NONE, self.now)))
    }
}

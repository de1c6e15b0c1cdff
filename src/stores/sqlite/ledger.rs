//! The ledgers of schedules.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{OptionalExtension, Row, params};

use super::error::failed;
use super::table::{Table, signed};
use crate::backend::{
    Claim, ClaimAnswer, Held, LedgerEntry, LedgerLine, Ledgers, Page, TickEnd, TickState,
};
use crate::error::Result;
use crate::model::{FencingToken, MutexName, StoreTime};

macro_rules! read {
    ($which:literal) => {
        concat!(
            "SELECT plan, origin, last_tick, due_at, token, state, finished_at, run, mutex \
             FROM tenure_schedule WHERE ",
            $which
        )
    };
}

const READ: &str = read!("mutex = ?1");

/// Names are bound as bytes: not all of them are text.
const FROM: &str = read!("mutex >= CAST(?1 AS TEXT) ORDER BY mutex LIMIT ?2");
const AFTER: &str = read!("mutex > CAST(?1 AS TEXT) ORDER BY mutex LIMIT ?2");
const ONE: &str = read!("mutex = CAST(?1 AS TEXT) LIMIT ?2");

const CLAIM: &str = "
INSERT OR REPLACE INTO tenure_schedule
    (mutex, plan, origin, last_tick, due_at, token, state, finished_at, run)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8)";

const FINISH: &str = "
UPDATE tenure_schedule SET state = ?2, finished_at = ?3, run = coalesce(?4, run)
WHERE mutex = ?1";

impl Table<'_> {
    /// [`Ledger::read_ledger`](crate::backend::Ledger::read_ledger).
    pub(super) fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        let read = || {
            let mut statement = self.connection.prepare_cached(READ)?;
            statement.query_row([name.as_str()], entry).optional()
        };
        read().map_err(failed)
    }

    /// [`Ledger::claim_tick`](crate::backend::Ledger::claim_tick).
    pub(super) fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        if !self.holds(held)? {
            return Ok(ClaimAnswer::NotOwner);
        }
        let ledger = self.read_ledger(&held.name)?;
        if let Some(entry) = &ledger
            && !claim.fits(ledger.as_ref(), held.token)
        {
            return Ok(ClaimAnswer::Refused(entry.clone()));
        }
        let row = params![
            held.name.as_str(),
            claim.plan,
            signed(claim.origin.as_millis()),
            signed(claim.tick),
            signed(claim.due_at.as_millis()),
            signed(held.token.value()),
            claim.state().word(),
            LedgerEntry::claimed(claim, held.token).note()
        ];
        self.change(CLAIM, row)?;
        Ok(ClaimAnswer::Claimed)
    }

    /// [`Ledger::finish_tick`](crate::backend::Ledger::finish_tick).
    pub(super) fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let ledger = self.read_ledger(&held.name)?;
        let ours = ledger.is_some_and(|entry| entry.ends_with(end, held.token));
        if ours {
            let row = params![
                held.name.as_str(),
                end.state().word(),
                signed(self.now.as_millis()),
                end.note(held.token)
            ];
            self.change(FINISH, row)?;
        }
        Ok(ours)
    }

    /// [`Ledger::list_ledgers`](crate::backend::Ledger::list_ledgers).
    pub(super) fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        let mut lines = Vec::new();
        match (&page.names, &page.after) {
            (Some(names), _) => {
                for name in names.iter() {
                    lines.extend(self.ledger_lines(ONE, name.as_bytes(), 0)?);
                }
            }
            (None, Some(after)) => {
                lines = self.ledger_lines(AFTER, after.as_bytes(), page.limit)?;
            }
            (None, None) => lines = self.ledger_lines(FROM, b"", page.limit)?,
        }
        Ok(Ledgers::of(lines, page, self.now))
    }

    /// One more than `limit`.
    fn ledger_lines(&self, statement: &str, name: &[u8], limit: usize) -> Result<Vec<LedgerLine>> {
        let limit = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let query = || {
            let mut statement = self.connection.prepare_cached(statement)?;
            let rows = statement.query_map(params![name, limit], |row| Ok(line(row)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        query().map_err(failed)
    }
}

/// One row, whatever it holds.
fn line(row: &Row<'_>) -> LedgerLine {
    let name = match row.get_ref(8) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => MutexName::found(bytes),
        _ => MutexName::found(b""),
    };
    match entry(row) {
        Ok(entry) => LedgerLine::new(name, entry),
        Err(error) => {
            let fault = format!(
                "its row in tenure_schedule cannot be made out ({error}): delete the row, and the \
                 schedule begins anew"
            );
            LedgerLine::damaged(name, fault)
        }
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<LedgerEntry> {
    let number = |index: usize| {
        let number: i64 = row.get(index)?;
        u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, number))
    };
    let nonsense = |index, text: &str, kind| {
        rusqlite::Error::FromSqlConversionFailure(index, kind, text.to_owned().into())
    };
    let state: String = row.get(5)?;
    let state =
        TickState::of_word(&state).ok_or_else(|| nonsense(5, "no state of a tick", Type::Text))?;
    let token = FencingToken::from_value(number(4)?);
    let finished_at: Option<i64> = row.get(6)?;
    let entry = LedgerEntry {
        plan: row.get::<_, String>(0)?.into(),
        origin: StoreTime::from_millis(number(1)?),
        last_tick: number(2)?,
        due_at: StoreTime::from_millis(number(3)?),
        token: token.map_err(|_| nonsense(4, "no token", Type::Integer))?,
        state,
        finished_at: finished_at
            .map(|_| number(6))
            .transpose()?
            .map(StoreTime::from_millis),
        begun_at: None,
    };
    // For people: it spoils nothing when it is nonsense.
    let note = row.get::<_, Option<String>>(7).ok().flatten();
    Ok(entry.with_note(&note.unwrap_or_default()))
}

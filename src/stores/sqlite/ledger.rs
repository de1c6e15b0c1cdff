//! The ledgers of schedules.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};

use super::error::failed;
use super::table::{Table, signed};
use crate::backend::{Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use crate::error::Result;
use crate::model::{FencingToken, MutexName, StoreTime};

const READ: &str = "
SELECT plan, origin, last_tick, due_at, token, state, finished_at
FROM tenure_schedule WHERE mutex = ?1";

const CLAIM: &str = "
INSERT OR REPLACE INTO tenure_schedule
    (mutex, plan, origin, last_tick, due_at, token, state, finished_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)";

const FINISH: &str = "UPDATE tenure_schedule SET state = ?2, finished_at = ?3 WHERE mutex = ?1";

impl Table<'_> {
    /// [`Backend::read_ledger`](crate::backend::Backend::read_ledger).
    pub(super) fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        let read = || {
            let mut statement = self.connection.prepare_cached(READ)?;
            statement.query_row([name.as_str()], entry).optional()
        };
        read().map_err(failed)
    }

    /// [`Backend::claim_tick`](crate::backend::Backend::claim_tick).
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
            claim.state().word()
        ];
        self.change(CLAIM, row)?;
        Ok(ClaimAnswer::Claimed)
    }

    /// [`Backend::finish_tick`](crate::backend::Backend::finish_tick).
    pub(super) fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let ledger = self.read_ledger(&held.name)?;
        let ours = ledger.is_some_and(|entry| entry.ends_with(end, held.token));
        if ours {
            let row = params![
                held.name.as_str(),
                end.state().word(),
                signed(self.now.as_millis())
            ];
            self.change(FINISH, row)?;
        }
        Ok(ours)
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
    Ok(LedgerEntry {
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
    })
}

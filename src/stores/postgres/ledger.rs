//! The run ledger: one row per schedule, written only while its claimer owns.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::statements::Statements;
use super::wire::{Value, Wire};
use crate::backend::{Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use crate::model::{FencingToken, MutexName, StoreTime};
use crate::stores::sql::Ask;

pub(super) struct Read(
    pub(super) Arc<Statements>,
    pub(super) Wire,
    pub(super) MutexName,
);

impl Ask<PgConnection> for Read {
    type Reply = Option<LedgerEntry>;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Reply> {
        read(connection, self.1, &self.0, &self.2).await
    }
}

async fn read(
    connection: &mut PgConnection,
    wire: Wire,
    to: &Statements,
    name: &MutexName,
) -> sqlx::Result<Option<LedgerEntry>> {
    let rows = wire
        .rows(connection, &to.ledger().read, vec![name.as_str().into()])
        .await?;
    rows.first().map(entry).transpose()
}

pub(super) fn entry(row: &PgRow) -> sqlx::Result<LedgerEntry> {
    let number = |column: &str| {
        let number: i64 = row.try_get(column)?;
        Ok::<_, sqlx::Error>(u64::try_from(number).unwrap_or(0))
    };
    let time = |column: &str| number(column).map(StoreTime::from_millis);
    let plan: String = row.try_get("plan")?;
    let token = FencingToken::from_value(number("token")?);
    let token = token.map_err(|error| sqlx::Error::Decode(error.into()))?;
    let claim = Claim::new(plan, time("origin")?, number("last_tick")?, time("due_at")?);
    let finished_at: Option<i64> = row.try_get("finished_at")?;
    let state: String = row.try_get("state")?;
    let mut entry = LedgerEntry::claimed(&claim, token);
    entry.finished_at =
        finished_at.map(|at| StoreTime::from_millis(u64::try_from(at).unwrap_or(0)));
    entry.state = TickState::of_word(&state).unwrap_or(TickState::Claimed);
    let note: Option<String> = row.try_get("run")?;
    Ok(entry.with_note(&note.unwrap_or_default()))
}

/// How often a claim is made again whose refusal the ledger does not explain:
/// somebody wrote it in between.
const TRIES: usize = 4;

/// Claims in one statement: claims of one schedule come one after the other,
/// in the order of their tokens, and only from its owner.
pub(super) struct Start {
    pub(super) to: Arc<Statements>,
    pub(super) wire: Wire,
    pub(super) held: Held,
    pub(super) claim: Claim,
}

impl Start {
    fn values(&self) -> Vec<Value> {
        let Self { held, claim, .. } = self;
        vec![
            held.name.as_str().into(),
            held.contender.as_str().into(),
            held.token.store().into(),
            Value::Text(held.nonce.to_string()),
            (&*claim.plan).into(),
            claim.origin.as_millis().into(),
            claim.tick.into(),
            claim.due_at.as_millis().into(),
            held.token.value().into(),
            Value::Flag(claim.replace_plan),
            Value::Flag(claim.again && !claim.only_plan),
            claim.state().word().into(),
            Value::Flag(claim.only_plan),
            note(LedgerEntry::claimed(claim, held.token).note()),
        ]
    }
}

impl Ask<PgConnection> for Start {
    type Reply = ClaimAnswer;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<ClaimAnswer> {
        let Self { to, wire, held, .. } = self;
        for _ in 0..TRIES {
            let rows = wire
                .rows(connection, &to.ledger().claim, self.values())
                .await?;
            let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
            if row.try_get("claimed")? {
                return Ok(ClaimAnswer::Claimed);
            }
            if !row.try_get::<bool, _>("owns")? {
                return Ok(ClaimAnswer::NotOwner);
            }
            let ledger = read(connection, *wire, to, &held.name).await?;
            match ledger {
                Some(entry) if !self.claim.fits(Some(&entry), held.token) => {
                    return Ok(ClaimAnswer::Refused(entry));
                }
                _ => {}
            }
        }
        Err(sqlx::Error::Protocol(
            "the ledger changed under every claim".into(),
        ))
    }
}

/// Records an end; false when somebody else has claimed since.
pub(super) struct Finish {
    pub(super) to: Arc<Statements>,
    pub(super) wire: Wire,
    pub(super) held: Held,
    pub(super) end: TickEnd,
}

impl Ask<PgConnection> for Finish {
    type Reply = bool;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        let values = vec![
            self.end.state().word().into(),
            self.held.name.as_str().into(),
            self.end.tick.into(),
            self.held.token.value().into(),
            note(self.end.note(self.held.token)),
        ];
        let finish = &self.to.ledger().finish;
        let rows = self.wire.rows(connection, finish, values).await?;
        Ok(!rows.is_empty())
    }
}

/// A note about a run; none is empty.
fn note(note: Option<String>) -> Value {
    Value::Text(note.unwrap_or_default())
}

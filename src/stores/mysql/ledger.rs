//! The run ledger: one row per schedule, written only while its claimer owns.

use std::sync::Arc;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::statements::Statements;
use crate::backend::{Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use crate::model::{FencingToken, MutexName, StoreTime};
use crate::stores::sql::Ask;

pub(super) struct Read(pub(super) Arc<Statements>, pub(super) MutexName);

impl Ask<MySqlConnection> for Read {
    type Reply = Option<LedgerEntry>;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Self::Reply> {
        read(connection, &self.0, &self.1).await
    }
}

async fn read(
    connection: &mut MySqlConnection,
    to: &Statements,
    name: &MutexName,
) -> sqlx::Result<Option<LedgerEntry>> {
    let row = sqlx::query(AssertSqlSafe(Arc::clone(&to.read_ledger)))
        .bind(name.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(entry).transpose()
}

fn entry(row: &MySqlRow) -> sqlx::Result<LedgerEntry> {
    let time = |column: &str| row.try_get(column).map(StoreTime::from_millis);
    let plan: String = row.try_get("plan")?;
    let token = FencingToken::from_value(row.try_get("token")?);
    let token = token.map_err(|error| sqlx::Error::Decode(error.into()))?;
    let claim = Claim::new(
        plan,
        time("origin")?,
        row.try_get("last_tick")?,
        time("due_at")?,
    );
    let finished_at: Option<u64> = row.try_get("finished_at")?;
    let state: String = row.try_get("state")?;
    let mut entry = LedgerEntry::claimed(&claim, token);
    entry.finished_at = finished_at.map(StoreTime::from_millis);
    entry.state = TickState::of_word(&state).unwrap_or(TickState::Claimed);
    Ok(entry)
}

/// Claims in a transaction that holds the claimer's row: claims of one
/// schedule come one after the other, and only from its owner.
pub(super) struct Start {
    pub(super) to: Arc<Statements>,
    pub(super) held: Held,
    pub(super) claim: Claim,
}

impl Ask<MySqlConnection> for Start {
    type Reply = ClaimAnswer;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<ClaimAnswer> {
        let Self { to, held, claim } = self;
        let mut transaction = connection.begin().await?;
        let owns = sqlx::query(AssertSqlSafe(Arc::clone(&to.hold)))
            .bind(held.name.as_str())
            .bind(held.name.as_str())
            .bind(held.contender.as_str())
            .bind(held.token.store())
            .fetch_optional(&mut *transaction)
            .await?;
        if owns.is_none() {
            transaction.rollback().await?;
            return Ok(ClaimAnswer::NotOwner);
        }
        let ledger = read(&mut transaction, to, &held.name).await?;
        if let Some(entry) = &ledger
            && !claim.fits(ledger.as_ref(), held.token)
        {
            transaction.rollback().await?;
            return Ok(ClaimAnswer::Refused(entry.clone()));
        }
        sqlx::query(AssertSqlSafe(Arc::clone(&to.write_ledger)))
            .bind(held.name.as_str())
            .bind(&*claim.plan)
            .bind(claim.origin.as_millis())
            .bind(claim.tick)
            .bind(claim.due_at.as_millis())
            .bind(held.token.value())
            .bind(claim.state().word())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(ClaimAnswer::Claimed)
    }
}

/// Records an end; false when somebody else has claimed since.
pub(super) struct Finish {
    pub(super) to: Arc<Statements>,
    pub(super) held: Held,
    pub(super) end: TickEnd,
}

impl Ask<MySqlConnection> for Finish {
    type Reply = bool;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let state = if self.end.done { "done" } else { "failed" };
        let done = sqlx::query(AssertSqlSafe(Arc::clone(&self.to.finish)))
            .bind(state)
            .bind(self.held.name.as_str())
            .bind(self.end.tick)
            .bind(self.held.token.value())
            .execute(connection)
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

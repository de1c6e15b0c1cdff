//! The run ledger: one row per schedule, written only while its claimer owns.

use std::sync::Arc;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::calls::is_duplicate;
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
    let row = sqlx::query(AssertSqlSafe(Arc::clone(&to.ledger().read)))
        .bind(name.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(entry).transpose()
}

pub(super) fn entry(row: &MySqlRow) -> sqlx::Result<LedgerEntry> {
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
    let note: Option<String> = row.try_get("run")?;
    Ok(entry.with_note(&note.unwrap_or_default()))
}

/// How often a claim is made again whose refusal the ledger does not explain:
/// somebody wrote it in between.
const TRIES: usize = 4;

/// Claims, each time in one statement: claims of one schedule come one after
/// the other, in the order of their tokens, and only from its owner.
pub(super) struct Start {
    pub(super) to: Arc<Statements>,
    pub(super) held: Held,
    pub(super) claim: Claim,
}

impl Start {
    /// Over an earlier claim; whether it was possible.
    async fn next(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let Self { to, held, claim } = self;
        let query = sqlx::query(AssertSqlSafe(Arc::clone(&to.ledger().claim)))
            .bind(&*claim.plan)
            .bind(claim.origin.as_millis())
            .bind(claim.tick)
            .bind(claim.due_at.as_millis())
            .bind(held.token.value())
            .bind(claim.state().word());
        let query = self
            .with_note(query)
            .bind(held.name.as_str())
            .bind(&*claim.plan)
            .bind(claim.only_plan)
            .bind(claim.replace_plan)
            .bind(claim.tick)
            .bind(claim.tick)
            .bind(held.token.value())
            .bind(claim.again && !claim.only_plan)
            .bind(claim.tick)
            .bind(held.token.value());
        let done = self.of_grant(query).execute(connection).await?;
        Ok(done.rows_affected() > 0)
    }

    /// The first of its schedule; whether it is.
    async fn first(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let Self { to, held, claim } = self;
        let query = sqlx::query(AssertSqlSafe(Arc::clone(&to.ledger().claim_first)))
            .bind(held.name.as_str())
            .bind(&*claim.plan)
            .bind(claim.origin.as_millis())
            .bind(claim.tick)
            .bind(claim.due_at.as_millis())
            .bind(held.token.value())
            .bind(claim.state().word());
        let query = self.with_note(query);
        match self.of_grant(query).execute(connection).await {
            Ok(done) => Ok(done.rows_affected() > 0),
            Err(error) if is_duplicate(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn owns(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let query = sqlx::query(AssertSqlSafe(Arc::clone(&self.to.owns)));
        let row = self.of_grant(query).fetch_one(connection).await?;
        Ok(row.try_get::<i64, _>(0)? > 0)
    }

    /// The note about the run, where the table has room for it.
    fn with_note<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        let note = LedgerEntry::claimed(&self.claim, self.held.token).note();
        match self.to.ledger().notes {
            true => query.bind(note),
            false => query,
        }
    }

    fn of_grant<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        let held = &self.held;
        query
            .bind(held.name.as_str())
            .bind(held.name.as_str())
            .bind(held.contender.as_str())
            .bind(held.token.store())
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::MySql, sqlx::mysql::MySqlArguments>;

impl Ask<MySqlConnection> for Start {
    type Reply = ClaimAnswer;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<ClaimAnswer> {
        for _ in 0..TRIES {
            if self.next(connection).await? {
                return Ok(ClaimAnswer::Claimed);
            }
            let ledger = read(connection, &self.to, &self.held.name).await?;
            if !self.owns(connection).await? {
                return Ok(ClaimAnswer::NotOwner);
            }
            match ledger {
                None if self.first(connection).await? => return Ok(ClaimAnswer::Claimed),
                Some(entry) if !self.claim.fits(Some(&entry), self.held.token) => {
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
    pub(super) held: Held,
    pub(super) end: TickEnd,
}

impl Ask<MySqlConnection> for Finish {
    type Reply = bool;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        let statements = self.to.ledger();
        let mut query = sqlx::query(AssertSqlSafe(Arc::clone(&statements.finish)))
            .bind(self.end.state().word());
        if statements.notes {
            query = query.bind(self.end.note(self.held.token));
        }
        let done = query
            .bind(self.held.name.as_str())
            .bind(self.end.tick)
            .bind(self.held.token.value())
            .execute(connection)
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

//! The run ledger: one row per schedule, written only while its claimer owns.

use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::calls::{Query, is_duplicate, number, query};
use super::dialect::{Connection, MySql};
use super::statements::Statements;
use crate::backend::{ClaimAnswer, LedgerEntry};
use crate::model::{MutexName, StoreTime};
use crate::stores::sql::{
    Answers, CLAIM_TRIES, ClaimTick, FinishTick, LedgerRow, LedgerRows, ListLedgers, ReadLedger,
    ledger_line, text, unexplained,
};

impl Answers<ReadLedger> for MySql {
    async fn answer(
        &self,
        on: &mut Connection,
        ReadLedger(name): &ReadLedger,
    ) -> sqlx::Result<Option<LedgerEntry>> {
        read(on, &self.statements, name).await
    }
}

async fn read(
    on: &mut Connection,
    to: &Statements,
    name: &MutexName,
) -> sqlx::Result<Option<LedgerEntry>> {
    let read = query(&to.ledger().read).bind(name.as_str());
    let row = read.fetch_optional(on).await?;
    row.as_ref().map(entry).transpose()
}

fn entry(row: &MySqlRow) -> sqlx::Result<LedgerEntry> {
    let row = LedgerRow {
        plan: row.try_get("plan")?,
        origin: row.try_get("origin")?,
        last_tick: row.try_get("last_tick")?,
        due_at: row.try_get("due_at")?,
        token: row.try_get("token")?,
        state: row.try_get("state")?,
        finished_at: row.try_get("finished_at")?,
        run: row.try_get("run")?,
    };
    row.entry()
}

impl Answers<ListLedgers> for MySql {
    async fn answer(&self, on: &mut Connection, list: &ListLedgers) -> sqlx::Result<LedgerRows> {
        let to = &self.statements;
        let query = match list {
            ListLedgers::After(Some(after), most) => {
                query(&to.ledger().list).bind(after.as_str()).bind(*most)
            }
            ListLedgers::After(None, most) => query(&to.ledger().list_first).bind(*most),
            ListLedgers::Of(names) => {
                let sql = to.ledger().find_many(&to.schedule, names.len());
                let query = sqlx::query(AssertSqlSafe(sql)).persistent(false);
                names
                    .iter()
                    .fold(query, |query, name| query.bind(name.as_str()))
            }
        };
        let rows = query.fetch_all(on).await?;
        let now = rows.first().map(|row| number(row, "now")).transpose()?;
        let line = |row: &MySqlRow| {
            let name: Vec<u8> = row.try_get_unchecked("name")?;
            Ok(ledger_line(&text(Some(&name)), &to.schedule, entry(row)))
        };
        Ok(LedgerRows {
            lines: rows.iter().map(line).collect::<sqlx::Result<_>>()?,
            now: now.map(StoreTime::from_millis),
        })
    }
}

/// A claim, and the statements that it takes: each by itself, so that nothing
/// is held while its claimer is away.
struct Claiming<'c> {
    to: &'c Statements,
    asked: &'c ClaimTick,
}

impl Claiming<'_> {
    /// Over an earlier claim; whether it was possible.
    async fn next(&self, on: &mut Connection) -> sqlx::Result<bool> {
        let ClaimTick { held, claim } = self.asked;
        let query = query(&self.to.ledger().claim)
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
        let done = self.of_grant(query).execute(on).await?;
        Ok(done.rows_affected() > 0)
    }

    /// The first of its schedule; whether it is.
    async fn first(&self, on: &mut Connection) -> sqlx::Result<bool> {
        let ClaimTick { held, claim } = self.asked;
        let query = query(&self.to.ledger().claim_first)
            .bind(held.name.as_str())
            .bind(&*claim.plan)
            .bind(claim.origin.as_millis())
            .bind(claim.tick)
            .bind(claim.due_at.as_millis())
            .bind(held.token.value())
            .bind(claim.state().word());
        let query = self.with_note(query);
        match self.of_grant(query).execute(on).await {
            Ok(done) => Ok(done.rows_affected() > 0),
            Err(error) if is_duplicate(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn owns(&self, on: &mut Connection) -> sqlx::Result<bool> {
        let query = self.of_grant(query(&self.to.owns));
        let row = query.fetch_one(on).await?;
        Ok(row.try_get::<i64, _>(0)? > 0)
    }

    /// The note about the run, where the table has room for it.
    fn with_note<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        let ClaimTick { held, claim } = self.asked;
        let note = LedgerEntry::claimed(claim, held.token).note();
        match self.to.ledger().notes {
            true => query.bind(note),
            false => query,
        }
    }

    fn of_grant<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        let held = &self.asked.held;
        query
            .bind(held.name.as_str())
            .bind(held.name.as_str())
            .bind(held.contender.as_str())
            .bind(held.token.store())
    }
}

impl Answers<ClaimTick> for MySql {
    async fn answer(&self, on: &mut Connection, asked: &ClaimTick) -> sqlx::Result<ClaimAnswer> {
        let to = &self.statements;
        let claiming = Claiming { to, asked };
        let ClaimTick { held, claim } = asked;
        for _ in 0..CLAIM_TRIES {
            if claiming.next(on).await? {
                return Ok(ClaimAnswer::Claimed);
            }
            let ledger = read(on, to, &held.name).await?;
            if !claiming.owns(on).await? {
                return Ok(ClaimAnswer::NotOwner);
            }
            match ledger {
                None if claiming.first(on).await? => return Ok(ClaimAnswer::Claimed),
                Some(entry) if !claim.fits(Some(&entry), held.token) => {
                    return Ok(ClaimAnswer::Refused(entry));
                }
                _ => {}
            }
        }
        Err(unexplained())
    }
}

impl Answers<FinishTick> for MySql {
    async fn answer(
        &self,
        on: &mut Connection,
        FinishTick { held, end }: &FinishTick,
    ) -> sqlx::Result<bool> {
        let statements = self.statements.ledger();
        let mut query = query(&statements.finish).bind(end.state().word());
        if statements.notes {
            query = query.bind(end.note(held.token));
        }
        let done = query
            .bind(held.name.as_str())
            .bind(end.tick)
            .bind(held.token.value())
            .execute(on)
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

//! The run ledger: one row per schedule, written only while its claimer owns.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::calls::{number, text_of};
use super::dialect::{Connection, Postgres};
use super::wire::Value;
use crate::backend::{ClaimAnswer, LedgerEntry, LedgerLine};
use crate::model::{MutexName, StoreTime};
use crate::stores::sql::{
    Answers, CLAIM_TRIES, ClaimTick, FinishTick, LedgerRow, LedgerRows, ListLedgers, ReadLedger,
    ledger_line, unexplained,
};

impl Answers<ReadLedger> for Postgres {
    async fn answer(
        &self,
        on: &mut Connection,
        ReadLedger(name): &ReadLedger,
    ) -> sqlx::Result<Option<LedgerEntry>> {
        self.read(on, name).await
    }
}

impl Postgres {
    async fn read(
        &self,
        on: &mut Connection,
        name: &MutexName,
    ) -> sqlx::Result<Option<LedgerEntry>> {
        let (read, name) = (&self.statements.ledger().read, name.as_str().into());
        let rows = self.wire.rows(on, read, &[name]).await?;
        rows.first().map(entry).transpose()
    }
}

fn entry(row: &PgRow) -> sqlx::Result<LedgerEntry> {
    let natural = |number: i64| u64::try_from(number).unwrap_or(0);
    let number = |column: &str| row.try_get(column).map(natural);
    let finished_at: Option<i64> = row.try_get("finished_at")?;
    let row = LedgerRow {
        plan: row.try_get("plan")?,
        origin: number("origin")?,
        last_tick: number("last_tick")?,
        due_at: number("due_at")?,
        token: number("token")?,
        state: row.try_get("state")?,
        finished_at: finished_at.map(natural),
        run: row.try_get("run")?,
    };
    row.entry()
}

impl Answers<ListLedgers> for Postgres {
    async fn answer(&self, on: &mut Connection, list: &ListLedgers) -> sqlx::Result<LedgerRows> {
        let to = self.statements.ledger();
        let (sql, values) = match list {
            ListLedgers::After(after, most) => {
                let after = after.as_ref().map_or("", MutexName::as_str);
                (&to.list, vec![after.into(), (*most).into()])
            }
            ListLedgers::Of(names) => {
                let names = names.iter().map(|name| name.as_str().into());
                (&to.find_many, vec![Value::Texts(names.collect())])
            }
        };
        let rows = self.wire.rows(on, sql, &values).await?;
        let now = rows.first().map(|row| number(row, "now")).transpose()?;
        let line = |row| self.line(row).transpose();
        Ok(LedgerRows {
            lines: rows.iter().filter_map(line).collect::<sqlx::Result<_>>()?,
            now: now.map(StoreTime::from_millis),
        })
    }
}

impl Postgres {
    /// `None` of a row that has the time alone.
    fn line(&self, row: &PgRow) -> sqlx::Result<Option<LedgerLine>> {
        let name = text_of(row, "name")?;
        let line = |name: String| ledger_line(&name, &self.statements.schedule, entry(row));
        Ok(name.map(line))
    }
}

fn values(ClaimTick { held, claim }: &ClaimTick) -> Vec<Value<'_>> {
    vec![
        held.name.as_str().into(),
        held.contender.as_str().into(),
        held.token.store().into(),
        held.nonce.to_string().into(),
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

impl Answers<ClaimTick> for Postgres {
    async fn answer(&self, on: &mut Connection, asked: &ClaimTick) -> sqlx::Result<ClaimAnswer> {
        let sql = &self.statements.ledger().claim;
        let ClaimTick { held, claim } = asked;
        for _ in 0..CLAIM_TRIES {
            let rows = self.wire.rows(on, sql, &values(asked)).await?;
            let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
            if row.try_get("claimed")? {
                return Ok(ClaimAnswer::Claimed);
            }
            if !row.try_get::<bool, _>("owns")? {
                return Ok(ClaimAnswer::NotOwner);
            }
            match self.read(on, &held.name).await? {
                Some(entry) if !claim.fits(Some(&entry), held.token) => {
                    return Ok(ClaimAnswer::Refused(entry));
                }
                _ => {}
            }
        }
        Err(unexplained())
    }
}

impl Answers<FinishTick> for Postgres {
    async fn answer(
        &self,
        on: &mut Connection,
        FinishTick { held, end }: &FinishTick,
    ) -> sqlx::Result<bool> {
        let values = vec![
            end.state().word().into(),
            held.name.as_str().into(),
            end.tick.into(),
            held.token.value().into(),
            note(end.note(held.token)),
        ];
        let finish = &self.statements.ledger().finish;
        let rows = self.wire.rows(on, finish, &values).await?;
        Ok(!rows.is_empty())
    }
}

/// A note about a run; none is empty.
fn note<'v>(note: Option<String>) -> Value<'v> {
    note.unwrap_or_default().into()
}

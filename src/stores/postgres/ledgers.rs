//! Pages of ledgers.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::calls::text_of;
use super::client::Postgres;
use super::ledger::entry;
use super::statements::Statements;
use super::wire::{Value, Wire};
use crate::backend::{LedgerLine, Ledgers, Page};
use crate::error::{ErrorKind, Result};
use crate::model::{MutexName, StoreTime};
use crate::stores::sql::{Ask, damaged_ledger};

impl Postgres {
    pub(super) async fn ledgers(&self, page: &Page) -> Result<Ledgers> {
        let (to, wire) = (Arc::clone(self.statements()), self.wire());
        let (statement, values) = match &page.names {
            Some(names) => {
                let names = names.iter().map(|name| name.as_str().to_owned());
                let values = vec![Value::Texts(names.collect())];
                (Arc::clone(&to.ledger().find_many), values)
            }
            None => {
                let after = page.after.as_ref().map_or("", MutexName::as_str);
                let most = page.limit.saturating_add(1) as u64;
                (
                    Arc::clone(&to.ledger().list),
                    vec![after.into(), most.into()],
                )
            }
        };
        let list = List {
            to,
            wire,
            statement,
            values,
        };
        match self.read(list).await {
            Ok((lines, now)) => Ok(Ledgers::of(lines, page, now)),
            // Nobody could make the table: nothing was ever scheduled.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Ledgers::of(Vec::new(), page, StoreTime::ZERO))
            }
            Err(error) => Err(error),
        }
    }
}

struct List {
    to: Arc<Statements>,
    wire: Wire,
    statement: Arc<str>,
    values: Vec<Value>,
}

impl Ask<PgConnection> for List {
    type Reply = (Vec<LedgerLine>, StoreTime);

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Reply> {
        let values = self.values.clone();
        let rows = self.wire.rows(connection, &self.statement, values).await?;
        let now = rows.first().map(|row| row.try_get::<i64, _>("now"));
        let now = u64::try_from(now.transpose()?.unwrap_or(0)).unwrap_or(0);
        let mut lines = Vec::with_capacity(rows.len());
        for row in &rows {
            lines.extend(self.line(row)?);
        }
        Ok((lines, StoreTime::from_millis(now)))
    }
}

impl List {
    /// `None` of a row that has the time alone.
    fn line(&self, row: &PgRow) -> sqlx::Result<Option<LedgerLine>> {
        let Some(name) = text_of(row, "name")? else {
            return Ok(None);
        };
        let name = MutexName::found(&name);
        Ok(Some(match entry(row) {
            Ok(entry) => LedgerLine::new(name, entry),
            Err(error) => damaged_ledger(name, &self.to.schedule, &error),
        }))
    }
}

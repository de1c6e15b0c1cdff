//! Pages of ledgers.

use std::sync::Arc;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::calls::number;
use super::client::MySql;
use super::ledger::entry;
use super::statements::Statements;
use crate::backend::{LedgerLine, Ledgers, Page};
use crate::error::{ErrorKind, Result};
use crate::model::{MutexName, StoreTime};
use crate::stores::sql::{Ask, damaged_ledger, text};

/// How many names one statement asks for.
const TOGETHER: usize = 200;

impl MySql {
    pub(super) async fn ledgers(&self, page: &Page) -> Result<Ledgers> {
        let (mut lines, mut now) = (Vec::new(), self.about_now());
        let asks: Vec<List> = match &page.names {
            Some(names) => {
                let some = names.chunks(TOGETHER).map(|names| {
                    let names = names.iter().map(|name| name.as_str().to_owned());
                    List::Named(self.to(), names.collect())
                });
                some.collect()
            }
            None => {
                let after = page.after.as_ref().map(|name| name.as_str().to_owned());
                let most = page.limit.saturating_add(1) as u64;
                vec![List::After(self.to(), after, most)]
            }
        };
        for ask in asks {
            match self.read(ask).await {
                Ok((some, at)) => {
                    lines.extend(some.into_iter().filter(|line| page.wants(&line.name)));
                    now = at.unwrap_or(now);
                }
                // Nobody could make the table: nothing was ever scheduled.
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Ledgers::of(lines, page, now))
    }
}

enum List {
    After(Arc<Statements>, Option<String>, u64),
    Named(Arc<Statements>, Vec<String>),
}

impl Ask<MySqlConnection> for List {
    type Reply = (Vec<LedgerLine>, Option<StoreTime>);

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Self::Reply> {
        let (to, rows) = match self {
            Self::After(to, Some(after), most) => {
                let query = sqlx::query(AssertSqlSafe(Arc::clone(&to.ledger().list)));
                (
                    to,
                    query.bind(after).bind(*most).fetch_all(connection).await?,
                )
            }
            Self::After(to, None, most) => {
                let query = sqlx::query(AssertSqlSafe(Arc::clone(&to.ledger().list_first)));
                (to, query.bind(*most).fetch_all(connection).await?)
            }
            Self::Named(to, names) => {
                let sql = to.ledger().find_many(&to.schedule, names.len());
                let mut query = sqlx::query(AssertSqlSafe(sql)).persistent(false);
                for name in names {
                    query = query.bind(name);
                }
                (to, query.fetch_all(connection).await?)
            }
        };
        let now = rows.first().map(|row| number(row, "now")).transpose()?;
        let lines = rows.iter().map(|row| line(to, row));
        let lines = lines.collect::<sqlx::Result<_>>()?;
        Ok((lines, now.map(StoreTime::from_millis)))
    }
}

fn line(to: &Statements, row: &MySqlRow) -> sqlx::Result<LedgerLine> {
    let name: Vec<u8> = row.try_get_unchecked("name")?;
    let name = MutexName::found(text(Some(&name)));
    Ok(match entry(row) {
        Ok(entry) => LedgerLine::new(name, entry),
        Err(error) => damaged_ledger(name, &to.schedule, &error),
    })
}

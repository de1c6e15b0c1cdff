//! The driver calls: each a statement with what it needs.

use std::sync::Arc;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Row as _, ValueRef as _};

use super::statements::Statements;
use super::wire::{Value, Wire};
use crate::backend::{Bid, Held};
use crate::model::{FencingToken, LeaseTerms, MutexName, StoreTime};
use crate::stores::sql::{Ask, Row, text};

/// What a statement says: whether it did it, the row, the time.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) won: bool,
    /// What was written, or what was there before; `None` when there is no row.
    pub(super) row: Option<Row>,
    pub(super) nonce: String,
    now: u64,
}

impl Said {
    pub(super) fn now(&self) -> StoreTime {
        StoreTime::from_millis(self.now)
    }

    fn read(row: &PgRow) -> sqlx::Result<Self> {
        let now = number(row, "now")?;
        let mutex = text_of(row, "mutex")?;
        let (row_of, nonce) = match mutex {
            None => (None, String::new()),
            Some(mutex) => {
                let found = Row {
                    mutex,
                    owner_id: text_of(row, "owner_id")?.unwrap_or_default(),
                    acquired_at: number(row, "acquired_at")?,
                    ttl_at: number(row, "ttl_at")?,
                    transition_at: number(row, "transition_at")?,
                    version: number(row, "version")?,
                    now,
                };
                (Some(found), text_of(row, "nonce")?.unwrap_or_default())
            }
        };
        Ok(Self {
            won: row.try_get("won")?,
            row: row_of,
            nonce,
            now,
        })
    }
}

/// Text, shown if it is none: a database without an encoding takes any bytes.
pub(super) fn text_of(row: &PgRow, column: &str) -> sqlx::Result<Option<String>> {
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(None);
    }
    let bytes = raw.as_bytes().map_err(sqlx::Error::Decode)?;
    Ok(Some(text(Some(bytes))))
}

fn number(row: &PgRow, column: &str) -> sqlx::Result<u64> {
    // Somebody else's table may hold NULL: one such row must not hide the
    // others, nor look like a broken connection.
    let number: Option<i64> = row.try_get(column)?;
    Ok(u64::try_from(number.unwrap_or(0)).unwrap_or(0))
}

fn millis(length: std::time::Duration) -> Value {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX).into()
}

/// A statement about one name that answers one row.
#[derive(Debug)]
pub(super) struct One {
    wire: Wire,
    sql: Arc<str>,
    values: Vec<Value>,
}

impl One {
    pub(super) fn take(to: &Statements, wire: Wire, bid: &Bid) -> Self {
        let values = vec![
            bid.name.as_str().into(),
            bid.contender.as_str().into(),
            millis(bid.terms.ttl()),
            millis(bid.terms.lease()),
            Value::Text(bid.nonce.to_string()),
        ];
        let sql = Arc::clone(&to.take);
        Self { wire, sql, values }
    }

    pub(super) fn find(to: &Statements, wire: Wire, name: &MutexName) -> Self {
        let (sql, values) = (Arc::clone(&to.find), vec![name.as_str().into()]);
        Self { wire, sql, values }
    }

    pub(super) fn release(to: &Statements, wire: Wire, held: &Held) -> Self {
        let values = vec![
            held.name.as_str().into(),
            held.contender.as_str().into(),
            held.token.store().into(),
            Value::Text(held.nonce.to_string()),
        ];
        let sql = Arc::clone(&to.release);
        Self { wire, sql, values }
    }

    pub(super) fn leave(to: &Statements, wire: Wire, bid: &Bid) -> Self {
        let values = vec![
            bid.name.as_str().into(),
            bid.contender.as_str().into(),
            Value::Text(bid.nonce.to_string()),
        ];
        let sql = Arc::clone(&to.leave);
        Self { wire, sql, values }
    }

    pub(super) fn revoke(
        to: &Statements,
        wire: Wire,
        name: &MutexName,
        token: Option<FencingToken>,
    ) -> Self {
        let values = vec![
            name.as_str().into(),
            Value::Flag(token.is_none()),
            token.map_or(0, FencingToken::store).into(),
        ];
        let sql = Arc::clone(&to.revoke);
        Self { wire, sql, values }
    }
}

impl Ask<PgConnection> for One {
    type Reply = Said;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<Said> {
        let rows = self
            .wire
            .rows(connection, &self.sql, self.values.clone())
            .await?;
        rows.first()
            .map_or(Err(sqlx::Error::RowNotFound), Said::read)
    }
}

/// A statement about many names that answers many rows.
#[derive(Debug)]
pub(super) struct Many {
    wire: Wire,
    sql: Arc<str>,
    values: Vec<Value>,
}

impl Many {
    pub(super) fn find(to: &Statements, wire: Wire, names: &[MutexName]) -> Self {
        let names = names.iter().map(ToString::to_string).collect();
        let (sql, values) = (Arc::clone(&to.find_many), vec![Value::Texts(names)]);
        Self { wire, sql, values }
    }

    pub(super) fn list(to: &Statements, wire: Wire, after: &str, most: usize) -> Self {
        let values = vec![after.into(), (most as u64).into()];
        let sql = Arc::clone(&to.list);
        Self { wire, sql, values }
    }

    /// One answer for each of `held`, in their order.
    pub(super) fn renew(to: &Statements, wire: Wire, terms: &LeaseTerms, held: &[Held]) -> Self {
        let texts = |text: &dyn Fn(&Held) -> String| Value::Texts(held.iter().map(text).collect());
        let version = |held: &Held| i64::try_from(held.token.store()).unwrap_or(i64::MAX);
        let values = vec![
            texts(&|held| held.name.to_string()),
            texts(&|held| held.contender.to_string()),
            Value::Ints(held.iter().map(version).collect()),
            texts(&|held| held.nonce.to_string()),
            millis(terms.ttl()),
            millis(terms.lease()),
        ];
        let sql = Arc::clone(&to.renew);
        Self { wire, sql, values }
    }
}

impl Ask<PgConnection> for Many {
    type Reply = Vec<Said>;

    async fn ask(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<Said>> {
        let rows = self
            .wire
            .rows(connection, &self.sql, self.values.clone())
            .await?;
        rows.iter().map(Said::read).collect()
    }
}

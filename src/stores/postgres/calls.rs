//! The driver calls: each a statement with what it needs.

use sqlx::postgres::PgRow;
use sqlx::{Row as _, ValueRef as _};

use super::dialect::{Connection, Postgres};
use super::wire::{Prepared, Value};
use crate::backend::{Bid, Held};
use crate::model::{FencingToken, MutexName, StoreTime};
use crate::stores::sql::{
    Answers, Find, FindMany, Found, Free, Freed, List, Row, Rows, questions, text,
};

/// What a statement says: whether it did it; what was written, or what was
/// there before.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) won: bool,
    pub(super) found: Found,
}

impl From<Found> for Said {
    fn from(found: Found) -> Self {
        Self { won: false, found }
    }
}

impl Said {
    fn read(row: &PgRow) -> sqlx::Result<Self> {
        let now = number(row, "now")?;
        let found = match text_of(row, "mutex")? {
            None => None,
            Some(mutex) => Some(Row {
                mutex,
                owner_id: text_of(row, "owner_id")?.unwrap_or_default(),
                acquired_at: number(row, "acquired_at")?,
                ttl_at: number(row, "ttl_at")?,
                transition_at: number(row, "transition_at")?,
                version: number(row, "version")?,
                nonce: text_of(row, "nonce")?.unwrap_or_default(),
                now,
            }),
        };
        Ok(Self {
            won: row.try_get("won")?,
            found: Found {
                row: found,
                now: StoreTime::from_millis(now),
            },
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

pub(super) fn number(row: &PgRow, column: &str) -> sqlx::Result<u64> {
    // A table of another make may hold NULL: one such row must not hide the
    // others, nor look like a broken connection.
    let number: Option<i64> = row.try_get(column)?;
    Ok(u64::try_from(number.unwrap_or(0)).unwrap_or(0))
}

fn millis(length: std::time::Duration) -> Value {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX).into()
}

impl Postgres {
    /// A statement about one name, which answers one row.
    async fn one(
        &self,
        on: &mut Connection,
        sql: &Prepared,
        values: Vec<Value>,
    ) -> sqlx::Result<Said> {
        let said = self.many(on, sql, values).await?;
        said.into_iter().next().ok_or(sqlx::Error::RowNotFound)
    }

    /// A statement about many names, which answers many rows.
    async fn many(
        &self,
        on: &mut Connection,
        sql: &Prepared,
        values: Vec<Value>,
    ) -> sqlx::Result<Vec<Said>> {
        let rows = self.wire.prepared(on, sql, &values).await?;
        rows.iter().map(Said::read).collect()
    }

    async fn rows(
        &self,
        on: &mut Connection,
        sql: &Prepared,
        values: Vec<Value>,
    ) -> sqlx::Result<Rows> {
        let said = self.many(on, sql, values).await?;
        Ok(Rows {
            now: said.first().map(|said| said.found.now),
            rows: said.into_iter().filter_map(|said| said.found.row).collect(),
        })
    }
}

questions! {
    TakeFree => Option<Said>, Writes, |said| said.as_ref().map(|said| said.found.now);
    Take => Said, Writes, |said| Some(said.found.now);
    Renew => Vec<Said>, Writes, |said| said.first().map(|said| said.found.now);
}

/// Takes a mutex that was owned before and is free.
pub(super) struct TakeFree(pub(super) Bid);

impl Answers<TakeFree> for Postgres {
    async fn answer(
        &self,
        on: &mut Connection,
        TakeFree(bid): &TakeFree,
    ) -> sqlx::Result<Option<Said>> {
        // The whole statement is refused by a table whose names are not unique, where
        // this one could meet one of two rows.
        if !self.wire.has_taken(on) {
            return Ok(None);
        }
        let said = self
            .many(on, &self.statements.take_free, taking(bid))
            .await?;
        Ok(said.into_iter().next())
    }
}

/// Takes a free mutex.
pub(super) struct Take(pub(super) Bid);

impl Answers<Take> for Postgres {
    async fn answer(&self, on: &mut Connection, Take(bid): &Take) -> sqlx::Result<Said> {
        let said = self.one(on, &self.statements.take, taking(bid)).await?;
        on.has_taken = true;
        Ok(said)
    }
}

fn taking(bid: &Bid) -> Vec<Value> {
    vec![
        bid.name.as_str().into(),
        bid.contender.as_str().into(),
        millis(bid.terms.ttl()),
        millis(bid.terms.lease()),
        Value::Text(bid.nonce.to_string()),
    ]
}

impl Answers<Find> for Postgres {
    async fn answer(&self, on: &mut Connection, Find(name): &Find) -> sqlx::Result<Found> {
        let values = vec![name.as_str().into()];
        let said = self.one(on, &self.statements.find, values).await?;
        Ok(said.found)
    }
}

impl Answers<Free> for Postgres {
    async fn answer(&self, on: &mut Connection, free: &Free) -> sqlx::Result<Freed> {
        if let Free::Revoked(name, None) = free
            && self.mend(on, name).await?
        {
            let found = self.answer(on, &Find(name.clone())).await?;
            return Ok(Freed::At(found.now));
        }
        let to = &self.statements;
        let (sql, rest) = match free {
            Free::Held(held) => (
                &to.release,
                vec![
                    held.contender.as_str().into(),
                    held.token.store().into(),
                    Value::Text(held.nonce.to_string()),
                ],
            ),
            Free::Left(bid) => (
                &to.leave,
                vec![
                    bid.contender.as_str().into(),
                    Value::Text(bid.nonce.to_string()),
                ],
            ),
            Free::Revoked(_, token) => (
                &to.revoke,
                vec![
                    Value::Flag(token.is_none()),
                    token.map_or(0, FencingToken::store).into(),
                ],
            ),
        };
        let mut values = vec![free.name().as_str().into()];
        values.extend(rest);
        if let Free::Held(_) = free {
            let freed = self.many(on, &to.release_held, values.clone()).await?;
            if let Some(said) = freed.first() {
                return Ok(Freed::At(said.found.now));
            }
        }
        let said = self.one(on, sql, values).await?;
        Ok(match said.won {
            true => Freed::At(said.found.now),
            false => Freed::Not(Some(said.found)),
        })
    }
}

impl Postgres {
    /// Begins the row of `name` again if its version can be no token's: no
    /// process can own it as it is, and a take would go on from there.
    async fn mend(&self, on: &mut Connection, name: &MutexName) -> sqlx::Result<bool> {
        let (table, limit) = (&self.statements.table, FencingToken::STORE_LIMIT);
        let sql = format!(
            "UPDATE {table} SET owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, \
             nonce = '', version = 0 WHERE mutex = $1 AND (version < 0 OR version >= {limit}) \
             RETURNING 1"
        );
        let rows = self.wire.rows(on, &sql, &[name.as_str().into()]).await?;
        Ok(!rows.is_empty())
    }
}

impl Answers<FindMany> for Postgres {
    async fn answer(&self, on: &mut Connection, FindMany(names): &FindMany) -> sqlx::Result<Rows> {
        let names = names.iter().map(ToString::to_string).collect();
        let values = vec![Value::Texts(names)];
        self.rows(on, &self.statements.find_many, values).await
    }
}

impl Answers<List> for Postgres {
    async fn answer(&self, on: &mut Connection, List { after, most }: &List) -> sqlx::Result<Rows> {
        let after = after.as_ref().map_or("", MutexName::as_str);
        let values = vec![after.into(), (*most).into()];
        self.rows(on, &self.statements.list, values).await
    }
}

/// Renews grants of the same terms; one answer for each, in their order.
pub(super) struct Renew(pub(super) Vec<Held>);

impl Answers<Renew> for Postgres {
    async fn answer(&self, on: &mut Connection, Renew(held): &Renew) -> sqlx::Result<Vec<Said>> {
        let texts = |text: &dyn Fn(&Held) -> String| Value::Texts(held.iter().map(text).collect());
        let version = |held: &Held| i64::try_from(held.token.store()).unwrap_or(i64::MAX);
        let values = vec![
            texts(&|held| held.name.to_string()),
            texts(&|held| held.contender.to_string()),
            Value::Ints(held.iter().map(version).collect()),
            texts(&|held| held.nonce.to_string()),
            millis(held[0].terms.ttl()),
            millis(held[0].terms.lease()),
        ];
        self.many(on, &self.statements.renew, values).await
    }
}

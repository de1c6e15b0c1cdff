//! The driver calls: each a statement with what it needs.

use std::sync::Arc;

use sqlx::postgres::PgRow;
use sqlx::{ColumnIndex, Row as _, ValueRef as _};

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
                purpose: None,
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

pub(super) fn number<I: ColumnIndex<PgRow>>(row: &PgRow, column: I) -> sqlx::Result<u64> {
    // A table of another make may hold NULL: one such row must not hide the
    // others, nor look like a broken connection.
    let number: Option<i64> = row.try_get(column)?;
    Ok(u64::try_from(number.unwrap_or(0)).unwrap_or(0))
}

fn millis<'v>(length: std::time::Duration) -> Value<'v> {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX).into()
}

impl Postgres {
    /// A statement about one name, which answers one row.
    async fn one(
        &self,
        on: &mut Connection,
        sql: &Prepared,
        values: &[Value<'_>],
    ) -> sqlx::Result<Said> {
        let said = self.many(on, sql, values).await?;
        said.into_iter().next().ok_or(sqlx::Error::RowNotFound)
    }

    /// A statement about many names, which answers many rows.
    async fn many(
        &self,
        on: &mut Connection,
        sql: &Prepared,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<Said>> {
        let rows = self.wire.prepared(on, sql, values).await?;
        rows.iter().map(Said::read).collect()
    }

    async fn rows(
        &self,
        on: &mut Connection,
        sql: &Prepared,
        values: &[Value<'_>],
    ) -> sqlx::Result<Rows> {
        let said = self.many(on, sql, values).await?;
        Ok(Rows {
            now: said.first().map(|said| said.found.now),
            rows: said.into_iter().filter_map(|said| said.found.row).collect(),
        })
    }
}

questions! {
    TakeFree => Option<Granted>, Writes, |granted| granted.as_ref().map(|granted| granted.at);
    Take => Said, Writes, |said| Some(said.found.now);
    Renew => Renewed, Writes, |renewed| Some(renewed.at);
    RenewEach => Vec<Said>, Writes, |said| said.first().map(|said| said.found.now);
}

/// Takes a mutex that was owned before and is free.
pub(super) struct TakeFree(pub(super) Bid);

/// What the row has now beside what the bid asked for.
pub(super) struct Granted {
    pub(super) at: StoreTime,
    pub(super) version: u64,
    pub(super) ends_at: StoreTime,
}

impl Answers<TakeFree> for Postgres {
    async fn answer(
        &self,
        on: &mut Connection,
        TakeFree(bid): &TakeFree,
    ) -> sqlx::Result<Option<Granted>> {
        // The whole statement is refused by a table whose names are not unique, where
        // this one could meet one of two rows.
        if !self.wire.has_taken(on) {
            return Ok(None);
        }
        let take = &self.statements.take_free;
        let rows = self.wire.prepared(on, take, &taking(bid)).await?;
        let granted = |row: &PgRow| {
            Ok(Granted {
                at: StoreTime::from_millis(number(row, 0)? / 1000),
                version: number(row, 1)?,
                ends_at: StoreTime::from_millis(number(row, 2)?),
            })
        };
        rows.first().map(granted).transpose()
    }
}

/// Takes a free mutex.
pub(super) struct Take(pub(super) Bid);

impl Answers<Take> for Postgres {
    async fn answer(&self, on: &mut Connection, Take(bid): &Take) -> sqlx::Result<Said> {
        let said = self.one(on, &self.statements.take, &taking(bid)).await?;
        on.has_taken = true;
        Ok(said)
    }
}

fn taking(bid: &Bid) -> Vec<Value<'_>> {
    vec![
        bid.name.as_str().into(),
        bid.contender.as_str().into(),
        millis(bid.terms.ttl()),
        millis(bid.terms.lease()),
        bid.nonce.to_string().into(),
    ]
}

impl Answers<Find> for Postgres {
    async fn answer(&self, on: &mut Connection, Find(name): &Find) -> sqlx::Result<Found> {
        let values = [name.as_str().into()];
        let said = self.one(on, &self.statements.find, &values).await?;
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
        let values = freeing(free);
        let sql = match free {
            Free::Held(_) => {
                let freed = self.wire.prepared(on, &to.release_held, &values).await?;
                if let Some(row) = freed.first() {
                    return Ok(Freed::At(StoreTime::from_millis(number(row, 0)? / 1000)));
                }
                &to.release
            }
            Free::Left(_) => &to.leave,
            Free::Revoked(..) => &to.revoke,
        };
        let said = self.one(on, sql, &values).await?;
        Ok(match said.won {
            true => Freed::At(said.found.now),
            false => Freed::Not(Some(said.found)),
        })
    }
}

fn freeing(free: &Free) -> Vec<Value<'_>> {
    let name = free.name().as_str().into();
    match free {
        Free::Held(held) => vec![
            name,
            held.contender.as_str().into(),
            held.token.store().into(),
            held.nonce.to_string().into(),
        ],
        Free::Left(bid) => vec![
            name,
            bid.contender.as_str().into(),
            bid.nonce.to_string().into(),
        ],
        Free::Revoked(_, token) => vec![
            name,
            Value::Flag(token.is_none()),
            token.map_or(0, FencingToken::store).into(),
        ],
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
        let names = names.iter().map(|name| name.as_str().into());
        let values = [Value::Texts(names.collect())];
        self.rows(on, &self.statements.find_many, &values).await
    }
}

impl Answers<List> for Postgres {
    async fn answer(&self, on: &mut Connection, List { after, most }: &List) -> sqlx::Result<Rows> {
        let after = after.as_ref().map_or("", MutexName::as_str);
        let values = [after.into(), (*most).into()];
        self.rows(on, &self.statements.list, &values).await
    }
}

/// Renews grants of the same terms.
pub(super) struct Renew(pub(super) Arc<[Held]>);

pub(super) struct Renewed {
    pub(super) at: StoreTime,
    /// The end of the first of them that ends.
    pub(super) ends_at: StoreTime,
    /// The places of those that were renewed, from 1; no text where none was.
    pub(super) places: Option<String>,
}

impl Answers<Renew> for Postgres {
    async fn answer(&self, on: &mut Connection, Renew(held): &Renew) -> sqlx::Result<Renewed> {
        let renew = &self.statements.renew;
        let rows = self.wire.prepared(on, renew, &renewing(held)).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(Renewed {
            at: StoreTime::from_millis(number(row, 0)?),
            ends_at: StoreTime::from_millis(number(row, 1)?),
            places: row.try_get(2)?,
        })
    }
}

/// The same; one answer for each, in their order.
pub(super) struct RenewEach(pub(super) Arc<[Held]>);

impl Answers<RenewEach> for Postgres {
    async fn answer(
        &self,
        on: &mut Connection,
        RenewEach(held): &RenewEach,
    ) -> sqlx::Result<Vec<Said>> {
        let values = renewing(held);
        self.many(on, &self.statements.renew_each, &values).await
    }
}

fn renewing(held: &[Held]) -> Vec<Value<'_>> {
    let version = |held: &Held| i64::try_from(held.token.store()).unwrap_or(i64::MAX);
    let nonces = held.iter().map(|held| held.nonce.to_string().into());
    let contenders = held.iter().map(|held| held.contender.as_str().into());
    vec![
        Value::Texts(held.iter().map(|held| held.name.as_str().into()).collect()),
        Value::Texts(contenders.collect()),
        Value::Ints(held.iter().map(version).collect()),
        Value::Texts(nonces.collect()),
        millis(held[0].terms.ttl()),
        millis(held[0].terms.lease()),
    ]
}

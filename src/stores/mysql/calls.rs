//! The driver calls: each a statement with what it needs.

use std::sync::Arc;

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError, MySqlQueryResult, MySqlRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::statements::Statements;
use crate::backend::{Bid, Held};
use crate::model::{FencingToken, LeaseTerms, MutexName};
use crate::stores::sql::{Ask, Row, padded, text};

pub(super) fn row(row: &MySqlRow) -> sqlx::Result<Row> {
    // Somebody else's table may hold what ours cannot: one such row must not
    // hide the others, nor look like a broken connection.
    let words = |column: &str| -> sqlx::Result<String> {
        let bytes: Option<Vec<u8>> = row.try_get_unchecked(column)?;
        Ok(text(bytes.as_deref()))
    };
    let count = |column: &str| -> sqlx::Result<u64> {
        let number: Option<u64> = row.try_get(column)?;
        Ok(number.unwrap_or(0))
    };
    Ok(Row {
        mutex: words("mutex")?,
        owner_id: words("owner_id")?,
        acquired_at: count("acquired_at")?,
        ttl_at: count("ttl_at")?,
        transition_at: count("transition_at")?,
        version: count("version")?,
        now: number(row, "now")?,
    })
}

/// A number that one server calls signed and another not.
pub(super) fn number(row: &MySqlRow, column: &str) -> sqlx::Result<u64> {
    row.try_get::<u64, _>(column).or_else(|_| {
        let signed: i64 = row.try_get(column)?;
        Ok(u64::try_from(signed).unwrap_or(0))
    })
}

pub(super) fn millis(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Takes a free row; answers the stamp of the grant.
pub(super) struct Take {
    pub(super) to: Arc<Statements>,
    pub(super) skips: bool,
    pub(super) bid: Bid,
    pub(super) below: u64,
}

impl Ask<MySqlConnection> for Take {
    type Reply = Option<u64>;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Option<u64>> {
        let Bid {
            name,
            contender,
            terms,
            ..
        } = &self.bid;
        let sql = if self.skips {
            &self.to.take_unlocked
        } else {
            &self.to.take
        };
        let mut query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
        if self.skips {
            query = query.bind(name.as_str());
        }
        query = query
            .bind(contender.as_str())
            .bind(millis(terms.ttl()))
            .bind(millis(terms.lease()));
        if !self.skips {
            query = query.bind(name.as_str());
        }
        let query = query.bind(name.as_str()).bind(self.below);
        let done = query.execute(&mut *connection).await?;
        Ok(match done.rows_affected() {
            0 => None,
            _ => Some(stamp_of(&done, connection).await?),
        })
    }
}

/// The number that a statement left, which the server usually says at once. It
/// does not when the table has a trigger.
async fn stamp_of(done: &MySqlQueryResult, connection: &mut MySqlConnection) -> sqlx::Result<u64> {
    if done.last_insert_id() > 0 {
        return Ok(done.last_insert_id());
    }
    let row = sqlx::query("SELECT LAST_INSERT_ID() AS stamp")
        .fetch_one(connection)
        .await?;
    number(&row, "stamp")
}

/// The row that the table's collation finds for a name, and the time.
pub(super) struct Find {
    pub(super) to: Arc<Statements>,
    pub(super) name: MutexName,
}

impl Ask<MySqlConnection> for Find {
    type Reply = (Option<Row>, u64);

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Self::Reply> {
        let found = sqlx::query(AssertSqlSafe(Arc::clone(&self.to.find)))
            .bind(self.name.as_str())
            .fetch_one(connection)
            .await?;
        let name: Option<Vec<u8>> = found.try_get_unchecked("mutex")?;
        let is_there = name.is_some();
        let row = is_there.then(|| row(&found)).transpose()?;
        Ok((row, number(&found, "now")?))
    }
}

/// The rows of many names.
pub(super) struct FindMany {
    pub(super) to: Arc<Statements>,
    pub(super) names: Vec<MutexName>,
}

impl Ask<MySqlConnection> for FindMany {
    type Reply = Vec<Row>;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Vec<Row>> {
        let size = padded(self.names.len());
        let mut query = sqlx::query(AssertSqlSafe(self.to.find_many(size)));
        for name in filled(&self.names, size) {
            query = query.bind(name.as_str());
        }
        let found = query.fetch_all(connection).await?;
        found.iter().map(row).collect()
    }
}

/// All of `items`, then the last again and again.
fn filled<T>(items: &[T], size: usize) -> impl Iterator<Item = &T> {
    let last = items.last().expect("nobody asks about nothing");
    items.iter().chain(std::iter::repeat(last)).take(size)
}

/// A row for a name that has none. One that is there by now is as good.
///
/// Not INSERT IGNORE: that would also ignore that a name does not fit the
/// table's character set, and store it with question marks.
pub(super) struct Insert {
    pub(super) to: Arc<Statements>,
    pub(super) name: MutexName,
}

impl Ask<MySqlConnection> for Insert {
    type Reply = ();

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<()> {
        let done = sqlx::query(AssertSqlSafe(Arc::clone(&self.to.insert)))
            .bind(self.name.as_str())
            .execute(connection)
            .await;
        match done {
            Err(error) if !is_duplicate(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    number_of(error).is_some_and(|number| matches!(number, 1062 | 1586))
}

pub(super) fn number_of(error: &sqlx::Error) -> Option<u16> {
    let answered = error.as_database_error();
    let answered = answered.and_then(|e| e.try_downcast_ref::<MySqlDatabaseError>());
    answered.map(MySqlDatabaseError::number)
}

/// Whether the server can go around rows that others hold.
pub(super) struct CanSkip(pub(super) Arc<Statements>);

impl Ask<MySqlConnection> for CanSkip {
    type Reply = bool;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        use sqlx::Executor as _;
        let tried = connection.execute(AssertSqlSafe(self.0.skip())).await;
        // Whatever else is wrong will be said when something is renewed.
        Ok(tried.err().as_ref().and_then(number_of) != Some(1064))
    }
}

/// Renews grants of the same terms; answers how many rows, and when.
pub(super) struct Renew {
    pub(super) to: Arc<Statements>,
    pub(super) skips: bool,
    pub(super) terms: LeaseTerms,
    pub(super) held: Vec<Held>,
}

impl Ask<MySqlConnection> for Renew {
    type Reply = (u64, u64);

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<(u64, u64)> {
        let size = padded(self.held.len());
        let mut query = sqlx::query(AssertSqlSafe(self.to.renew(size, self.skips)));
        for held in filled(&self.held, size) {
            query = query.bind(held.name.as_str());
        }
        query = query
            .bind(millis(self.terms.ttl()))
            .bind(millis(self.terms.lease()));
        for held in filled(&self.held, size) {
            query = query
                .bind(held.name.as_str())
                .bind(held.contender.as_str())
                .bind(held.token.store());
        }
        let done = query.execute(&mut *connection).await?;
        Ok(match done.rows_affected() {
            0 => (0, 0),
            rows => (rows, stamp_of(&done, connection).await?),
        })
    }
}

/// Frees a row; answers when, if there was one.
pub(super) enum Free {
    Held(Arc<Statements>, Held),
    Left(Arc<Statements>, Bid),
    Revoked(Arc<Statements>, MutexName, Option<FencingToken>),
}

impl Ask<MySqlConnection> for Free {
    type Reply = Option<u64>;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<Option<u64>> {
        let (sql, name) = match self {
            Self::Held(to, held) => (&to.release, &held.name),
            Self::Left(to, bid) => (&to.leave, &bid.name),
            Self::Revoked(to, name, _) => (&to.revoke, name),
        };
        let query = sqlx::query(AssertSqlSafe(Arc::clone(sql)))
            .bind(name.as_str())
            .bind(name.as_str());
        let query = match self {
            Self::Held(_, held) => query.bind(held.contender.as_str()).bind(held.token.store()),
            Self::Left(_, bid) => {
                let seen = bid.seen.map_or(0, FencingToken::store);
                query.bind(bid.contender.as_str()).bind(seen)
            }
            Self::Revoked(_, _, token) => {
                let number = token.map_or(0, FencingToken::store);
                query.bind(token.is_none()).bind(number)
            }
        };
        let done = query.execute(&mut *connection).await?;
        Ok(match done.rows_affected() {
            0 => None,
            _ => Some(stamp_of(&done, connection).await?),
        })
    }
}

/// The server's time.
pub(super) struct Now;

impl Ask<MySqlConnection> for Now {
    type Reply = u64;

    async fn ask(&self, connection: &mut MySqlConnection) -> sqlx::Result<u64> {
        let sql = format!("SELECT {} AS now", super::statements::NOW);
        let row = sqlx::query(AssertSqlSafe(sql))
            .fetch_one(connection)
            .await?;
        number(&row, "now")
    }
}

//! The driver calls: each a statement with what it needs.

use std::sync::Arc;

use sqlx::mysql::{MySqlArguments, MySqlDatabaseError, MySqlQueryResult, MySqlRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::dialect::{Connection, MySql};
use super::purpose;
use super::statements::AT_ONCE;
use crate::backend::{Bid, Held};
use crate::model::{FencingToken, MutexName, StoreTime};
use crate::stores::sql::{
    Answers, Find, FindMany, Found, Free, Freed, Row, Rows, padded, questions, text,
};

pub(super) fn row(row: &MySqlRow) -> sqlx::Result<Row> {
    // A table of another make may hold what ours cannot: one such row must not
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
        nonce: String::new(),
        purpose: purpose::read(count("purpose")?, count("acquired_at")?),
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

// An Insert writes; but a row without an owner is nothing to undo.
questions! {
    Take => Option<u64>, Writes;
    Prove => Option<u64>, Writes;
    Commits => bool, Reads;
    Insert => (), Reads;
    Renew => Renewed, Writes, |renewed| renewed.at;
    CanSkip => bool, Reads;
    CanGiveUp => bool, Reads;
    Now => StoreTime, Reads, |now| Some(*now);
}

/// Takes a free row; answers the stamp of the grant.
pub(super) struct Take {
    pub(super) bid: Bid,
    /// Versions end here.
    pub(super) below: u64,
}

impl Answers<Take> for MySql {
    async fn answer(
        &self,
        on: &mut Connection,
        Take { bid, below }: &Take,
    ) -> sqlx::Result<Option<u64>> {
        let name = bid.name.as_str();
        let says_purpose = self.layout().says_purpose;
        let to = self.statements.takes(says_purpose);
        let at_once = self.gives_up_at_once();
        let skips = self.skips() && !at_once;
        let mut query = match skips {
            true => query(&to.unlocked).bind(name),
            false if at_once => query(&to.at_once),
            false => query(&to.waiting),
        };
        query = query
            .bind(bid.contender.as_str())
            .bind(millis(bid.terms.ttl()))
            .bind(millis(bid.terms.lease()));
        if says_purpose {
            query = query.bind(purpose::digit(bid.nonce.purpose()));
        }
        if !skips {
            query = query.bind(name);
        }
        let done = match query.bind(name).bind(*below).execute(&mut *on).await {
            // As if it had been gone around.
            Err(error) if at_once && number_of(&error) == Some(LOCKED) => return Ok(None),
            done => done?,
        };
        if done.rows_affected() == 0 || done.last_insert_id() > 0 {
            return Ok((done.rows_affected() > 0).then(|| done.last_insert_id()));
        }
        // The table has a trigger. Zero, which is no stamp, where a pooler has
        // sent the question to another session, or the trigger rewrites rows.
        let stamp = query_of(&self.statements.stamp, name, bid.contender.as_str());
        let stamp = stamp.fetch_optional(on).await?;
        let stamp = stamp.map(|row| number(&row, "stamp")).transpose()?;
        Ok(Some(stamp.unwrap_or(0)))
    }
}

/// A statement about the row of a name and an owner's id.
fn query_of<'q>(sql: &Arc<str>, name: &'q str, id: &'q str) -> Query<'q> {
    query(sql).bind(name).bind(name).bind(id)
}

/// Writes to a grant that a bid has read of and takes for its own, and answers
/// for how many milliseconds it still runs.
///
/// A read may come from a replica or from a node of a cluster that has not
/// heard of its end; a write cannot.
pub(super) struct Prove {
    pub(super) bid: Bid,
    pub(super) version: u64,
}

impl Answers<Prove> for MySql {
    async fn answer(
        &self,
        on: &mut Connection,
        Prove { bid, version }: &Prove,
    ) -> sqlx::Result<Option<u64>> {
        let (name, id) = (bid.name.as_str(), bid.contender.as_str());
        let proof = query_of(&self.statements.prove, name, id).bind(*version);
        let done = proof.execute(&mut *on).await?;
        let left = stamp_of(&done, on).await?;
        // One of them went for the proof.
        Ok(left.filter(|left| *left > 1).map(|left| left - 1))
    }
}

/// Whether statements are committed by themselves.
pub(super) struct Commits;

impl Answers<Commits> for MySql {
    async fn answer(&self, on: &mut Connection, _: &Commits) -> sqlx::Result<bool> {
        let row = sqlx::query("SELECT @@autocommit AS commits");
        number(&row.fetch_one(on).await?, "commits").map(|commits| commits > 0)
    }
}

/// A statement that was made once.
pub(super) fn query<'q>(sql: &Arc<str>) -> Query<'q> {
    sqlx::query(AssertSqlSafe(Arc::clone(sql)))
}

pub(super) type Query<'q> = sqlx::query::Query<'q, sqlx::MySql, MySqlArguments>;

/// The number that a statement left which reached a row; the server usually
/// says it at once. It does not when the table has a trigger.
async fn stamp_of(done: &MySqlQueryResult, on: &mut Connection) -> sqlx::Result<Option<u64>> {
    if done.rows_affected() == 0 {
        return Ok(None);
    }
    if done.last_insert_id() > 0 {
        return Ok(Some(done.last_insert_id()));
    }
    let row = sqlx::query("SELECT LAST_INSERT_ID() AS stamp")
        .fetch_one(on)
        .await?;
    number(&row, "stamp").map(Some)
}

impl Answers<Find> for MySql {
    async fn answer(&self, on: &mut Connection, Find(name): &Find) -> sqlx::Result<Found> {
        let find = query(&self.statements.find).bind(name.as_str());
        let found = find.fetch_one(on).await?;
        let name: Option<Vec<u8>> = found.try_get_unchecked("mutex")?;
        let is_there = name.is_some();
        Ok(Found {
            row: is_there.then(|| row(&found)).transpose()?,
            now: StoreTime::from_millis(number(&found, "now")?),
        })
    }
}

impl Answers<FindMany> for MySql {
    async fn answer(&self, on: &mut Connection, FindMany(names): &FindMany) -> sqlx::Result<Rows> {
        let size = padded(names.len());
        let find = self.statements.find_many(size, self.layout().says_purpose);
        let mut query = sqlx::query(AssertSqlSafe(find));
        for name in filled(names, size) {
            query = query.bind(name.as_str());
        }
        rows(&query.fetch_all(on).await?)
    }
}

pub(super) fn rows(found: &[MySqlRow]) -> sqlx::Result<Rows> {
    let rows: Vec<_> = found.iter().map(row).collect::<sqlx::Result<_>>()?;
    let now = rows.first().map(Row::now);
    Ok(Rows { rows, now })
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
pub(super) struct Insert(pub(super) MutexName);

impl Answers<Insert> for MySql {
    async fn answer(&self, on: &mut Connection, Insert(name): &Insert) -> sqlx::Result<()> {
        let insert = query(&self.statements.insert).bind(name.as_str());
        match insert.execute(on).await {
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
pub(super) struct CanSkip;

impl Answers<CanSkip> for MySql {
    async fn answer(&self, on: &mut Connection, _: &CanSkip) -> sqlx::Result<bool> {
        use sqlx::Executor as _;
        let skip = AssertSqlSafe(self.statements.skip());
        let tried = on.execute(skip).await;
        // Whatever else is wrong will be said when something is renewed.
        Ok(tried.err().as_ref().and_then(number_of) != Some(1064))
    }
}

/// Another transaction holds the row.
const LOCKED: u16 = 1205;

/// Whether the server can give up at once where another holds a row.
pub(super) struct CanGiveUp;

impl Answers<CanGiveUp> for MySql {
    async fn answer(&self, on: &mut Connection, _: &CanGiveUp) -> sqlx::Result<bool> {
        // Prepared, as a take is.
        let tried = sqlx::query(AssertSqlSafe(format!("{AT_ONCE}SELECT 1")));
        match tried.fetch_one(on).await {
            Err(error) if number_of(&error).is_none() => Err(error),
            tried => Ok(tried.is_ok()),
        }
    }
}

/// Renews grants of the same terms.
pub(super) struct Renew(pub(super) Arc<[Held]>);

pub(super) struct Renewed {
    /// How many.
    pub(super) rows: u64,
    /// When, if any.
    pub(super) at: Option<StoreTime>,
}

impl Answers<Renew> for MySql {
    async fn answer(&self, on: &mut Connection, Renew(held): &Renew) -> sqlx::Result<Renewed> {
        let (size, terms) = (padded(held.len()), &held[0].terms);
        let sql = self.statements.renew(size, self.skips());
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for held in filled(held, size) {
            query = query.bind(held.name.as_str());
        }
        query = query.bind(millis(terms.ttl())).bind(millis(terms.lease()));
        for held in filled(held, size) {
            query = query
                .bind(held.name.as_str())
                .bind(held.contender.as_str())
                .bind(held.token.store());
        }
        let done = query.execute(&mut *on).await?;
        let at = stamp_of(&done, on).await?;
        Ok(Renewed {
            rows: done.rows_affected(),
            // A proxy that swallows the stamp has told no time.
            at: at.filter(|at| *at > 0).map(StoreTime::from_millis),
        })
    }
}

impl Answers<Free> for MySql {
    async fn answer(&self, on: &mut Connection, free: &Free) -> sqlx::Result<Freed> {
        let to = &self.statements;
        let name = free.name().as_str();
        let of = |sql| query(sql).bind(name).bind(name);
        let query = match free {
            Free::Held(held) => of(&to.release)
                .bind(held.contender.as_str())
                .bind(held.token.store()),
            Free::Left(bid) => of(&to.leave)
                .bind(bid.contender.as_str())
                .bind(bid.seen.map_or(0, FencingToken::store)),
            Free::Revoked(_, token) => of(&to.revoke)
                .bind(token.is_none())
                .bind(token.map_or(0, FencingToken::store)),
        };
        let done = query.execute(&mut *on).await?;
        let stamp = stamp_of(&done, on).await?;
        Ok(match stamp {
            Some(now) => Freed::At(StoreTime::from_millis(now)),
            None => Freed::Not(None),
        })
    }
}

/// The server's time.
pub(super) struct Now;

impl Answers<Now> for MySql {
    async fn answer(&self, on: &mut Connection, _: &Now) -> sqlx::Result<StoreTime> {
        let sql = format!("SELECT {} AS now", super::statements::NOW);
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(on).await?;
        number(&row, "now").map(StoreTime::from_millis)
    }
}

//! Taking a mutex: a conditional UPDATE, and a look at the row when it did not
//! reach any.
//!
//! MySQL has no UPDATE that answers with its row. And a row that is missing is
//! made first, free, by a statement of its own: bids that insert or update in
//! one statement deadlock when they come together.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::calls::{Commits, Insert, Prove, Take};
use super::dialect::MySql;
use super::schema::{self, INT_WARNING};
use super::stamp::Stamp;
use crate::backend::{Answer, Bid};
use crate::error::Result;
use crate::model::{FencingToken, MutexOwner};
use crate::stores::sql::{Client, Dialect as _, Find, Inspect, Row, locked};

/// The pauses before a take is tried again that failed though the row is free:
/// another takes it just now, or holds it for longer.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
];

pub(super) async fn acquire(client: &Client<MySql>, bid: &Bid) -> Result<Answer> {
    let mysql = client.dialect();
    if !mysql.layout().has_room_for(&bid.contender) {
        look_again(client).await?;
        if !mysql.layout().has_room_for(&bid.contender) {
            return Err(schema::too_narrow(mysql));
        }
    }
    for pause in PAUSES {
        if !pause.is_zero() {
            client.pool().clock().sleep(pause).await;
        }
        let take = Take {
            bid: bid.clone(),
            below: mysql.layout().version_limit,
        };
        if let Some(id) = client.ask(take).await? {
            return granted(client, bid, id);
        }
        let found = client.ask(Find(bid.name.clone())).await?;
        let Some(row) = found.row else {
            client.ask(Insert(bid.name.clone())).await?;
            continue;
        };
        if row.mutex != bid.name.as_str() {
            return Err(schema::collision(mysql, &row.mutex).with_mutex(&bid.name));
        }
        if row.is_free() {
            if row.version >= mysql.layout().version_limit {
                look_again(client).await?;
                if row.version >= mysql.layout().version_limit {
                    return Err(schema::version_ended(mysql).with_mutex(&bid.name));
                }
            }
            // It ended, or was freed, between the two statements.
            continue;
        }
        // An answer that was lost: without a nonce, only an id of the bid's own
        // and a version that it had not seen say that the grant is its own.
        let seen = bid.seen.map_or(0, FencingToken::store);
        let is_ours = bid.unique_id && row.owner_id == bid.contender.as_str();
        if is_ours && row.version > seen {
            let version = row.version;
            let prove = Prove {
                bid: bid.clone(),
                version,
            };
            match client.ask(prove).await? {
                Some(left) => return found_again(client, &row, left),
                // What was read is no longer so.
                None => continue,
            }
        }
        return Ok(Answer::refused(row.owner()?, row.now()));
    }
    if !client.ask(Commits).await? {
        return Err(schema::does_not_commit(mysql).with_mutex(&bid.name));
    }
    Err(locked(&bid.name))
}

/// The answer to a bid whose grant was found, with `left` milliseconds left.
///
/// Not more than the row had: behind a pooler, `left` may be what another
/// session's statement left.
fn found_again(client: &Client<MySql>, row: &Row, left: u64) -> Result<Answer> {
    let now = client.about_now();
    let left = Duration::from_millis(left).min(row.left());
    let owner = row.won()?.owner().clone();
    let end = now + left;
    Ok(Answer::won(owner.owning_until(end), now))
}

/// Finds out what the table is like now: an operator may have made room.
async fn look_again(client: &Client<MySql>) -> Result<()> {
    let found = client.ask(Inspect).await?;
    client.dialect().fit(&found)
}

fn granted(client: &Client<MySql>, bid: &Bid, id: u64) -> Result<Answer> {
    let mysql = client.dialect();
    let stamp = Stamp::new(id)?;
    let now = stamp.near(client.about_now());
    let near_the_end = mysql.layout().has_int_version() && stamp.version >= INT_WARNING;
    if near_the_end && !mysql.warned.swap(true, Ordering::Relaxed) {
        let remedy = schema::version_ended(mysql);
        tracing::warn!(mutex = %bid.name, version = stamp.version, "soon {remedy}");
    }
    let (ttl_at, end) = (now + bid.terms.ttl(), now + bid.terms.lease());
    let owner = MutexOwner::new(bid.contender.clone(), now, ttl_at, end)
        .with_token(FencingToken::from_store(stamp.version)?);
    Ok(Answer::won(owner, now))
}

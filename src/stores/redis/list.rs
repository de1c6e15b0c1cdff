//! All mutexes of the store, a page at a time.
//!
//! SCAN knows no order, so a listing walks through all keys once, before its
//! first page, and the caller keeps the names that were found for the pages
//! after it. That is a bounded number: beyond it the next names are found by
//! another walk. Mutexes that are taken during a listing may be missing in it.

use std::sync::Arc;

use redis::{FromRedisValue, Value};

use super::client::Redis;
use super::error::nonsense;
use super::keys;
use super::look::survey;
use super::server::Server;
use super::walk::{Found, Walk};
use crate::backend::{Bookmark, Entry, Listing, Page};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};

/// How many keys the server looks at in one SCAN: about a millisecond.
const STRIDE: usize = 5_000;

/// How many mutexes are looked at together: what the page lacks, within these.
const TOGETHER: (usize, usize) = (200, 1_200);

/// What a caller keeps between two pages.
#[derive(Clone)]
enum Kept {
    Walking(Arc<Walk>),
    Found(Arc<Found>),
}

pub(super) async fn list(redis: &Redis, page: &Page) -> Result<Listing> {
    if let Some(names) = &page.names {
        let (entries, now) = survey(redis, names).await?;
        return Ok(Listing::of(entries, page, now));
    }
    let kept = page.bookmark.as_ref().and_then(|kept| kept.get::<Kept>());
    let mut after = page.after.clone();
    let mut walk = match kept {
        Some(Kept::Found(_)) => None,
        Some(Kept::Walking(walk)) => Some(Walk::clone(walk)),
        None => Some(Walk::new(redis, after.clone())),
    };
    let mut found = match kept {
        Some(Kept::Found(found)) => Arc::clone(found),
        _ => Arc::default(),
    };
    let (mut entries, mut now) = (Vec::new(), StoreTime::ZERO);
    while entries.len() <= page.limit {
        if let Some(open) = walk.take() {
            // Its own: a page to be continued has no name that it is after.
            after.clone_from(&open.after);
            found = match open.go_on(redis).await? {
                Ok(found) => Arc::new(found),
                Err(open) => return to_be_continued(redis, entries, page, open).await,
            };
        }
        let from = match &after {
            Some(after) => found.names.partition_point(|name| name <= after),
            None => 0,
        };
        let rest = &found.names[from..];
        if rest.is_empty() && found.cut {
            walk = Some(Walk::new(redis, after.clone()));
            continue;
        }
        let lacking = (page.limit - entries.len()).saturating_add(1);
        let some = &rest[..rest.len().min(lacking.clamp(TOGETHER.0, TOGETHER.1))];
        // No mutex at all: still the page has a time.
        let (more, at) = survey(redis, some).await?;
        now = now.max(at);
        entries.extend(more);
        let Some(last) = some.last() else { break };
        after = Some(last.clone());
    }
    let bookmark = Bookmark::new(Kept::Found(found));
    Ok(Listing::of(entries, page, now).with_bookmark(bookmark))
}

/// What was told before the walk came to no end, perhaps nothing.
async fn to_be_continued(
    redis: &Redis,
    entries: Vec<Entry>,
    page: &Page,
    walk: Walk,
) -> Result<Listing> {
    let mut listing = Listing::of(entries, page, time(redis).await?);
    let begin = || MutexName::found("");
    listing.next = Some(walk.after.clone().unwrap_or_else(begin));
    Ok(listing.with_bookmark(Bookmark::new(Kept::Walking(Arc::new(walk)))))
}

/// The time of the store.
async fn time(redis: &Redis) -> Result<StoreTime> {
    let value = redis.0.servers.ask(&redis::cmd("TIME")).await?;
    let (seconds, micros) = <(u64, u64)>::from_redis_value(value).map_err(nonsense)?;
    let millis = seconds.saturating_mul(1_000) + micros / 1_000;
    Ok(StoreTime::from_millis(millis))
}

/// Some keys of the store, and where the walk goes on; "0" at its end.
pub(super) async fn scan(
    redis: &Redis,
    server: &Server,
    cursor: &str,
) -> Result<(String, Vec<Vec<u8>>)> {
    let mut command = redis::cmd("SCAN");
    command.arg(cursor).arg("MATCH");
    command.arg(keys::pattern(&redis.0.config.prefix));
    command.arg("COUNT").arg(STRIDE);
    let value: Value = server.ask(&command).await?;
    FromRedisValue::from_redis_value(value).map_err(nonsense)
}

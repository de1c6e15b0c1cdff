//! All mutexes of the store, a page at a time.
//!
//! SCAN knows no order, so a listing walks through all keys once, for its
//! first page, and the caller keeps the names that were found for the pages
//! after it. That is a bounded number: beyond it the next names are found by
//! another walk. Mutexes that are taken during a listing may be missing in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use redis::{FromRedisValue, Value};
use tokio::task::JoinSet;

use super::client::Redis;
use super::error::nonsense;
use super::keys;
use super::look::survey;
use super::server::Server;
use crate::backend::{Bookmark, Listing, Page};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};

/// The most names that are kept for the pages to come: some ten megabytes.
const MOST: usize = 100_000;

/// How many keys the server looks at in one SCAN: about a millisecond.
const STRIDE: usize = 5_000;

/// How many mutexes are looked at together: what the page lacks, within these.
const TOGETHER: (usize, usize) = (200, 1_200);

/// The names that were found, in order.
struct Found {
    names: Vec<MutexName>,
    /// There are more behind the last.
    cut: bool,
}

pub(super) async fn list(redis: &Redis, page: &Page) -> Result<Listing> {
    if let Some(names) = &page.names {
        let (entries, now) = survey(redis, names).await?;
        return Ok(Listing::of(entries, page, now));
    }
    let kept = page
        .bookmark
        .as_ref()
        .and_then(|kept| kept.get::<Arc<Found>>());
    let mut found = match kept {
        Some(found) => Arc::clone(found),
        None => Arc::new(find(redis, page.after.as_ref()).await?),
    };
    let (mut entries, mut now) = (Vec::new(), StoreTime::ZERO);
    let mut after = page.after.clone();
    while entries.len() <= page.limit {
        let from = match &after {
            Some(after) => found.names.partition_point(|name| name <= after),
            None => 0,
        };
        let rest = &found.names[from..];
        if rest.is_empty() && found.cut {
            found = Arc::new(find(redis, after.as_ref()).await?);
            continue;
        }
        let lacking = (page.limit - entries.len()).saturating_add(1);
        let some = &rest[..rest.len().min(lacking.clamp(TOGETHER.0, TOGETHER.1))];
        // Nobody at all: still the page has a time.
        let (more, at) = survey(redis, some).await?;
        now = now.max(at);
        entries.extend(more);
        let Some(last) = some.last() else { break };
        after = Some(last.clone());
    }
    let bookmark = Bookmark::new(found);
    Ok(Listing::of(entries, page, now).with_bookmark(bookmark))
}

/// Walks through all keys of all servers.
async fn find(redis: &Redis, after: Option<&MutexName>) -> Result<Found> {
    let mut walks = JoinSet::new();
    for server in redis.0.servers.masters() {
        let (redis, after) = (redis.clone(), after.cloned());
        walks.spawn(async move { walk(&redis, &server, after.as_ref()).await });
    }
    let (mut names, mut cut) = (BTreeSet::new(), false);
    while let Some(walked) = walks.join_next().await {
        let (some, some_cut) = walked.map_err(nonsense)??;
        cut |= some_cut;
        names.extend(some);
    }
    while names.len() > MOST {
        names.pop_last();
        cut = true;
    }
    Ok(Found {
        names: names.into_iter().collect(),
        cut,
    })
}

/// The first names after `after` on one server, and whether that is not all.
async fn walk(
    redis: &Redis,
    server: &Server,
    after: Option<&MutexName>,
) -> Result<(BTreeSet<MutexName>, bool)> {
    let prefix = redis.0.config.prefix.as_bytes();
    let (mut names, mut cut) = (BTreeSet::new(), false);
    let mut cursor = "0".to_owned();
    loop {
        let (next, found) = scan(redis, server, &cursor).await?;
        let found = found
            .iter()
            .filter_map(|key| keys::name_in_use(prefix, key));
        for name in found.filter(|name| after.is_none_or(|after| name > after)) {
            names.insert(name);
            if names.len() > MOST {
                names.pop_last();
                cut = true;
            }
        }
        if next == "0" {
            return Ok((names, cut));
        }
        cursor = next;
    }
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

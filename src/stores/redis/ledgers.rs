//! The ledgers of the store, a page at a time.
//!
//! SCAN knows no order: the names are found by one walk, for the first page,
//! and the caller keeps them for the pages after it. There are as many as there
//! are schedules.

use std::collections::BTreeSet;
use std::sync::Arc;

use redis::{FromRedisValue, Value};

use super::batches::together;
use super::client::Redis;
use super::error::nonsense;
use super::keys;
use super::ledger::read_entry;
use super::list::scan;
use super::look::unreachable_keys;
use super::reply::read_time;
use super::scripts::Lua;
use crate::backend::{Bookmark, LedgerLine, Ledgers, Page};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};

/// At most this many ledgers in one script: the server runs nothing beside it.
const BATCH: usize = 200;

pub(super) async fn list(redis: &Redis, page: &Page) -> Result<Ledgers> {
    let kept = page.bookmark.as_ref();
    let kept = kept.and_then(|kept| kept.get::<Arc<Vec<MutexName>>>());
    let names = match (&page.names, kept) {
        (Some(names), _) => Arc::new(names.to_vec()),
        (None, Some(names)) => Arc::clone(names),
        (None, None) => Arc::new(find(redis).await?),
    };
    let from = match &page.after {
        Some(after) => names.partition_point(|name| name <= after),
        None => 0,
    };
    let (mut lines, mut now) = (Vec::new(), StoreTime::ZERO);
    for some in names[from..].chunks(BATCH) {
        let (more, at) = read(redis, some).await?;
        lines.extend(more);
        now = now.max(at);
        if lines.len() > page.limit {
            break;
        }
    }
    if now == StoreTime::ZERO {
        // No ledger at all: still the page has a time.
        let nobody = MutexName::new("tenure")?;
        now = super::look::look(redis, &nobody).await?.now();
    }
    Ok(Ledgers::of(lines, page, now).with_bookmark(Bookmark::new(names)))
}

/// The names of all ledgers, in order.
async fn find(redis: &Redis) -> Result<Vec<MutexName>> {
    let prefix = redis.0.config.prefix.as_bytes();
    let mut names = BTreeSet::new();
    for server in redis.0.servers.masters() {
        let mut cursor = "0".to_owned();
        loop {
            let (next, found) = scan(redis, &server, &cursor).await?;
            names.extend(
                found
                    .iter()
                    .filter_map(|key| keys::name_of_ledger(prefix, key)),
            );
            if next == "0" {
                break;
            }
            cursor = next;
        }
    }
    Ok(names.into_iter().collect())
}

/// The ledgers of `names`, in their order, and the time.
async fn read(redis: &Redis, names: &[MutexName]) -> Result<(Vec<LedgerLine>, StoreTime)> {
    let mut found: Vec<Option<LedgerLine>> = vec![None; names.len()];
    let mut others = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        match unreachable_keys(redis, name) {
            Some(fault) => found[at] = Some(LedgerLine::damaged(name.clone(), fault)),
            None => others.push(at),
        }
    }
    let is_cluster = redis.0.config.is_cluster();
    let key = |at: &usize| redis.keys(&names[*at]).owner;
    let mut now = StoreTime::ZERO;
    for group in together(others, BATCH, is_cluster, key) {
        let keys: Vec<String> = group
            .iter()
            .map(|at| redis.keys(&names[*at]).schedule())
            .collect();
        let value = redis.run(&Lua::Ledgers.call(&keys, &[])).await?;
        let Value::Array(parts) = value else {
            return Err(nonsense("ledgers that are no list"));
        };
        let mut parts = parts.into_iter();
        let time = String::from_redis_value(parts.next().unwrap_or_default()).map_err(nonsense)?;
        now = now.max(read_time(&time)?);
        for ((at, key), said) in group.iter().zip(&keys).zip(parts) {
            found[*at] = line(&names[*at], key, said);
        }
    }
    Ok((found.into_iter().flatten().collect(), now))
}

/// `None` when there is none.
fn line(name: &MutexName, key: &str, said: Value) -> Option<LedgerLine> {
    let remedy = format!("remove \"{key}\", and the schedule begins anew");
    if !matches!(said, Value::Array(_)) {
        let fault = format!("the key of its ledger is of another type: {remedy}");
        return Some(LedgerLine::damaged(name.clone(), fault));
    }
    match read_entry(said) {
        Ok(ledger) => ledger.map(|ledger| LedgerLine::new(name.clone(), ledger)),
        Err(what) => {
            let fault = format!("its ledger is damaged, it has {what}: {remedy}");
            Some(LedgerLine::damaged(name.clone(), fault))
        }
    }
}

//! Looking at one mutex, and at all of them.

use std::collections::BTreeSet;

use redis::{FromRedisValue, Value};

use super::client::Redis;
use super::fault::nonsense;
use super::keys;
use super::reply::{owner, read_time, read_word};
use super::scripts::Lua;
use super::server::Server;
use crate::backend::{Entry, Listing, Page};
use crate::error::Result;
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};

/// One mutex as it is now.
pub(super) struct Seen {
    pub(super) owner: MutexOwner,
    pub(super) now: StoreTime,
    fence: Option<FencingToken>,
    waiters: Vec<ContenderId>,
}

pub(super) async fn look(redis: &Redis, name: &MutexName, whole: bool) -> Result<Seen> {
    let wanted = if whole { "1" } else { "0" };
    let call = Lua::Look.call(&redis.keys(name).all(), &[wanted]);
    let value = redis.run(&call).await?;
    type Parts = (String, String, String, String, Vec<String>);
    let (word, grant, now, fence, waiters) = Parts::from_redis_value(value).map_err(nonsense)?;
    let now = read_time(&now)?;
    let fence = fence.parse().ok().map(FencingToken::from_store);
    Ok(Seen {
        owner: owner(&read_word(&word)?, &grant, now, None)?,
        now,
        fence: fence.transpose()?,
        // What is no id cannot be a waiter of ours, and a peer's would be one.
        waiters: waiters
            .into_iter()
            .filter_map(|id| ContenderId::new(id).ok())
            .collect(),
    })
}

/// SCAN knows no order, so each page walks through all keys of the store; it
/// is for people, and blocks nobody.
pub(super) async fn list(redis: &Redis, page: &Page) -> Result<Listing> {
    let mut names = BTreeSet::new();
    for server in redis.0.fleet.masters() {
        scan(redis, &server, page, &mut names).await?;
    }
    let mut entries = Vec::new();
    let mut now = StoreTime::ZERO;
    for name in names {
        let seen = look(redis, &name, true).await?;
        now = now.max(seen.now);
        if seen.owner == MutexOwner::NONE && seen.waiters.is_empty() {
            continue; // Gone since.
        }
        let token = seen.owner.token().or(seen.fence);
        entries.push(Entry::new(name, seen.owner, token).with_waiters(seen.waiters));
        if entries.len() > page.limit {
            break;
        }
    }
    Ok(Listing::of(entries, page, now))
}

/// Gathers the names after the page's beginning.
async fn scan(
    redis: &Redis,
    server: &Server,
    page: &Page,
    names: &mut BTreeSet<MutexName>,
) -> Result<()> {
    let prefix = &redis.0.config.prefix;
    let mut cursor = "0".to_owned();
    loop {
        let mut command = redis::cmd("SCAN");
        command.arg(&cursor).arg("MATCH").arg(keys::pattern(prefix));
        command.arg("COUNT").arg(1000);
        let value: Value = server.ask(&command).await?;
        let (next, found) = <(String, Vec<Vec<u8>>)>::from_redis_value(value).map_err(nonsense)?;
        let found = found
            .into_iter()
            .filter_map(|key| String::from_utf8(key).ok());
        let found = found.filter_map(|key| keys::name_of(prefix, &key));
        names.extend(found.filter(|name| page.after.as_ref().is_none_or(|after| name > after)));
        if next == "0" {
            return Ok(());
        }
        cursor = next;
    }
}

//! Removing what no process has used for long: fences, and ledgers.

use std::collections::BTreeSet;

use redis::FromRedisValue;
use tokio::task::JoinSet;

use super::batches::together;
use super::client::Redis;
use super::error::nonsense;
use super::keys;
use super::list::scan;
use super::scripts::Lua;
use crate::backend::{Bookmark, Prune, Pruned};
use crate::error::Result;
use crate::model::MutexName;

/// How many strides of keys one call looks at.
const STRIDES: usize = 4;

/// At most this many mutexes in one script: the server runs nothing beside it.
const BATCH: usize = 100;

/// Where the next call goes on.
struct Position {
    server: usize,
    cursor: String,
}

pub(super) async fn prune(redis: &Redis, prune: &Prune) -> Result<Pruned> {
    let kept = prune.bookmark.as_ref().and_then(Bookmark::get::<Position>);
    let (mut at, mut cursor) = match kept {
        Some(position) => (position.server, position.cursor.clone()),
        None => (0, "0".to_owned()),
    };
    let servers = redis.0.servers.masters();
    let prefix = redis.0.config.prefix.as_bytes();
    let mut names = BTreeSet::new();
    for _ in 0..STRIDES {
        let Some(server) = servers.get(at) else { break };
        let (next, found) = scan(redis, server, &cursor).await?;
        names.extend(
            found
                .iter()
                .filter_map(|key| keys::name_at_rest(prefix, key)),
        );
        cursor = next;
        if cursor == "0" {
            at += 1;
        }
    }
    let pruned = remove(redis, prune, names).await?;
    if at < servers.len() {
        let position = Position { server: at, cursor };
        return Ok(pruned.to_be_continued(Bookmark::new(position)));
    }
    Ok(pruned)
}

async fn remove(redis: &Redis, prune: &Prune, names: BTreeSet<MutexName>) -> Result<Pruned> {
    let micros = u64::try_from(prune.unused_for.as_micros()).unwrap_or(u64::MAX);
    let (micros, schedules) = (micros.to_string(), if prune.schedules { "1" } else { "0" });
    let mut calls = JoinSet::new();
    let is_cluster = redis.0.config.is_cluster();
    let key = |name: &MutexName| redis.keys(name).owner;
    for some in together(names, BATCH, is_cluster, key) {
        let keys: Vec<String> = some
            .iter()
            .flat_map(|name| {
                let keys = redis.keys(name);
                // Who was seen last stands in no way: it ends with the queue.
                let [owner, queue, grant, kept, _, fence] = keys.all();
                [owner, queue, fence, grant, kept, keys.schedule()]
            })
            .collect();
        let (redis, call) = (redis.clone(), Lua::Prune.call(&keys, &[&micros, schedules]));
        calls.spawn(async move { redis.run(&call).await });
    }
    let mut sum = Pruned::default();
    while let Some(done) = calls.join_next().await {
        let value = done.map_err(nonsense)??;
        let (fences, ledgers) = <(u64, u64)>::from_redis_value(value).map_err(nonsense)?;
        sum.mutexes += fences;
        sum.schedules += ledgers;
    }
    Ok(sum)
}

//! Which reentrant locks are held, for people.
//!
//! Their keys look like any other program's. Those that ours, or Redisson's fenced locks,
//! have taken are found by the token beside them; any other by its name.

use redis::{FromRedisValue, Value};

use super::client::RedisHash;
use super::names;
use crate::backend::Hold;
use crate::error::Result;
use crate::model::{FencingToken, MutexName, Purpose};
use crate::stores::redis::error::nonsense;
use crate::stores::redis::scripts::Lua;

/// The most locks that are told.
const MOST: usize = 10_000;

/// How many keys the server looks at in one SCAN: about a millisecond.
const STRIDE: usize = 5_000;

/// At most this many locks in one script: the server runs nothing beside it.
const BATCH: usize = 200;

pub(super) async fn survey(hash: &RedisHash, wanted: &[MutexName]) -> Result<Vec<Hold>> {
    hash.redis.check_open()?;
    let mut names = match wanted {
        [] => find(hash).await?,
        wanted => wanted.to_vec(),
    };
    let is_cluster = hash.redis.0.config.is_cluster();
    names.retain(|name| name.fault().is_none());
    names.retain(|name| !is_cluster || names::check_slots(name).is_ok());
    // In a cluster each lies in a slot of its own.
    let together = if is_cluster { 1 } else { BATCH };
    let mut holds = Vec::new();
    for some in names.chunks(together) {
        let keys: Vec<String> = some.iter().flat_map(names::both).collect();
        let value = hash.redis.run(&Lua::HoldSurvey.call(&keys, &[])).await?;
        let seen: Vec<Value> = FromRedisValue::from_redis_value(value).map_err(nonsense)?;
        for (name, seen) in some.iter().zip(seen) {
            holds.extend(hold(name, seen)?);
        }
    }
    Ok(holds)
}

/// `None` where there is no lock: one has a holder, a count and an expiry.
fn hold(name: &MutexName, seen: Value) -> Result<Option<Hold>> {
    type Parts = (Vec<u8>, String, i64, String);
    let (holder, count, left, token) = Parts::from_redis_value(seen).map_err(nonsense)?;
    let (Ok(left), Ok(count)) = (u64::try_from(left), count.parse()) else {
        return Ok(None);
    };
    if holder.is_empty() {
        return Ok(None);
    }
    let token = token.parse().ok();
    let purpose = purpose_of(&holder);
    Ok(Some(Hold {
        name: name.clone(),
        holder: crate::model::text::shown(&holder).into(),
        count,
        left: std::time::Duration::from_millis(left),
        token: token.and_then(|token| FencingToken::from_store(token).ok()),
        purpose,
    }))
}

/// What the UUID says with which a holder's id begins.
fn purpose_of(holder: &[u8]) -> Option<Purpose> {
    let client = holder.split(|byte| *byte == b':').next()?;
    let client = uuid::Uuid::try_parse_ascii(client).ok()?;
    Purpose::read_from(client.as_u128())
}

/// The names of all locks that have a token, in order.
async fn find(hash: &RedisHash) -> Result<Vec<MutexName>> {
    let mut found = Vec::new();
    for server in hash.redis.0.servers.masters() {
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg("redisson_lock_token:*");
            scan.arg("COUNT").arg(STRIDE);
            let answer = server.ask(&scan).await?;
            let (next, keys): (String, Vec<Vec<u8>>) =
                FromRedisValue::from_redis_value(answer).map_err(nonsense)?;
            found.extend(keys.iter().filter_map(|key| names::of_token(key)));
            if next == "0" || found.len() >= MOST {
                break;
            }
            cursor = next;
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chance;

    #[test]
    fn a_holder_says_what_for_and_redissons_say_nothing() {
        for purpose in Purpose::ALL {
            let client = uuid::Uuid::from_u128(purpose.marked_on(chance::bits()));
            for holder in [format!("{client}:import:4711"), format!("{client}:1~0")] {
                assert_eq!(purpose_of(holder.as_bytes()), Some(purpose));
            }
        }
        let redisson = format!("{}:47", chance::uuid());
        for holder in [redisson.as_bytes(), b"", b":", b"a-client:7", b"\xff:1"] {
            assert_eq!(purpose_of(holder), None, "{holder:?}");
        }
    }
}

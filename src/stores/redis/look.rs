//! Looking at mutexes: at one, and at many in few calls.

use redis::{FromRedisValue, Value};
use tokio::task::JoinSet;

use super::batches::together;
use super::client::Redis;
use super::error::nonsense;
use super::keys::Keys;
use super::messages::{FenceWord, OwnerWord, grant_number, grant_purpose};
use super::reply::{owner, read_time, read_word, texts};
use super::scripts::{Call, Lua};
use crate::backend::{Answer, Entry};
use crate::error::{Error, Result};
use crate::model::text::shown;
use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};

/// At most this many mutexes in one call: the server runs nothing beside a
/// script, here for two milliseconds or so.
const BATCH: usize = 400;

/// Tokens end below this: where numbers of Lua lose digits.
const END: u64 = 1 << 53;

/// Who owns `name`.
pub(super) async fn look(redis: &Redis, name: &MutexName) -> Result<Answer> {
    let call = Lua::Look.about(redis.keys(name), &[]);
    read(redis.run(&call).await?)
}

/// What the script says to a look.
pub(super) fn read(value: Value) -> Result<Answer> {
    let parts = texts(value)?;
    let [word, grant, now] = parts.as_slice() else {
        return Err(nonsense("half a look"));
    };
    let now = read_time(now)?;
    let owner = owner(&read_word(word)?, grant_number(grant), now, None)?;
    Ok(Answer::refused(owner, now))
}

/// Those of `names` that are in use or damaged, in their order, and the time.
pub(super) async fn survey(redis: &Redis, names: &[MutexName]) -> Result<(Vec<Entry>, StoreTime)> {
    let mut found: Vec<Option<Entry>> = vec![None; names.len()];
    let mut now = StoreTime::ZERO;
    let mut calls = JoinSet::new();
    for batch in batches(redis, names) {
        if let [at] = batch.as_slice()
            && let Some(fault) = unreachable_keys(redis, &names[*at])
        {
            if is_there(redis, &names[*at]).await? {
                found[*at] = Some(Entry::damaged(names[*at].clone(), fault));
            }
            continue;
        }
        let keys = batch.iter().flat_map(|at| redis.keys(&names[*at]).all());
        let call = Lua::Survey.call(&keys.collect::<Vec<_>>(), &[]);
        let redis = redis.clone();
        // All at once: one connection carries them in order.
        calls.spawn(async move { (batch, ask(&redis, &call).await) });
    }
    while let Some(done) = calls.join_next().await {
        let Ok((batch, answer)) = done else {
            return Err(nonsense("a look that ended without an answer"));
        };
        let (at_time, seen) = answer?;
        now = now.max(at_time);
        if seen.len() != batch.len() {
            return Err(nonsense("a look of another length"));
        }
        for (at, seen) in batch.into_iter().zip(seen) {
            found[at] = entry(&redis.keys(&names[at]), &names[at], seen, at_time);
        }
    }
    Ok((found.into_iter().flatten().collect(), now))
}

/// Which names go together: in a cluster those of one slot. Those whose keys
/// cannot be named stand alone.
fn batches(redis: &Redis, names: &[MutexName]) -> Vec<Vec<usize>> {
    let alone = |at: &usize| unreachable_keys(redis, &names[*at]).is_some();
    let (alone, others): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(alone);
    let mut batches: Vec<Vec<usize>> = alone.into_iter().map(|at| vec![at]).collect();
    let is_cluster = redis.0.config.is_cluster();
    let key = |at: &usize| redis.keys(&names[*at]).owner;
    batches.extend(together(others, BATCH, is_cluster, key));
    batches
}

/// Why nothing can be asked about the keys of `name`.
pub(super) fn unreachable_keys(redis: &Redis, name: &MutexName) -> Option<String> {
    let key = format!("{}{{{name}}}", redis.0.config.prefix);
    if std::str::from_utf8(name.as_bytes()).is_err() {
        return Some(format!(
            "its name is no UTF-8 text; if nobody needs it, revoke it, or remove \"{key}\" and \
             the keys that begin so with redis-cli"
        ));
    }
    let scattered = name.as_str().is_empty() || name.as_str().starts_with('}');
    (scattered && redis.0.config.is_cluster()).then(|| {
        format!("its keys lie in several slots; remove \"{key}\" and the keys that begin so")
    })
}

/// Whether there is anything under a name whose keys cannot be asked about in
/// a script. In a cluster it is not known where it would be.
async fn is_there(redis: &Redis, name: &MutexName) -> Result<bool> {
    for end in ENDS {
        let mut command = redis::cmd("PTTL");
        command.arg(key_of(redis, name, end));
        let found = redis.0.config.is_cluster()
            || i64::from_redis_value(redis.0.servers.ask(&command).await?).map_err(nonsense)? != -2;
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the keys of a mutex in use end with.
const ENDS: [&str; 5] = ["", ":contender", ":grant", ":kept", ":seen"];

/// A key of a name that may be no text.
fn key_of(redis: &Redis, name: &MutexName, end: &str) -> Vec<u8> {
    let mut key = format!("{}{{", redis.0.config.prefix).into_bytes();
    key.extend_from_slice(name.as_bytes());
    key.extend_from_slice(format!("}}{end}").as_bytes());
    key
}

/// One mutex as the script saw it.
pub(super) struct SeenMutex {
    owner: Option<Vec<u8>>,
    left: i64,
    grant: Vec<u8>,
    fence: Vec<u8>,
    is_kept: bool,
    waiters: Vec<Vec<u8>>,
    strange: String,
}

async fn ask(redis: &Redis, call: &Call) -> Result<(StoreTime, Vec<SeenMutex>)> {
    read_all(redis.run(call).await?)
}

/// What the script says of many.
pub(super) fn read_all(value: Value) -> Result<(StoreTime, Vec<SeenMutex>)> {
    let Value::Array(parts) = value else {
        return Err(nonsense("a look that is no list"));
    };
    let mut parts = parts.into_iter();
    let now = String::from_redis_value(parts.next().unwrap_or_default()).map_err(nonsense)?;
    type Parts = (
        Option<Vec<u8>>,
        i64,
        Vec<u8>,
        Vec<u8>,
        i64,
        Vec<Vec<u8>>,
        String,
    );
    let one = |value: Value| {
        let (owner, left, grant, fence, kept, waiters, strange) =
            Parts::from_redis_value(value).map_err(nonsense)?;
        Ok(SeenMutex {
            owner,
            left,
            grant,
            fence,
            is_kept: kept == 1,
            waiters,
            strange,
        })
    };
    Ok((read_time(&now)?, parts.map(one).collect::<Result<_>>()?))
}

/// One line of a listing; `None` when it is not in use.
pub(super) fn entry(
    keys: &Keys,
    name: &MutexName,
    seen: SeenMutex,
    now: StoreTime,
) -> Option<Entry> {
    let damaged = |fault: String| Some(Entry::damaged(name.clone(), fault));
    if !seen.strange.is_empty() {
        return damaged(format!(
            "another program uses a key of this mutex (another type: {}); move that program or \
             this one (option \"prefix\"), or revoke the mutex, which removes that key",
            seen.strange
        ));
    }
    let fence = shown(&seen.fence);
    let (fence, named) = FenceWord::parse(&fence).map_or((&*fence, None), |word| {
        let named = (word.owner, word.grant);
        (word.number, Some(named))
    });
    let last = (!fence.is_empty()).then(|| fence.parse::<u64>());
    // What is no id cannot be a waiter of ours, and a peer's would be one.
    let ids = seen.waiters.iter().filter_map(|id| {
        let id = std::str::from_utf8(id).ok()?;
        ContenderId::new(id).ok()
    });
    let waiters: Vec<_> = ids.collect();
    let id = seen.owner.filter(|_| !seen.is_kept);
    if let Some(fault) = fence_fault(fence, last.as_ref()) {
        return damaged(format!("{fault} (redis-cli DEL \"{}\")", keys.fence()));
    }
    let word = match id {
        None if seen.waiters.is_empty() => return None,
        None => OwnerWord::NONE,
        Some(id) => match std::str::from_utf8(&id).map(ContenderId::new) {
            Ok(Ok(owner)) => OwnerWord {
                owner: Some(owner),
                left: seen.left,
            },
            _ => {
                return damaged(format!(
                    "its owner's key holds {:?}, which is no contender id: wait until it expires, \
                     or revoke it",
                    shown(&id)
                ));
            }
        },
    };
    let named = named.filter(|(id, _)| {
        word.owner
            .as_ref()
            .is_some_and(|owner| owner.as_str() == *id)
    });
    let grant = named.map_or_else(|| shown(&seen.grant), |(_, grant)| grant.into());
    if word.owner.is_some() && !grant.is_empty() && grant_number(&grant).is_none() {
        return damaged(format!("its grant is {grant:?}, which is none; revoke it"));
    }
    let owner = owner(&word, grant_number(&grant), now, None).unwrap_or(MutexOwner::NONE);
    let last = last.and_then(|last| FencingToken::from_store(last.ok()?).ok());
    // The fence has the last grant of ours; a JVM owner has no part in that.
    let token = match word.owner {
        Some(_) => owner.token(),
        None => last,
    };
    // A grant beside a foreign owner's key is one that has ended.
    let purpose = word.owner.as_ref().and_then(|_| grant_purpose(&grant));
    let mut entry = Entry::new(name.clone(), owner, token)
        .with_waiters(waiters)
        .wanted_for(purpose);
    if word.owner.is_some() && word.left == -1 {
        entry.fault = Some(
            "it is owned for ever: its key has no expiry (somebody ran PERSIST, or SET it \
             without one); revoke it when its owner is surely gone"
                .into(),
        );
    }
    Some(entry)
}

fn fence_fault(
    fence: &str,
    last: Option<&std::result::Result<u64, std::num::ParseIntError>>,
) -> Option<String> {
    match last {
        Some(Ok(number)) if *number >= END - 1 => Some(format!(
            "its fence stands at {fence}, and tokens end below 2^53: remove it once no resource \
             remembers such a token"
        )),
        Some(Err(_)) => Some(format!(
            "its fence is {fence:?}, which is no number: remove it"
        )),
        _ => None,
    }
}

/// Removes the keys of a name that is no text.
pub(super) async fn remove(
    redis: &Redis,
    name: &MutexName,
    token: Option<FencingToken>,
) -> Result<Answer> {
    if redis.0.config.is_cluster() || token.is_some() {
        return Err(Error::conflict(
            "the name is no UTF-8 text: only a revocation without a token removes it, and in \
                 a cluster redis-cli -c DEL",
        ));
    }
    let mut command = redis::cmd("DEL");
    for end in ENDS.into_iter().chain([":fence"]) {
        command.arg(key_of(redis, name, end));
    }
    let removed = redis.0.servers.ask(&command).await?;
    let removed = i64::from_redis_value(removed).map_err(nonsense)? > 0;
    let answer = if removed {
        Answer::won
    } else {
        Answer::refused
    };
    Ok(answer(MutexOwner::NONE, StoreTime::ZERO))
}

//! The same for the keys of a reentrant lock.

use tenure::backend::{Answer, Backend, HoldStore};
use tenure::stores::redis::RedisHash;
use tenure::{Error, Outcome};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::Redis;
use tokio::time::timeout;

use super::is_changed;
use super::states::SNAPSHOT;
use crate::support::{PATIENCE, bid, client, fresh, held, long, win};

/// What is done to the lock's key `k` or to the token's `t`.
const DAMAGES: [(&str, &str); 27] = [
    ("nothing", ""),
    ("the lock is a string", "redis.call('SET', k, 'x')"),
    (
        "the lock is a list",
        "redis.call('DEL', k) redis.call('RPUSH', k, 'x')",
    ),
    (
        "the lock is a set",
        "redis.call('DEL', k) redis.call('SADD', k, 'x')",
    ),
    (
        "the lock is a sorted set",
        "redis.call('DEL', k) redis.call('ZADD', k, 1, 'x')",
    ),
    ("the lock is missing", "redis.call('DEL', k)"),
    (
        "the lock has no end",
        "redis.call('HSET', k, 'z', 1) redis.call('PERSIST', k)",
    ),
    ("the lock is at its end", "redis.call('PEXPIRE', k, 1)"),
    (
        "two hold it",
        "redis.call('HSET', k, 'z', 1) redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "another holds it",
        "redis.call('DEL', k) redis.call('HSET', k, 'z', 1) redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "no text holds it",
        r"redis.call('DEL', k) redis.call('HSET', k, '\255', 1) redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "no id holds it",
        r"redis.call('DEL', k) redis.call('HSET', k, 'a\1', 1) redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "nobody holds it",
        "redis.call('DEL', k) redis.call('HSET', k, '', 1) redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "the count is no number",
        "redis.call('HSET', k, 'a', 'x') redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "the count is below zero",
        "redis.call('HSET', k, 'a', '-7') redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "the count is huge",
        "redis.call('HSET', k, 'a', string.rep('9', 100000)) redis.call('PEXPIRE', k, 60000)",
    ),
    (
        "the token is a list",
        "redis.call('DEL', t) redis.call('RPUSH', t, 'x')",
    ),
    (
        "the token is a hash",
        "redis.call('DEL', t) redis.call('HSET', t, 'x', 'y')",
    ),
    ("the token is missing", "redis.call('DEL', t)"),
    ("the token has no end", "redis.call('PERSIST', t)"),
    ("the token is at its end", "redis.call('PEXPIRE', t, 1)"),
    ("the token is empty", "redis.call('SET', t, '')"),
    ("the token is no number", "redis.call('SET', t, 'nan')"),
    ("the token is below zero", "redis.call('SET', t, '-5')"),
    ("the token is a fraction", "redis.call('SET', t, '1.5')"),
    (
        "the token is huge",
        "redis.call('SET', t, '99999999999999999999')",
    ),
    ("the token is no text", r"redis.call('SET', t, '\255')"),
];

#[derive(Clone, Copy, Debug)]
enum Deed {
    Acquire,
    Renew,
    Release,
    Leave,
    Count,
    Look,
    Revoke,
}

const DEEDS: [Deed; 7] = [
    Deed::Acquire,
    Deed::Renew,
    Deed::Release,
    Deed::Leave,
    Deed::Count,
    Deed::Look,
    Deed::Revoke,
];

async fn judge(
    server: &Redis,
    locks: &RedisHash,
    damage: &str,
    is_held: bool,
    deed: Deed,
) -> Result<(), String> {
    let name = fresh("corrupt-hash");
    let first = bid(&name, "a", long()).with_unique_id();
    let owner = win(locks, &first).await;
    if !is_held {
        assert!(locks.release(&owner).await.unwrap().is_won());
    }
    let (lock, token) = (name.to_string(), format!("redisson_lock_token:{{{name}}}"));
    let script = format!("local k, t = KEYS[1], KEYS[2] {damage} return 1");
    server
        .command(&["EVAL", &script, "2", &lock, &token])
        .unwrap();
    let snapshot = || {
        server
            .command(&["EVAL", SNAPSHOT, "2", &lock, &token])
            .unwrap()
    };
    let before = snapshot();
    let newcomer = bid(&name, "c", long()).with_unique_id();
    let act = async {
        Ok::<_, Error>(match deed {
            Deed::Acquire => {
                let answer = locks.acquire(&newcomer).await?;
                held(&newcomer, &answer).filter(|_| answer.is_won())
            }
            Deed::Renew => {
                locks.renew(std::slice::from_ref(&owner)).await.remove(0)?;
                None
            }
            Deed::Release => locks.release(&owner).await.map(|_| None)?,
            Deed::Leave => locks.leave(&first).await.map(|()| None)?,
            Deed::Count => locks.record(&owner, 2).await.map(|_| None)?,
            Deed::Look => locks.owner(&name).await.map(|_| None)?,
            Deed::Revoke => locks.revoke(&name, None).await.map(|_| None)?,
        })
    };
    let won = match timeout(PATIENCE, act).await.map_err(|_| "hangs")? {
        Ok(won) => won,
        Err(error) if error.outcome() != Outcome::DidNot => {
            return Err(format!("the server answered, but: {error:?}"));
        }
        Err(error) => {
            let after = snapshot();
            if is_changed(&before, &after) {
                return Err(format!("{error} did something:\n{before}\n--\n{after}"));
            }
            None
        }
    };
    // In one batch with a lock that is well.
    let well = win(locks, &bid(&fresh("well"), "n", long()).with_unique_id()).await;
    let answers = locks.renew(&[owner.clone(), well.clone()]).await;
    if !matches!(&answers[1], Ok(answer) if answer.is_won()) {
        return Err(format!("the neighbour was hurt: {:?}", answers[1]));
    }
    locks
        .release(&well)
        .await
        .map_err(|error| error.to_string())?;
    server_is_right(locks, &owner, won.as_ref()).await?;
    server.command(&["DEL", &lock, &token]).unwrap();
    Ok(())
}

/// At most one of the two is renewed, and the later has the larger token.
async fn server_is_right(
    locks: &RedisHash,
    owner: &tenure::backend::Held,
    won: Option<&tenure::backend::Held>,
) -> Result<(), String> {
    let Some(won) = won else { return Ok(()) };
    if won.token <= owner.token {
        return Err(format!(
            "the token fell from {} to {}",
            owner.token, won.token
        ));
    }
    let answers = locks.renew(&[owner.clone(), won.clone()]).await;
    let is_won = |answer: &tenure::Result<Answer>| matches!(answer, Ok(answer) if answer.is_won());
    if answers.iter().all(is_won) {
        return Err("two hold it".into());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_corrupt_lock_has_two_holders() {
    let server = crate::support::shared();
    let locks = RedisHash::of(client(server).await);
    let mut faults = Vec::new();
    for (name, damage) in DAMAGES {
        for is_held in [true, false] {
            for deed in DEEDS {
                if let Err(what) = judge(server, &locks, damage, is_held, deed).await {
                    faults.push(format!("{name}, held {is_held}, {deed:?}: {what}"));
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{}:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

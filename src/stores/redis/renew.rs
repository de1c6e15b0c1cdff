//! Renewing many grants in few calls.

use std::time::Duration;

use redis::Value;

use super::arguments::GrantWords;
use super::batches::together;
use super::client::{Redis, too_few, wait_limit};
use super::error::nonsense;
use super::messages::number_beside;
use super::reply::{millis, owner, parts, read_time, read_word, text};
use super::scripts::{Call, Lua};
use super::server::Manner;
use crate::backend::{Answer, Held};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// At most this many grants in one call: the server runs nothing beside a script.
const BATCH: usize = 200;

pub(super) async fn renew(redis: &Redis, held: &[Held]) -> Vec<Result<Answer>> {
    let key = |held: &Held| redis.keys(&held.name).owner;
    in_batches(redis, held, key, ask).await
}

/// Asks for all of `held` in as few calls as can be; `key` says where in a
/// cluster each one lies.
pub(super) async fn in_batches<F>(
    redis: &Redis,
    held: &[Held],
    key: impl Fn(&Held) -> String,
    ask: fn(Redis, Vec<Held>, Manner) -> F,
) -> Vec<Result<Answer>>
where
    F: Future<Output = Result<Vec<Result<Answer>>>> + Send + 'static,
{
    let manner = match manner_for(redis, held).await {
        Ok(manner) => manner,
        Err(error) => return held.iter().map(|_| Err(error.clone())).collect(),
    };
    let mut answers: Vec<Option<Result<Answer>>> = held.iter().map(|_| None).collect();
    // One mutex may come twice, by a grant that was lost and by a newer one:
    // the script judges each grant by itself.
    let is_cluster = redis.0.config.is_cluster();
    let batches = together(0..held.len(), BATCH, is_cluster, |at| key(&held[*at]));
    // All at once: one connection carries them in order, several in parallel.
    let mut calls = tokio::task::JoinSet::new();
    for batch in batches {
        let part: Vec<Held> = batch.iter().map(|at| held[*at].clone()).collect();
        let call = ask(redis.clone(), part, manner.clone());
        calls.spawn(async move { (batch, call.await) });
    }
    while let Some(done) = calls.join_next().await {
        let Ok((batch, part)) = done else { continue };
        match part {
            Ok(part) => {
                for (at, answer) in batch.into_iter().zip(part) {
                    answers[at] = Some(answer);
                }
            }
            Err(error) => {
                for at in batch {
                    answers[at] = Some(Err(error.clone()));
                }
            }
        }
    }
    let missing = || Err(nonsense("no answer to a renewal"));
    answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(missing))
        .collect()
}

/// Where renewals count. Asked anew by each renewal, once for all: the tenures
/// are extended from before it began.
async fn manner_for(redis: &Redis, held: &[Held]) -> Result<Manner> {
    redis.check_open()?;
    let limit = limit_of(held);
    Ok(redis.0.servers.confirmed(redis.now(), limit).await?.0)
}

/// How long sentinels and replicas may take.
fn limit_of(held: &[Held]) -> Duration {
    let shortest = held.iter().map(|held| wait_limit(&held.terms)).min();
    shortest.unwrap_or_default()
}

async fn ask(redis: Redis, held: Vec<Held>, manner: Manner) -> Result<Vec<Result<Answer>>> {
    let mut names = Vec::with_capacity(held.len() * 2);
    let mut owned: Vec<String> = Vec::with_capacity(held.len() * 3);
    for held in &held {
        let keys = redis.keys(&held.name);
        names.extend([keys.of_grant(held), keys.owner].into_iter().rev());
        let lease = millis(held.terms.lease()).to_string();
        let grant = GrantWords::of(held).to_string();
        owned.extend([held.contender.to_string(), grant, lease]);
    }
    let arguments: Vec<&str> = owned.iter().map(String::as_str).collect();
    let call = Lua::Renew.call(&names, &arguments);
    send(&redis, &call, &held, &manner, read).await
}

/// Of each that was asked for.
pub(super) type Answers = Vec<Result<Answer>>;

/// Sends a renewal of `held`, and waits for replicas where that is asked for.
pub(super) async fn send(
    redis: &Redis,
    call: &Call,
    held: &[Held],
    manner: &Manner,
    read: fn(Value, &[Held]) -> Result<Answers>,
) -> Result<Answers> {
    let (config, servers) = (&redis.0.config, &redis.0.servers);
    let wanted = config.wait_replicas;
    if wanted == 0 {
        return read(servers.run(call, manner).await?, held);
    }
    let limit = limit_of(held);
    let waited = servers.run_and_wait(call, manner, |_| true, wanted, limit);
    let (value, number) = waited.await?;
    let mut answers = read(value, held)?;
    if number < u64::from(wanted) {
        // What a fail-over would forget is no renewal; it is tried again. That a
        // grant is another's is so, however few have heard of it.
        for answer in &mut answers {
            if answer.as_ref().is_ok_and(Answer::is_won) {
                *answer = Err(too_few(number, wanted, Outcome::Did));
            }
        }
    }
    Ok(answers)
}

/// What the script says of each.
pub(super) fn read(value: Value, held: &[Held]) -> Result<Vec<Result<Answer>>> {
    let parts = parts(value)?;
    let Some((now, parts)) = parts
        .split_first()
        .filter(|(_, rest)| rest.len() == held.len() * 2)
    else {
        return Err(nonsense("a renewal's answer of another length"));
    };
    let now = read_time(&text(now)?)?;
    let one = |(held, pair): (&Held, &[Vec<u8>])| -> Result<Answer> {
        let [word, grant] = pair else {
            return Err(nonsense("half an answer"));
        };
        // Each by itself: what is no text in one must not end the others.
        let (word, grant) = (&text(word)?, &text(grant)?);
        if word == "error" {
            return Err(Error::new(ErrorKind::Conflict, Outcome::DidNot)
                .with_mutex(&held.name)
                .with_message(format!("a key of this mutex holds something else: {grant}")));
        }
        let word = read_word(word)?;
        let is_same = word.owner.as_ref() == Some(&held.contender);
        let won = is_same && *grant == GrantWords::of(held).to_string();
        let number = number_beside(&word, grant);
        let owner = owner(&word, number, now, won.then_some(&held.terms))?;
        Ok(if won {
            Answer::won(owner, now)
        } else {
            Answer::refused(owner, now)
        })
    };
    Ok(held.iter().zip(parts.chunks(2)).map(one).collect())
}

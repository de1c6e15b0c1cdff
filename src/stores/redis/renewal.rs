//! Renewing many grants in few calls.

use std::collections::BTreeMap;

use redis::Value;

use super::client::{Redis, grant_of, too_few, wait_limit};
use super::fault::nonsense;
use super::keys;
use super::reply::{millis, owner, read_time, read_word, texts};
use super::scripts::Lua;
use super::server::Manner;
use crate::backend::{Answer, Held};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// At most this many grants in one call: a script lets nobody else in.
const BATCH: usize = 200;

pub(super) async fn renew(redis: &Redis, held: &[Held]) -> Vec<Result<Answer>> {
    if let Err(closed) = redis.is_open() {
        return held.iter().map(|_| Err(closed.clone())).collect();
    }
    let mut answers: Vec<Option<Result<Answer>>> = held.iter().map(|_| None).collect();
    let batches = batches(redis, held);
    // All at once: one connection carries them in order, several in parallel.
    let mut calls = tokio::task::JoinSet::new();
    for batch in batches {
        let redis = redis.clone();
        let part: Vec<Held> = batch.iter().map(|at| held[*at].clone()).collect();
        calls.spawn(async move {
            let answers = renew_batch(&redis, &part).await;
            (batch, answers)
        });
    }
    while let Some(done) = calls.join_next().await {
        let Ok((batch, part)) = done else { continue };
        for (at, answer) in batch.into_iter().zip(part) {
            answers[at] = Some(answer);
        }
    }
    let missing = || Err(nonsense("no answer to a renewal"));
    answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(missing))
        .collect()
}

/// Which grants go together: in a cluster those of one slot, and in one call
/// no mutex twice, so that an answer tells what its own renewal did.
fn batches(redis: &Redis, held: &[Held]) -> Vec<Vec<usize>> {
    if !redis.0.config.is_cluster() {
        let all: Vec<usize> = (0..held.len()).collect();
        return all.chunks(BATCH).map(<[usize]>::to_vec).collect();
    }
    let mut slots: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (at, held) in held.iter().enumerate() {
        let slot = keys::slot(&redis.keys(&held.name).owner);
        slots.entry(slot).or_default().push(at);
    }
    let split = |all: Vec<usize>| all.chunks(BATCH).map(<[usize]>::to_vec).collect::<Vec<_>>();
    slots.into_values().flat_map(split).collect()
}

async fn renew_batch(redis: &Redis, held: &[Held]) -> Vec<Result<Answer>> {
    match ask(redis, held).await {
        Ok(answers) => answers,
        Err(error) => held.iter().map(|_| Err(error.clone())).collect(),
    }
}

async fn ask(redis: &Redis, held: &[Held]) -> Result<Vec<Result<Answer>>> {
    let mut names = Vec::with_capacity(held.len() * 2);
    let mut owned: Vec<String> = Vec::with_capacity(held.len() * 3);
    for held in held {
        let keys = redis.keys(&held.name);
        names.extend([keys.grant(), keys.owner].into_iter().rev());
        let lease = millis(held.terms.lease()).to_string();
        owned.extend([held.contender.to_string(), grant_of(held), lease]);
    }
    let arguments: Vec<&str> = owned.iter().map(String::as_str).collect();
    let call = Lua::Renew.call(&names, &arguments);
    let config = &redis.0.config;
    let value = if config.wait_replicas == 0 {
        redis.run(&call).await?
    } else {
        let shortest = held.iter().map(|held| wait_limit(&held.terms)).min();
        let (manner, limit) = (Manner::default(), shortest.unwrap_or_default());
        let waited =
            redis
                .0
                .fleet
                .run_and_wait(&call, manner, |_| true, config.wait_replicas, limit);
        let (value, number) = waited.await?;
        // What a fail-over would forget is no renewal; it is tried again.
        if number < u64::from(config.wait_replicas) {
            return Err(too_few(number, config.wait_replicas, Outcome::Did));
        }
        value
    };
    read(value, held)
}

fn read(value: Value, held: &[Held]) -> Result<Vec<Result<Answer>>> {
    let parts = texts(value)?;
    let Some((now, parts)) = parts
        .split_first()
        .filter(|(_, rest)| rest.len() == held.len() * 2)
    else {
        return Err(nonsense("a renewal's answer of another length"));
    };
    let now = read_time(now)?;
    let one = |(held, pair): (&Held, &[String])| -> Result<Answer> {
        let [word, grant] = pair else {
            return Err(nonsense("half an answer"));
        };
        if word == "error" {
            return Err(Error::new(ErrorKind::Conflict, Outcome::DidNot)
                .with_mutex(&held.name)
                .with_message(format!("a key of this mutex holds something else: {grant}")));
        }
        let word = read_word(word)?;
        let won = word.owner.as_ref() == Some(&held.contender) && *grant == grant_of(held);
        let owner = owner(&word, grant, now, won.then_some(&held.terms))?;
        Ok(if won {
            Answer::won(owner, now)
        } else {
            Answer::refused(owner, now)
        })
    };
    Ok(held.iter().zip(parts.chunks(2)).map(one).collect())
}

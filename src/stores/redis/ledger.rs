//! The run ledger of a schedule: a hash beside the mutex's keys.

use std::collections::HashMap;

use redis::{FromRedisValue, Value};

use super::arguments::GrantWords;
use super::client::{Redis, too_few, wait_limit};
use super::error::nonsense;
use super::reply::texts;
use super::scripts::{Call, Lua};
use super::server::Manner;
use crate::backend::url::brief;
use crate::backend::{Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use crate::error::{Error, Outcome, Result};
use crate::model::{FencingToken, MutexName, StoreTime};

pub(super) async fn read(redis: &Redis, name: &MutexName) -> Result<Option<LedgerEntry>> {
    let key = redis.keys(name).schedule();
    entry(redis.run(&Lua::Ledger.call(&[key], &[])).await?)
}

pub(super) async fn claim(redis: &Redis, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
    let keys = redis.keys(&held.name);
    let names = [keys.owner.clone(), keys.of_grant(held), keys.schedule()];
    let numbers = [
        GrantWords::of(held).to_string(),
        held.token.to_string(),
        claim.origin.to_string(),
        claim.tick.to_string(),
        claim.due_at.to_string(),
    ];
    let [grant, token, origin, tick, due_at] = &numbers;
    let note = LedgerEntry::claimed(claim, held.token).note();
    let note = note.unwrap_or_default();
    let flag = |on| if on { "1" } else { "0" };
    let arguments = [
        held.contender.as_str(),
        grant,
        token,
        &claim.plan,
        origin,
        tick,
        due_at,
        flag(claim.again),
        flag(claim.replace_plan),
        claim.state().word(),
        &note,
        redis.waits(),
    ];
    let call = Lua::Claim.call(&names, &arguments);
    let (value, short) = send(redis, held, &call, |value| !is_lost(value)).await?;
    let answer = read_claim(value)?;
    // Only what was written can be forgotten.
    let is_written = match &answer {
        ClaimAnswer::Refused(entry) => entry.last_tick == claim.tick && entry.token == held.token,
        answer => *answer == ClaimAnswer::Claimed,
    };
    match short {
        Some(error) if is_written => Err(error),
        _ => Ok(answer),
    }
}

fn is_lost(value: &Value) -> bool {
    let Value::Array(parts) = value else {
        return false;
    };
    matches!(parts.first(), Some(Value::BulkString(word)) if word == b"lost")
}

fn read_claim(value: Value) -> Result<ClaimAnswer> {
    let Value::Array(parts) = value else {
        return Err(nonsense("a claim's answer that is no list"));
    };
    let mut parts = parts.into_iter();
    let what = parts.next().unwrap_or_default();
    let ledger = parts.next().unwrap_or_default();
    match String::from_redis_value(what).map_err(nonsense)?.as_str() {
        "claimed" => Ok(ClaimAnswer::Claimed),
        "lost" => Ok(ClaimAnswer::NotOwner),
        _ => match entry(ledger)? {
            Some(entry) => Ok(ClaimAnswer::Refused(entry)),
            None => Err(nonsense("a refusal without a ledger")),
        },
    }
}

/// Sends what changes the ledger. Where replicas are asked for it counts only once enough of them
/// have it, which the error denies: a tick that a fail-over forgets would be run again.
async fn send(
    redis: &Redis,
    held: &Held,
    call: &Call,
    is_written: impl Fn(&Value) -> bool,
) -> Result<(Value, Option<Error>)> {
    let wanted = redis.0.config.wait_replicas;
    if wanted == 0 {
        return Ok((redis.run(call).await?, None));
    }
    redis.check_open()?;
    let (manner, limit) = (Manner::default(), wait_limit(&held.terms));
    let servers = &redis.0.servers;
    let waited = servers.run_and_wait(call, &manner, is_written, wanted, limit);
    let (value, number) = Box::pin(waited).await?;
    let is_short = number < u64::from(wanted);
    let short = is_short.then(|| too_few(number, wanted, Outcome::MayHave));
    Ok((value, short))
}

pub(super) async fn finish(redis: &Redis, held: &Held, end: &TickEnd) -> Result<bool> {
    let key = redis.keys(&held.name).schedule();
    let (tick, token) = (end.tick.to_string(), held.token.to_string());
    let note = end.note(held.token).unwrap_or_default();
    let arguments = [tick.as_str(), &token, end.state().word(), &note];
    let value = redis.run(&Lua::Finish.call(&[key], &arguments)).await?;
    Ok(value == Value::Int(1))
}

/// Another program has written it: asking again does not help.
fn damaged(what: impl std::fmt::Display) -> Error {
    Error::conflict(format!(
        "the ledger of this schedule is damaged: it has {what}; remove its key, which ends in \
         \":schedule\", and the schedule begins anew"
    ))
}

fn entry(value: Value) -> Result<Option<LedgerEntry>> {
    read_entry(value).map_err(damaged)
}

/// The ledger, or what is wrong with it.
pub(super) fn read_entry(value: Value) -> std::result::Result<Option<LedgerEntry>, String> {
    let flat = texts(value).map_err(|_| "a part that is no text")?;
    if flat.is_empty() {
        return Ok(None);
    }
    let pairs = flat
        .chunks_exact(2)
        .map(|pair| (pair[0].as_str(), pair[1].as_str()));
    let fields: HashMap<&str, &str> = pairs.collect();
    let text = |key: &str| {
        let field = fields.get(key).copied();
        field.ok_or_else(|| format!("no {key:?}"))
    };
    let number = |key: &str| -> std::result::Result<u64, String> {
        let digits = text(key)?.parse();
        digits.map_err(|_| format!("a {key:?} that is no number"))
    };
    let state = text("state")?;
    let state = TickState::of_word(state).ok_or_else(|| format!("the state {:?}", brief(state)))?;
    let time = |key| number(key).map(StoreTime::from_millis);
    let finished = text("finished_at")?;
    let entry = LedgerEntry {
        plan: text("plan")?.into(),
        origin: time("origin")?,
        last_tick: number("last_tick")?,
        due_at: time("due_at")?,
        token: FencingToken::from_value(number("token")?).map_err(|_| "a token that is none")?,
        state,
        finished_at: (!finished.is_empty())
            .then(|| time("finished_at"))
            .transpose()?,
        begun_at: None,
    };
    // Earlier versions write none.
    let note = fields.get("run").copied().unwrap_or_default();
    Ok(Some(entry.with_note(note)))
}

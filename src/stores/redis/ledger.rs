//! The run ledger of a schedule: a hash beside the mutex's keys.

use std::collections::HashMap;

use redis::{FromRedisValue, Value};

use super::client::{Redis, grant_of};
use super::error::nonsense;
use super::reply::texts;
use super::scripts::Lua;
use crate::backend::url::brief;
use crate::backend::{Claim, ClaimAnswer, Held, LedgerEntry, TickEnd, TickState};
use crate::error::{Error, Result};
use crate::model::{FencingToken, MutexName, StoreTime};

pub(super) async fn read(redis: &Redis, name: &MutexName) -> Result<Option<LedgerEntry>> {
    let key = redis.keys(name).schedule();
    entry(redis.run(&Lua::Ledger.call(&[key], &[])).await?)
}

pub(super) async fn claim(redis: &Redis, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
    let keys = redis.keys(&held.name);
    let names = [keys.owner.clone(), keys.grant(), keys.schedule()];
    let numbers = [
        grant_of(held),
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
    ];
    let value = redis.run(&Lua::Claim.call(&names, &arguments)).await?;
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

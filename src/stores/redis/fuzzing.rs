//! Answers of a server as a fuzzer makes them up, read as the client reads them. For
//! crates/fuzz alone.

use std::hint::black_box;

use redis::Value;

use super::config::Address;
use super::keys::{Keys, name_at_rest, name_in_use, name_of_ledger};
use super::messages::OwnerEvent;
use super::reply::Reply;
use super::{ledger, look, renew, slots};
use crate::backend::{Answer, Bid, LedgerEntry};
use crate::error::Result;
use crate::model::{ContenderId, FencingToken, LeaseTerms, MutexName, StoreTime};

/// Reads `bytes` as the server's answer to every question that there is.
pub fn answers(bytes: &[u8]) {
    let Ok(value) = redis::parse_redis_value(bytes) else {
        return;
    };
    let Some(bid) = bid() else { return };
    let about = StoreTime::from_millis(1_800_000_000_000);
    for read in [
        Reply::read(value.clone(), about),
        Reply::of_take(value.clone(), &bid, None, about),
        Reply::of_take(value.clone(), &bid, Some(1_800_000_000_000_000), about),
    ] {
        let terms = read.is_ok().then_some(&bid.terms);
        judge(read.and_then(|reply| reply.answer(terms)));
    }
    let token = FencingToken::from_store(7);
    let held = token.map(|token| vec![bid.held(token); 2]);
    if let Ok(Ok(answers)) = held.map(|held| renew::read(value.clone(), &held)) {
        answers.into_iter().for_each(judge);
    }
    judge(look::read(value.clone()));
    if let Ok((now, all)) = look::read_all(value.clone()) {
        let keys = Keys::new("simba:", &bid.name);
        for seen in all {
            let entry = look::entry(&keys, &bid.name, seen, now);
            black_box(format!("{entry:?}"));
        }
    }
    let by = Address::Tcp("h".to_owned(), 1);
    black_box(format!("{:?}", slots::word(&value, &by)));
    black_box(entry(value).is_ok());
}

/// Reads `bytes` as keys, and as a message on a channel.
pub fn keys_and_messages(bytes: &[u8]) {
    for name in [
        name_in_use(b"simba:", bytes),
        name_at_rest(b"simba:", bytes),
        name_of_ledger(b"simba:", bytes),
    ] {
        black_box(format!("{name:?}"));
    }
    black_box(format!("{:?}", OwnerEvent::parse(bytes)));
}

/// Reads `bytes` as the server's answer to a question for a ledger.
pub fn ledger(bytes: &[u8]) -> Option<LedgerEntry> {
    let value = redis::parse_redis_value(bytes).ok()?;
    entry(value).ok()?
}

fn entry(value: Value) -> std::result::Result<Option<LedgerEntry>, String> {
    ledger::read_entry(value)
}

/// Whatever was said: who owns can be told, and for how long.
fn judge(answer: Result<Answer>) {
    match answer {
        Ok(answer) => {
            let left = answer.owner().remaining(answer.now());
            black_box((left, format!("{answer:?}")));
        }
        Err(error) => {
            black_box(format!("{error} {error:?}"));
        }
    }
}

fn bid() -> Option<Bid> {
    let name = MutexName::new("m").ok()?;
    let contender = ContenderId::new("a").ok()?;
    Some(Bid::new(name, contender, LeaseTerms::default()))
}

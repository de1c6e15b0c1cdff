//! The values: what they accept, what they refuse, and every formula on them.

mod contender;
mod error;
mod foreign_words;
mod json;
mod lease;
mod name;
mod owner;
mod period;
mod state;
mod time;
mod token;
mod url;
mod url_sweep;

use proptest::prelude::ProptestConfig;
use tenure::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};
use tenure::{Error, ErrorKind, Outcome, Result, Retry};

fn id(text: &str) -> ContenderId {
    ContenderId::new(text).unwrap()
}

fn name(text: &str) -> MutexName {
    MutexName::new(text).unwrap()
}

fn at(millis: u64) -> StoreTime {
    StoreTime::from_millis(millis)
}

fn token(number: u64) -> FencingToken {
    FencingToken::from_store(number).unwrap()
}

/// An owner from 0 with a ttl of 10 s and a transition of 6 s.
fn owner(text: &str) -> MutexOwner {
    MutexOwner::new(id(text), at(0), at(10_000), at(16_000))
}

/// The message of a refusal, which is the caller's fault and had no effect.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error: Error = result.expect_err("this should have been refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.outcome(), Outcome::DidNot);
    assert_eq!(error.retry(), Retry::Never);
    error.to_string()
}

#[track_caller]
fn assert_says(message: &str, words: &str) {
    assert!(message.contains(words), "{words:?} is not in {message:?}");
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    }
}

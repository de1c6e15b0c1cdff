//! What the scripts answer, as [`Answer`]s.

use std::time::Duration;

use redis::{FromRedisValue, Value};

use super::arguments::token_by_clock;
use super::error::nonsense;
use super::messages::{OwnerWord, grant_number};
use crate::backend::{Answer, Bid};
use crate::error::{Error, Result};
use crate::model::{FencingToken, LeaseTerms, MutexOwner, StoreTime};

/// The answer of a script about one mutex: what, owner word, grant, now,
/// score, rank, trouble and, of some, the rest. The usual answers are shorter.
#[derive(Debug)]
pub(super) struct Reply {
    verdict: Verdict,
    word: OwnerWord,
    /// The number of the grant, if there is one.
    number: Option<u64>,
    pub(super) now: StoreTime,
    place: Option<(u32, String)>,
    /// How long the server has been up, if it was asked.
    pub(super) up: Option<Duration>,
    /// What went wrong beside: a PUBLISH that was denied.
    pub(super) trouble: Option<String>,
    pub(super) rest: Option<Rest>,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Won,
    Refused,
    /// Its owner's key has no end.
    Persisted,
    /// The next number would be this one, which is too large.
    Exhausted(String),
}

/// What a call has left to others, to keep the server from being blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The mutex is free, and who is next stands behind dead ones.
    Dead,
    /// There are more in the queue that have fallen silent.
    Silent,
}

impl Rest {
    pub(super) fn read(text: &str) -> Option<Self> {
        match text {
            "dead" => Some(Self::Dead),
            "silent" => Some(Self::Silent),
            _ => None,
        }
    }
}

impl Reply {
    /// What a call has come to. Of answers that do not say the time it is
    /// `about`.
    pub(super) fn read(value: Value, about: StoreTime) -> Result<Self> {
        if value == Value::Int(1) {
            return Ok(Self::won(OwnerWord::NONE, None, about));
        }
        let parts = texts(value)?;
        let [what, word, grant, now, score, rank, trouble, rest @ ..] = parts.as_slice() else {
            return Err(nonsense(format!("{} parts", parts.len())));
        };
        let place = match (score.as_str(), rank.parse()) {
            ("", _) | (_, Err(_)) => None,
            (score, Ok(rank)) => Some((rank, score.to_owned())),
        };
        let up = (rank.is_empty()).then(|| score.parse().ok()).flatten();
        let now = match now.as_str() {
            "" => about,
            now => read_time(now)?,
        };
        Ok(Self {
            verdict: match what.as_str() {
                "won" => Verdict::Won,
                "persisted" => Verdict::Persisted,
                "exhausted" => Verdict::Exhausted(grant.clone()),
                _ => Verdict::Refused,
            },
            place,
            up: up.map(Duration::from_secs),
            trouble: (!trouble.is_empty()).then(|| trouble.clone()),
            rest: rest.first().and_then(|rest| Rest::read(rest)),
            ..Self::won(read_word(word)?, grant_number(grant), now)
        })
    }

    /// What a take of `bid` has come to. If no other was in its way that is the
    /// number alone, the microsecond it was made, or only that it has the number
    /// it named, which was `reckoned`.
    pub(super) fn of_take(
        value: Value,
        bid: &Bid,
        reckoned: Option<u64>,
        about: StoreTime,
    ) -> Result<Self> {
        let (number, now) = match (&value, token_by_clock(bid, reckoned)) {
            (Value::Int(1), Some(named)) => (named, about),
            (Value::Int(_), _) => return Err(nonsense("a token that was not named")),
            (Value::BulkString(digits), _) => {
                let digits = std::str::from_utf8(digits).map_err(nonsense)?;
                let number = digits.parse::<u64>().map_err(nonsense)?;
                (number, StoreTime::from_millis(number / 1000))
            }
            _ => return Self::read(value, about),
        };
        let word = OwnerWord {
            owner: Some(bid.contender.clone()),
            left: i64::try_from(bid.terms.lease().as_millis()).unwrap_or(i64::MAX),
        };
        Ok(Self::won(word, Some(number), now))
    }

    fn won(word: OwnerWord, number: Option<u64>, now: StoreTime) -> Self {
        Self {
            verdict: Verdict::Won,
            word,
            number,
            now,
            place: None,
            up: None,
            trouble: None,
            rest: None,
        }
    }

    pub(super) fn is_won(&self) -> bool {
        self.verdict == Verdict::Won
    }

    /// A win that is believed for at most `left`.
    pub(super) fn at_most(mut self, left: Option<Duration>) -> Self {
        if let (true, Some(left)) = (self.is_won(), left) {
            let left = i64::try_from(left.as_millis()).unwrap_or(i64::MAX);
            self.word.left = self.word.left.min(left);
        }
        self
    }

    /// The answer to a bid, a release or a revocation under `terms`.
    pub(super) fn answer(self, terms: Option<&LeaseTerms>) -> Result<Answer> {
        let won = match &self.verdict {
            Verdict::Persisted => return Err(persisted(&self.word)),
            Verdict::Exhausted(number) => return Err(exhausted(number)),
            Verdict::Won => true,
            Verdict::Refused => false,
        };
        let owner = owner(&self.word, self.number, self.now, terms.filter(|_| won))?;
        if won {
            return Ok(Answer::won(owner, self.now));
        }
        let refused = Answer::refused(owner, self.now);
        Ok(match self.place {
            Some((rank, score)) => refused.at_place(rank, score),
            None => refused,
        })
    }
}

/// The owner that `word` and the `number` of its grant tell of. The `terms` are
/// known of our own grants only.
pub(super) fn owner(
    word: &OwnerWord,
    number: Option<u64>,
    now: StoreTime,
    terms: Option<&LeaseTerms>,
) -> Result<MutexOwner> {
    let Some(id) = word.owner.clone() else {
        return Ok(MutexOwner::NONE);
    };
    let left = Duration::from_millis(u64::try_from(word.left).unwrap_or(0));
    let until = now + left;
    let Some(number) = number else {
        // A JVM owner, or a kept place. Without an end it owns for ever.
        let foreign = MutexOwner::foreign(id);
        return Ok(if word.left < 0 {
            foreign
        } else {
            foreign.owning_until(until)
        });
    };
    // The number of a grant is the microsecond it was made, unless the
    // server's clock was behind an earlier one.
    let since = StoreTime::from_millis(number / 1000).min(now);
    let made = match terms {
        Some(terms) => {
            let ttl_at = until.as_millis().saturating_sub(millis(terms.transition()));
            MutexOwner::new(id, since, StoreTime::from_millis(ttl_at), until)
        }
        None => MutexOwner::foreign(id)
            .acquired_since(since)
            .owning_until(until),
    };
    Ok(made.with_token(FencingToken::from_store(number)?))
}

pub(super) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn read_word(text: &str) -> Result<OwnerWord> {
    OwnerWord::parse(text).ok_or_else(no_id)
}

/// Another program has written what is no id into the owner's key.
fn no_id() -> Error {
    Error::conflict(
        "the owner's key of this mutex holds what is no contender id: another program uses it; \
         choose another mutex name, set the option \"prefix\", or revoke the mutex",
    )
}

pub(super) fn read_time(text: &str) -> Result<StoreTime> {
    let millis = text.parse().map_err(|_| nonsense("a time that is none"))?;
    Ok(StoreTime::from_millis(millis))
}

/// A list of texts.
pub(super) fn texts(value: Value) -> Result<Vec<String>> {
    parts(value)?.iter().map(|bytes| text(bytes)).collect()
}

/// A list of what may be texts.
pub(super) fn parts(value: Value) -> Result<Vec<Vec<u8>>> {
    Vec::<Vec<u8>>::from_redis_value(value).map_err(nonsense)
}

/// What is no text was written by another program, and stays until it is mended.
pub(super) fn text(bytes: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(bytes).map_err(|_| no_id())?;
    Ok(text.to_owned())
}

fn persisted(word: &OwnerWord) -> Error {
    let who = word.owner.as_ref().map_or("nobody", |id| id.as_str());
    Error::conflict(format!(
        "the mutex is held by {who:?} for ever: its key has no expiry (somebody ran PERSIST); \
         revoke it, or DEL the key when its owner is surely gone"
    ))
}

fn exhausted(number: &str) -> Error {
    Error::conflict(format!(
        "the fence of this mutex stands at {number}, and tokens end below 2^53: somebody has \
         written it; DEL the fence key once no resource remembers such a token"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{ContenderId, MutexName};

    fn reply(parts: [&str; 7]) -> Result<Reply> {
        let bulk = |part: &str| Value::BulkString(part.as_bytes().to_vec());
        let all = Value::Array(parts.iter().map(|part| bulk(part)).collect());
        Reply::read(all, StoreTime::from_millis(7))
    }

    #[test]
    fn a_win_has_token_and_times() {
        let won = reply([
            "won",
            "a@@2000",
            "1700000000000000 ff",
            "1700000000500",
            "",
            "",
            "",
        ]);
        let terms = LeaseTerms::new(Duration::from_millis(1500), Duration::from_millis(1000));
        let answer = won.unwrap().answer(Some(&terms.unwrap())).unwrap();
        let owner = answer.owner();
        assert_eq!(answer.token().unwrap().store(), 1_700_000_000_000_000);
        assert_eq!(owner.acquired_at().unwrap().as_millis(), 1_700_000_000_000);
        assert_eq!(owner.ttl_at().unwrap().as_millis(), 1_700_000_001_500);
        assert_eq!(
            owner.transition_at().unwrap().as_millis(),
            1_700_000_002_500
        );
    }

    #[test]
    fn a_number_alone_says_what_all_parts_would_say() {
        let terms = LeaseTerms::new(Duration::from_millis(1500), Duration::from_millis(500));
        let terms = terms.unwrap();
        let name = MutexName::new("m").unwrap();
        let bid = Bid::new(name, ContenderId::new("a").unwrap(), terms);
        let bulk = |digits: &str| Value::BulkString(digits.as_bytes().to_vec());
        let of_take = |value, reckoned, about| Reply::of_take(value, &bid, reckoned, about);
        let alone = of_take(bulk("1700000000000000"), None, StoreTime::ZERO).unwrap();
        let parts = ["won", "a@@2000", "1700000000000000 ff", "1700000000000"];
        let [what, word, grant, now] = parts;
        let whole = reply([what, word, grant, now, "", "", ""]).unwrap();
        let about = StoreTime::from_millis(1_700_000_000_000);
        let named = of_take(Value::Int(1), Some(1_700_000_000_000_000), about).unwrap();
        let [alone, whole, named] =
            [alone, whole, named].map(|reply| reply.answer(Some(&terms)).unwrap());
        assert_eq!((&alone, &named), (&whole, &whole));
        for nonsense in [bulk("-1"), bulk(""), Value::Int(7), Value::Int(1)] {
            assert!(of_take(nonsense, None, StoreTime::ZERO).is_err());
        }
    }

    #[test]
    fn an_answer_without_the_time_has_the_time_about() {
        let freed = reply(["won", "@@", "", "", "", "", ""]).unwrap();
        assert_eq!(freed.answer(None).unwrap().now().as_millis(), 7);
        let alone = Reply::read(Value::Int(1), StoreTime::from_millis(7)).unwrap();
        let answer = alone.answer(None).unwrap();
        assert_eq!(
            answer,
            Answer::won(MutexOwner::NONE, StoreTime::from_millis(7))
        );
    }

    #[test]
    fn a_foreign_owner_has_an_end_and_no_token() {
        let refused = reply(["refused", "jvm@@70", "", "1000", "5.25", "3", ""]).unwrap();
        let answer = refused.answer(None).unwrap();
        assert_eq!(answer.owner().token(), None);
        assert_eq!(answer.owner().transition_at().unwrap().as_millis(), 1070);
        let place = answer.place().unwrap();
        assert_eq!((place.rank, &*place.score), (3, "5.25"));
    }

    #[test]
    fn what_a_person_must_mend_is_a_conflict() {
        for parts in [
            ["persisted", "a@@-1", "", "1000", "", "", ""],
            ["exhausted", "@@", "9007199254740992", "1000", "", "", ""],
        ] {
            let error = reply(parts).unwrap().answer(None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
        }
        let error = reply(["refused", "no word", "", "1000", "", "", ""]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    }

    #[test]
    fn nonsense_is_an_error() {
        let read = |value| Reply::read(value, StoreTime::ZERO);
        assert!(read(Value::Nil).is_err());
        assert!(read(Value::Int(2)).is_err());
        assert!(read(Value::Array(vec![Value::Int(1)])).is_err());
        assert!(reply(["won", "a@@1", "1 a", "soon", "", "", ""]).is_err());
    }
}

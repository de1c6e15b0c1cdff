//! What a take and a release tell their scripts, written where it is sent from.
//!
//! Each argument costs the server and this process something: what only rare
//! cases read stands in one text, and what is usual is not said.

use std::io::Write as _;
use std::time::Duration;

use redis::{Cmd, RedisWrite as _};

use super::reply::millis;
use crate::backend::{Bid, Held};
use crate::model::FencingToken;

/// What `release_free.lua` goes by where it is told nothing else.
const USUAL: &str = "250 0";

/// What scripts are told of a client, made once.
pub(super) struct Manners {
    /// To a take that does not queue, and to one that does: queue 0/1, reserve ms,
    /// cluster 0/1, whether replicas are waited for 0/1.
    take: [Box<str>; 2],
    /// To a release, unless it is the usual: reserve ms, cluster 0/1.
    release: Option<Box<str>>,
}

impl Manners {
    pub(super) fn new(reserve: Duration, is_cluster: bool, waits: bool) -> Self {
        let (cluster, waits) = (u8::from(is_cluster), u8::from(waits));
        let manner = format!("{} {cluster}", millis(reserve));
        Self {
            take: [0, 1].map(|queue| format!(" {queue} {manner} {waits}").into()),
            release: (manner != USUAL).then(|| manner.into()),
        }
    }

    /// The arguments of `take.lua`.
    pub(super) fn say_to_take(&self, bid: &Bid, call: &mut Cmd) {
        call.arg(bid.contender.as_str());
        call.arg(millis(bid.terms.lease()));
        let seen = digits(bid.seen.map_or(0, FencingToken::store));
        let manner = self.take[usize::from(bid.queue)].as_bytes();
        // Tokens have 16 digits at most.
        say(call, [&seen[4..], b" ", &bid.nonce.digits(), manner]);
        // Ours have a fraction; anything else is not a score of this store.
        if let Some(score) = bid.score.as_deref().filter(|score| is_score(score)) {
            call.arg(score);
        }
    }

    /// The arguments of `release.lua`.
    pub(super) fn say_to_release(&self, held: &Held, call: &mut Cmd) {
        call.arg(held.contender.as_str());
        let token = digits(held.token.store());
        let zeros = token.iter().take_while(|digit| **digit == b'0').count();
        let token = &token[zeros.min(token.len() - 1)..];
        say(call, [token, b" ", &held.nonce.digits(), b""]);
        if let Some(manner) = &self.release {
            call.arg(&**manner);
        }
    }
}

/// One argument of these parts.
fn say(call: &mut Cmd, parts: [&[u8]; 4]) {
    let mut argument = call.writer_for_next_arg();
    for part in parts {
        // It is memory that is written to.
        let _ = argument.write_all(part);
    }
}

/// The digits of a number, behind as many zeros as there is room for.
fn digits(mut number: u64) -> [u8; 20] {
    let mut digits = [b'0'; 20];
    for digit in digits.iter_mut().rev() {
        if number == 0 {
            break;
        }
        *digit += (number % 10) as u8;
        number /= 10;
    }
    digits
}

/// Whether `text` is a score as this store gives them.
fn is_score(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.')
        .is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
}

#[cfg(test)]
mod tests {
    use redis::Arg;

    use super::*;
    use crate::backend::Nonce;
    use crate::model::{ContenderId, LeaseTerms, MutexName};

    fn words(say: impl FnOnce(&mut Cmd)) -> Vec<String> {
        let mut call = Cmd::new();
        say(&mut call);
        let words = call.args_iter().map(|word| match word {
            Arg::Simple(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            _ => panic!("a cursor"),
        });
        words.collect()
    }

    fn bid() -> Bid {
        let terms = LeaseTerms::new(Duration::from_millis(1500), Duration::from_millis(500));
        let (name, id) = (MutexName::new("m"), ContenderId::new("a"));
        Bid {
            nonce: Nonce::from_bits(0xab),
            ..Bid::new(name.unwrap(), id.unwrap(), terms.unwrap())
        }
    }

    #[test]
    fn a_take_says_what_it_has_seen_in_sixteen_digits() {
        let manners = Manners::new(Duration::from_millis(250), false, true);
        let mut bid = bid();
        bid.queue = false;
        let nonce = "000000000000000000000000000000ab";
        let said = words(|call| manners.say_to_take(&bid, call));
        let all = format!("0000000000000000 {nonce} 0 250 0 1");
        assert_eq!(said, ["a", "2000", &all]);
        bid.queue = true;
        bid.seen = Some(FencingToken::from_store(1_700_000_000_000_001).unwrap());
        for (score, more) in [("12.5", true), ("12", false), ("1.x", false), ("", false)] {
            bid.score = Some(score.into());
            let said = words(|call| manners.say_to_take(&bid, call));
            let all = format!("1700000000000001 {nonce} 1 250 0 1");
            assert_eq!(said[..3], ["a", "2000", &all]);
            assert_eq!(said.get(3).map(String::as_str), more.then_some(score));
        }
    }

    #[test]
    fn a_release_says_the_grant_as_it_was_written() {
        for token in [7, 10, 1_700_000_000_000_000, (1 << 53) - 1] {
            let token = FencingToken::from_store(token).unwrap();
            let bid = bid();
            let held = Held {
                name: bid.name,
                contender: bid.contender,
                terms: bid.terms,
                nonce: bid.nonce,
                token,
            };
            let grant = format!("{} {}", token.store(), held.nonce);
            let said = |manners: Manners| words(|call| manners.say_to_release(&held, call));
            let usual = Manners::new(Duration::from_millis(250), false, false);
            assert_eq!(said(usual), ["a", &grant]);
            let cluster = Manners::new(Duration::from_millis(250), true, false);
            assert_eq!(said(cluster), ["a", &grant, "250 1"]);
            let long = Manners::new(Duration::from_secs(1), false, false);
            assert_eq!(said(long), ["a", &grant, "1000 0"]);
        }
    }
}

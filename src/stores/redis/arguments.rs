//! What a take and a release tell their scripts, written where it is sent from.
//!
//! Each argument costs the server and this process something: what only rare
//! cases read stands in one text, and what is usual is not said.

use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use redis::{Cmd, RedisWrite as _};

use super::reply::millis;
use crate::backend::{Bid, Held, Nonce};
use crate::model::{FencingToken, LeaseTerms};

/// What `take_free.lua` goes by where it is told nothing else.
const USUAL_TAKE: &str = "1 1 250 0 0";

/// What `release_free.lua` goes by where it is told nothing else.
const USUAL_RELEASE: &str = "250 0";

/// The longest lease of an owner that the fence names. The fence ends seven days after
/// a grant, less a quarter of an hour, and no renewal within a day moves that: it must
/// not end before what it names does.
const LONGEST_NAMED: Duration = Duration::from_secs(5 * 24 * 60 * 60);

/// Whether the fence names the owner of such a grant: none but it may have its id.
pub(super) fn fence_names(unique_id: bool, terms: &LeaseTerms) -> bool {
    unique_id && terms.lease() <= LONGEST_NAMED
}

/// What scripts are told of a client, made once.
pub(super) struct Manners {
    /// To a take, by whether it names its token, and whether it queues: both 0/1,
    /// reserve ms, cluster 0/1, whether replicas are waited for 0/1.
    take: [[Box<str>; 2]; 2],
    /// To a release, unless it is the usual: reserve ms, cluster 0/1.
    release: Option<Box<str>>,
}

impl Manners {
    pub(super) fn new(reserve: Duration, is_cluster: bool, waits: bool) -> Self {
        let (cluster, waits) = (u8::from(is_cluster), u8::from(waits));
        let manner = format!("{} {cluster}", millis(reserve));
        let to_take = |names, queue| format!("{names} {queue} {manner} {waits}").into();
        Self {
            take: [0, 1].map(|names| [0, 1].map(|queue| to_take(names, queue))),
            release: (manner != USUAL_RELEASE).then(|| manner.into()),
        }
    }

    /// The arguments of `take.lua`. With what the bidder reckons the server's clock
    /// to show it names its token.
    pub(super) fn say_to_take(&self, bid: &Bid, reckoned: Option<u64>, call: &mut Cmd) {
        let id = bid.contender.as_str();
        call.arg(id).arg(millis(bid.terms.lease()));
        let token = token_by_clock(bid, reckoned);
        let seen = bid.seen.map_or(0, FencingToken::store);
        GrantWords::new(
            token.unwrap_or(seen),
            bid.nonce,
            fence_names(bid.unique_id, &bid.terms).then_some(id),
        )
        .say(call);
        let manner = &*self.take[usize::from(token.is_some())][usize::from(bid.queue)];
        // Ours have a fraction; anything else is not a score of this store.
        let score = bid.score.as_deref().filter(|score| is_score(score));
        if manner != USUAL_TAKE || score.is_some() {
            call.arg(manner).arg(score);
        }
    }

    /// The arguments of `release.lua`.
    pub(super) fn say_to_release(&self, held: &Held, call: &mut Cmd) {
        call.arg(held.contender.as_str());
        // What it owns under an id that was never another's is what it gives back.
        let by_id = held.is_last && fence_names(held.unique_id, &held.terms);
        match (by_id, &self.release) {
            (false, _) => GrantWords::of(held).say(call),
            (true, Some(_)) => drop(call.arg("")),
            (true, None) => {}
        }
        if let Some(manner) = &self.release {
            call.arg(&**manner);
        }
    }
}

/// The token that `bid` names, to be taken if the fence's is smaller.
pub(super) fn token_by_clock(bid: &Bid, reckoned: Option<u64>) -> Option<u64> {
    let seen = bid.seen.map_or(0, FencingToken::store);
    reckoned.filter(|reckoned| *reckoned > seen)
}

/// A grant as the store has it: the token in 16 digits, the nonce and, where the
/// fence names the owner, its id. The fence names no contender by an id that another
/// may have: there is a key for such a grant.
pub(super) struct GrantWords<'a> {
    token: [u8; 20],
    nonce: [u8; 32],
    id: Option<&'a str>,
}

impl<'a> GrantWords<'a> {
    fn new(token: u64, nonce: Nonce, id: Option<&'a str>) -> Self {
        Self {
            token: digits(token),
            nonce: nonce.digits(),
            id,
        }
    }

    pub(super) fn of(held: &'a Held) -> Self {
        let is_named = fence_names(held.unique_id, &held.terms);
        let id = is_named.then_some(held.contender.as_str());
        Self::new(held.token.store(), held.nonce, id)
    }

    /// All of it, one behind the other. Tokens have 16 digits at most.
    fn parts(&self) -> [&[u8]; 5] {
        let (space, id) = self.id.map_or(("", ""), |id| (" ", id));
        let token = &self.token[4..];
        [token, b" ", &self.nonce, space.as_bytes(), id.as_bytes()]
    }

    /// Says it to `call`, as one argument.
    fn say(&self, call: &mut Cmd) {
        let mut argument = call.writer_for_next_arg();
        for part in self.parts() {
            // It is memory that is written to.
            let _ = argument.write_all(part);
        }
    }
}

impl fmt::Display for GrantWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.parts().into_iter();
        parts.try_for_each(|part| f.write_str(&String::from_utf8_lossy(part)))
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

    const NONCE: &str = "000000000000000000000000000000ab";

    fn usual() -> Manners {
        Manners::new(Duration::from_millis(250), false, false)
    }

    #[test]
    fn a_take_says_what_it_has_seen_in_sixteen_digits() {
        let manners = Manners::new(Duration::from_millis(250), false, true);
        let mut bid = bid();
        bid.queue = false;
        let said = words(|call| manners.say_to_take(&bid, None, call));
        let grant = format!("0000000000000000 {NONCE}");
        assert_eq!(said, ["a", "2000", &grant, "0 0 250 0 1"]);
        bid.queue = true;
        bid.seen = Some(FencingToken::from_store(1_700_000_000_000_001).unwrap());
        for (score, more) in [("12.5", true), ("12", false), ("1.x", false), ("", false)] {
            bid.score = Some(score.into());
            let said = words(|call| manners.say_to_take(&bid, None, call));
            let grant = format!("1700000000000001 {NONCE}");
            assert_eq!(said[..4], ["a", "2000", &grant, "0 1 250 0 1"]);
            assert_eq!(said.get(4).map(String::as_str), more.then_some(score));
        }
    }

    #[test]
    fn a_take_names_its_token_where_it_is_above_what_it_has_seen() {
        let mut bid = bid().with_unique_id();
        let grant = format!("1700000000000001 {NONCE} a");
        let said =
            |bid: &Bid| words(|call| usual().say_to_take(bid, Some(1_700_000_000_000_001), call));
        assert_eq!(said(&bid), ["a", "2000", &grant]);
        bid.seen = Some(FencingToken::from_store(1_700_000_000_000_001).unwrap());
        assert_eq!(said(&bid), ["a", "2000", &grant, "0 1 250 0 0"]);
        bid.seen = Some(FencingToken::from_store(1_700_000_000_000_000).unwrap());
        assert_eq!(said(&bid), ["a", "2000", &grant]);
        // What is usual is said where a score is behind it.
        bid.score = Some("12.5".into());
        assert_eq!(said(&bid), ["a", "2000", &grant, USUAL_TAKE, "12.5"]);
        bid.queue = false;
        bid.score = None;
        assert_eq!(said(&bid), ["a", "2000", &grant, "1 0 250 0 0"]);
        // An id that another may have is named by no fence.
        bid.unique_id = false;
        assert_eq!(said(&bid)[2], grant[..49]);
    }

    #[test]
    fn a_release_says_the_grant_as_it_was_written() {
        for token in [7, 10, 1_700_000_000_000_000, (1 << 53) - 1] {
            let token = FencingToken::from_store(token).unwrap();
            let held = bid().held(token);
            let grant = format!("{:016} {NONCE}", token.store());
            let said =
                |manners: Manners, held: &Held| words(|call| manners.say_to_release(held, call));
            assert_eq!(said(usual(), &held), ["a", &grant]);
            let cluster = Manners::new(Duration::from_millis(250), true, false);
            assert_eq!(said(cluster, &held), ["a", &grant, "250 1"]);
            let long = Manners::new(Duration::from_secs(1), false, false);
            assert_eq!(said(long, &held), ["a", &grant, "1000 0"]);
            let named = bid().with_unique_id().held(token);
            assert_eq!(said(usual(), &named), ["a", &format!("{grant} a")]);
            // The last of an id that no other has is known by it.
            let last = |held: &Held| Held {
                is_last: true,
                ..held.clone()
            };
            assert_eq!(said(usual(), &last(&named)), ["a"]);
            let cluster = Manners::new(Duration::from_millis(250), true, false);
            assert_eq!(said(cluster, &last(&named)), ["a", "", "250 1"]);
            assert_eq!(said(usual(), &last(&held)), ["a", &grant]);
            assert_eq!(GrantWords::of(&named).to_string(), format!("{grant} a"));
        }
    }
}

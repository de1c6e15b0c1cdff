//! [`Histories`]: who owned what and when, as far as one who looks can know.
//!
//! Two looks show two moments. What happened in between follows from the lease
//! that was seen: an owner that is gone before its lease could end gave it up;
//! one that was overdue with its renewal, and is gone when the lease has ended, lost
//! it. Where looks were too far apart to tell, that is said.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::{Serialize, Serializer};
use tenure::model::FencingToken;

use crate::status::Row;
use crate::text::stamp;

/// Of one mutex.
const MOST_SPANS: usize = 200;
/// Of all of them: some 40 MB. The oldest are forgotten first.
const MOST_ENDED: usize = 200_000;
/// By how much two moments that were computed from two answers may differ.
const BLUR: Duration = Duration::from_millis(250);

/// A time of ownership.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Span {
    owner: Box<str>,
    #[serde(serialize_with = "token_text")]
    token: Option<FencingToken>,
    /// What it was wanted for then, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(serialize_with = "moment")]
    from: SystemTime,
    #[serde(serialize_with = "moment_or_none")]
    until: Option<SystemTime>,
    pub(crate) began: Began,
    pub(crate) ended: Option<Ended>,
    #[serde(skip)]
    number: u64,
}

/// How a span began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Began {
    /// Before looking began.
    Seen,
    Taken,
    /// Its owner was next when the one before gave it up.
    Handed,
}

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ended {
    Freed,
    Handed,
    Expired,
    /// By this server.
    Revoked,
    Unknown,
}

fn token_text<S: Serializer>(token: &Option<FencingToken>, to: S) -> Result<S::Ok, S::Error> {
    match token {
        Some(token) => to.collect_str(token),
        None => to.serialize_str(""),
    }
}

fn moment<S: Serializer>(at: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&shown(*at))
}

fn moment_or_none<S: Serializer>(at: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    at.map(shown).serialize(to)
}

/// A moment as text, also where the clock of this host is far from right.
pub(crate) fn shown(at: SystemTime) -> String {
    let odd = || stamp(SystemTime::UNIX_EPOCH).unwrap_or_default();
    stamp(at).unwrap_or_else(odd)
}

/// What the last look saw of an owner's lease.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    at: Instant,
    /// When it can be another's.
    ends: Option<Instant>,
    /// Whether it should have been renewed by then.
    is_overdue: bool,
}

impl Sighting {
    fn of(row: &Row) -> Self {
        let left = row.left_ms;
        // Who renews in time never has less than a third of its lease left.
        let is_low = matches!((left, row.lease_ms), (Some(left), Some(lease)) if left < lease / 4);
        Self {
            at: row.seen,
            ends: left.map(|left| row.seen + Duration::from_millis(left)),
            is_overdue: row.undisputed_ms == Some(0) || is_low,
        }
    }

    /// How and when it ended, of one that is gone at `now`.
    fn gone(self, now: Instant) -> (Ended, Instant) {
        match self.ends {
            None => (Ended::Unknown, now),
            Some(ends) if now < ends => (Ended::Freed, now),
            Some(ends) if self.is_overdue => (Ended::Expired, ends),
            Some(ends) => (Ended::Unknown, ends),
        }
    }

    /// The same, of one after whom another began to own at `next`.
    fn followed(self, next: Instant) -> (Ended, Instant) {
        let Some(ends) = self.ends else {
            return (Ended::Handed, next);
        };
        match self.is_overdue && next + BLUR >= ends {
            true => (Ended::Expired, ends.min(next)),
            false if next < ends => (Ended::Handed, next),
            false => (Ended::Unknown, ends),
        }
    }
}

/// The spans of one mutex, the last of which may go on.
#[derive(Debug, Default)]
struct History {
    spans: VecDeque<Span>,
    last: Option<Sighting>,
}

impl History {
    fn open(&mut self) -> Option<&mut Span> {
        self.spans.back_mut().filter(|span| span.ended.is_none())
    }
}

/// The spans of all mutexes.
#[derive(Debug)]
pub(crate) struct Histories {
    looking_since: SystemTime,
    of: HashMap<Arc<str>, History>,
    /// The spans that have ended, in that order; some are gone already.
    ended: VecDeque<(Arc<str>, u64)>,
    last_number: u64,
}

/// A moment of both clocks, to turn one into the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) at: Instant,
    pub(crate) wall: SystemTime,
}

impl Now {
    pub(crate) fn read() -> Self {
        Self {
            at: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    fn wall_at(self, at: Instant) -> SystemTime {
        let wall = match at.checked_duration_since(self.at) {
            Some(later) => self.wall.checked_add(later),
            None => self.wall.checked_sub(self.at.duration_since(at)),
        };
        wall.unwrap_or(self.wall)
    }
}

impl Histories {
    pub(crate) fn new(looking_since: SystemTime) -> Self {
        Self {
            looking_since,
            of: HashMap::new(),
            ended: VecDeque::new(),
            last_number: 0,
        }
    }

    /// Those of one mutex, the newest last.
    pub(crate) fn of(&self, name: &str) -> Option<Vec<Span>> {
        let history = self.of.get(name)?;
        Some(history.spans.iter().cloned().collect())
    }

    /// What the last owner of one wanted it for, where that was said.
    pub(crate) fn last_kind(&self, name: &str) -> Option<&'static str> {
        self.of.get(name)?.spans.back()?.kind
    }

    /// Notes what a look saw. `is_first` in the first look of all: what is
    /// owned then has been owned before.
    pub(crate) fn see(&mut self, name: &Arc<str>, row: &Row, is_first: bool, now: Now) {
        let Some(owner) = row.owner.as_deref() else {
            return self.see_free(name, row.seen, now);
        };
        let sighting = Sighting::of(row);
        let history = self.of.entry(Arc::clone(name)).or_default();
        let before = history.last.replace(sighting);
        if let Some(span) = history.spans.back_mut()
            && *span.owner == *owner
            && span.token == row.token
        {
            // What a look tells after a revocation may be older than that.
            if span.ended.is_some_and(|ended| ended != Ended::Revoked) && row.token.is_some() {
                (span.ended, span.until) = (None, None);
            }
            if span.ended.is_none() || row.token.is_some() {
                return;
            }
        }
        let held = row.held_ms.map(Duration::from_millis);
        let begun = held.and_then(|held| row.seen.checked_sub(held));
        let begun_at = begun.unwrap_or(row.seen);
        let (mut began, mut ended) = (Began::Taken, None);
        if let (Some(before), Some(span)) = (before, history.open()) {
            let (how, at) = before.followed(begun_at.max(before.at));
            (span.ended, span.until) = (Some(how), Some(now.wall_at(at)));
            ended = Some(span.number);
            if how == Ended::Handed {
                began = Began::Handed;
            }
        }
        let from = now.wall_at(begun_at);
        if is_first || (from < self.looking_since && began == Began::Taken) {
            began = Began::Seen;
        }
        self.last_number += 1;
        history.spans.push_back(Span {
            owner: owner.into(),
            token: row.token,
            kind: row.kind,
            from,
            until: None,
            began,
            ended: None,
            number: self.last_number,
        });
        if history.spans.len() > MOST_SPANS {
            history.spans.pop_front();
        }
        if let Some(number) = ended {
            self.has_ended(name, number);
        }
    }

    /// Notes that a mutex is free, or not told of any more.
    pub(crate) fn see_free(&mut self, name: &Arc<str>, at: Instant, now: Now) {
        let Some(history) = self.of.get_mut(name) else {
            return;
        };
        let last = history.last.take();
        if let (Some(last), Some(span)) = (last, history.open()) {
            let (how, at) = last.gone(at);
            (span.ended, span.until) = (Some(how), Some(now.wall_at(at)));
            let number = span.number;
            self.has_ended(name, number);
        }
    }

    /// Notes that this server has freed a mutex by force.
    pub(crate) fn revoked(&mut self, name: &str, token: Option<FencingToken>, now: Now) {
        let Some((name, history)) = self.of.get_key_value(name) else {
            return;
        };
        let (name, is_it) = (Arc::clone(name), {
            let last = history.spans.back();
            last.is_some_and(|span| token.is_none() || span.token == token)
        });
        let history = self.of.get_mut(&name);
        let open = history.filter(|_| is_it).and_then(History::open);
        if let Some(span) = open {
            (span.ended, span.until) = (Some(Ended::Revoked), Some(now.wall));
            let number = span.number;
            self.has_ended(&name, number);
        }
    }

    /// Forgets the oldest, when there are too many.
    fn has_ended(&mut self, name: &Arc<str>, number: u64) {
        self.ended.push_back((Arc::clone(name), number));
        if self.ended.len() <= MOST_ENDED {
            return;
        }
        let Some((name, number)) = self.ended.pop_front() else {
            return;
        };
        if let Some(history) = self.of.get_mut(&name) {
            if history.spans.front().map(|span| span.number) == Some(number) {
                history.spans.pop_front();
            }
            if history.spans.is_empty() {
                self.of.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure::model::MutexName;

    use super::*;

    /// Owner, beginning and end of a span, and how.
    type Told = (String, i128, Began, Option<(i128, Ended)>);

    /// A story of one mutex, told in milliseconds.
    struct Story {
        histories: Histories,
        name: Arc<str>,
        start: Now,
        looks: u32,
    }

    impl Story {
        fn new() -> Self {
            let start = Now::read();
            let histories = Histories::new(start.wall);
            let (name, looks) = ("m".into(), 0);
            Self {
                histories,
                name,
                start,
                looks,
            }
        }

        fn now(&self, millis: u64) -> Now {
            let passed = Duration::from_millis(millis);
            Now {
                at: self.start.at + passed,
                wall: self.start.wall + passed,
            }
        }

        /// An owner that has had a lease of 10 s and 6 s for so long.
        fn owned(&mut self, at: u64, owner: &str, token: u64, held: u64, left: u64) -> &mut Self {
            let mut row = Row::free(&MutexName::new("m").unwrap());
            let now = self.now(at);
            row.seen = now.at;
            row.owner = Some(owner.into());
            row.token = Some(FencingToken::from_value(token).unwrap());
            (row.held_ms, row.left_ms, row.lease_ms) = (Some(held), Some(left), Some(16_000));
            row.undisputed_ms = Some(left.saturating_sub(6_000));
            self.looks += 1;
            self.histories.see(&self.name, &row, self.looks == 1, now);
            self
        }

        fn free(&mut self, at: u64) -> &mut Self {
            let now = self.now(at);
            self.looks += 1;
            self.histories.see_free(&self.name, now.at, now);
            self
        }

        fn told(&self) -> Vec<Told> {
            let since = |at: SystemTime| match at.duration_since(self.start.wall) {
                Ok(later) => later.as_millis() as i128,
                Err(earlier) => -(earlier.duration().as_millis() as i128),
            };
            let spans = self.histories.of("m").unwrap_or_default();
            let told = spans.into_iter().map(|span| {
                let end = span.until.map(since).zip(span.ended);
                (span.owner.to_string(), since(span.from), span.began, end)
            });
            told.collect()
        }
    }

    #[test]
    fn what_was_owned_before_is_seen_and_what_is_freed_is_freed() {
        let mut story = Story::new();
        story.owned(10, "a", 1, 500, 15_000);
        story.owned(510, "a", 1, 1_000, 14_500).free(1_010);
        story.owned(1_510, "b", 2, 200, 15_800);
        let a = ("a".into(), -490, Began::Seen, Some((1_010, Ended::Freed)));
        assert_eq!(story.told(), [a, ("b".into(), 1_310, Began::Taken, None)]);
    }

    #[test]
    fn one_that_is_followed_before_its_lease_could_end_has_handed_it_on() {
        let mut story = Story::new();
        story.free(0).owned(500, "a", 1, 100, 15_900);
        story.owned(1_000, "b", 2, 300, 15_700);
        let a = ("a".into(), 400, Began::Taken, Some((700, Ended::Handed)));
        assert_eq!(story.told(), [a, ("b".into(), 700, Began::Handed, None)]);
    }

    #[test]
    fn one_that_was_overdue_and_is_gone_at_its_end_has_lost_it() {
        let mut story = Story::new();
        story.free(0).owned(500, "a", 1, 100, 15_900);
        story.owned(16_000, "a", 1, 15_600, 400);
        // The next took it 3 ms before the end, as computed from two answers.
        story.owned(16_500, "b", 2, 103, 15_897);
        let a = (
            "a".into(),
            400,
            Began::Taken,
            Some((16_397, Ended::Expired)),
        );
        assert_eq!(story.told(), [a, ("b".into(), 16_397, Began::Taken, None)]);
        story.owned(32_000, "b", 2, 15_603, 397).free(32_500);
        assert_eq!(story.told()[1].3, Some((32_397, Ended::Expired)));
    }

    #[test]
    fn looks_that_are_far_apart_do_not_pretend_to_know() {
        let mut story = Story::new();
        story.free(0).owned(500, "a", 1, 100, 15_900).free(60_000);
        assert_eq!(story.told()[0].3, Some((16_400, Ended::Unknown)));
        story.owned(61_000, "b", 2, 0, 16_000);
        story.owned(120_000, "c", 3, 10, 15_990);
        let told = story.told();
        assert_eq!(told[1].3.unwrap().1, Ended::Unknown);
        assert_eq!(told[2].2, Began::Taken);
    }

    #[test]
    fn what_is_revoked_stays_so_whatever_an_older_answer_tells() {
        let mut story = Story::new();
        story.free(0).owned(500, "a", 1, 100, 15_900);
        let (token, now) = (FencingToken::from_value(1).ok(), story.now(600));
        let other = FencingToken::from_value(2).ok();
        story.histories.revoked("m", other, now);
        assert_eq!(story.told()[0].3, None, "another was meant");
        story.histories.revoked("m", token, now);
        story.owned(700, "a", 1, 300, 15_700);
        story.owned(1_200, "b", 2, 100, 15_900);
        let a = ("a".into(), 400, Began::Taken, Some((600, Ended::Revoked)));
        assert_eq!(story.told(), [a, ("b".into(), 1_100, Began::Taken, None)]);
    }

    #[test]
    fn one_that_was_only_overlooked_goes_on() {
        let mut story = Story::new();
        story.owned(0, "a", 1, 100, 15_900).free(500);
        story.owned(1_000, "a", 1, 1_100, 14_900);
        assert_eq!(story.told(), [("a".into(), -100, Began::Seen, None)]);
    }

    #[test]
    fn a_mutex_that_changes_hands_all_the_time_keeps_the_newest() {
        let mut story = Story::new();
        for turn in 0..1_000 {
            story.owned(turn * 100, "a", turn + 1, 0, 16_000);
        }
        let told = story.told();
        assert_eq!((told.len(), told[199].1), (MOST_SPANS, 99_900));
        assert!(story.histories.ended.len() < 1_000);
    }
}

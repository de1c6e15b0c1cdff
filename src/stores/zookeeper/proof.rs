//! What the ensemble has proven to know of a session, and until when a lease
//! may rest on it.
//!
//! A pure calculation; `docs/decisions/0013-what-an-answer-of-zookeeper-proves.md`
//! derives it. In short, with the session timeout T and at least two ticks in
//! it:
//!
//! - The leader of the ensemble ends a session T after it last heard of it,
//!   not T after our last request. Our server tells it of its clients when it
//!   is asked to, every half tick, which is at most T/4.
//! - A `sync` makes the way to the leader and back, in order with those
//!   questions and answers. So once A is answered, our server has answered all
//!   that the leader asked until it saw A, and once B, sent after that, is
//!   answered as well, the leader has read it: it knows of every request that
//!   was answered T/4 before A was sent.
//! - A machine that stood still does not count that time, and its wall clock does, once
//!   it is right again: what was answered before is older by as much.
//! - A leader that has lost the others answers a `sync` all the same. Only a
//!   write needs them: the next leader began after it was sent, and begins
//!   with a whole T for every session.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::{Moment, Sight};

/// Whom an answer was from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The leader, as it believes to be.
    Leader,
    /// The leader and a majority.
    Quorum,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
struct Answered {
    sent: Moment,
    heard: Moment,
}

/// By how much more the wall clock may be ahead than it was without having been set.
const STILL: i64 = 1_000_000;

/// What was answered in a session, as far as a lease can rest on it.
#[derive(Debug)]
pub(super) struct Proof {
    timeout: Duration,
    /// The leader itself has made the session, after this.
    made: Moment,
    /// The last answered write was sent then.
    written: Moment,
    /// How far the wall clock was ahead when something was last heard, in nanoseconds.
    wall_lead: i64,
    /// In the order in which they were heard.
    answered: VecDeque<Answered>,
}

impl Proof {
    /// A session with this timeout that was asked for at `sent`.
    pub(super) fn new(timeout: Duration, sent: Sight) -> Self {
        Self {
            timeout,
            made: sent.now,
            written: sent.now,
            wall_lead: sent.wall_lead,
            answered: VecDeque::new(),
        }
    }

    /// What was sent at `sent` was answered at `heard`.
    pub(super) fn note(&mut self, asked: Asked, sent: Moment, heard: Sight) {
        let uncounted = self.age(heard.wall_lead);
        let (sent, heard) = (sent - uncounted, heard.now);
        if asked == Asked::Quorum {
            self.written = self.written.max(sent);
        }
        // Many in a short time say no more than a few.
        let close = self.timeout / 64;
        let len = self.answered.len();
        if len > 1
            && self.answered[len - 1]
                .sent
                .since(self.answered[len - 2].sent)
                < close
        {
            self.answered.pop_back();
        }
        let old = |one: &Answered| heard.since(one.heard) > self.timeout * 2;
        while self.answered.front().is_some_and(old) {
            self.answered.pop_front();
        }
        self.answered.push_back(Answered { sent, heard });
    }

    /// Makes what was known older by what the wall clock has gone ahead, which is how long
    /// this machine may have stood still.
    fn age(&mut self, wall_lead: i64) -> Duration {
        let ahead = wall_lead.saturating_sub(self.wall_lead);
        self.wall_lead = wall_lead;
        if ahead <= STILL {
            return Duration::ZERO;
        }
        let uncounted = Duration::from_nanos(ahead.unsigned_abs());
        self.made = self.made - uncounted;
        self.written = self.written - uncounted;
        for one in &mut self.answered {
            one.sent = one.sent - uncounted;
            one.heard = one.heard - uncounted;
        }
        uncounted
    }

    /// How long ago the last answered write was sent.
    pub(super) fn since_write(&self, now: Moment) -> Duration {
        now.since(self.written)
    }

    /// Until when the session lives at least, whatever happens to our server
    /// or to the leader from now on.
    pub(super) fn until(&self) -> Moment {
        let touched = self.made.max(self.reported().unwrap_or(self.made));
        touched.min(self.written) + self.timeout
    }

    /// When the last request was sent of which the leader knows, by what our
    /// server has told it.
    fn reported(&self) -> Option<Moment> {
        let answered = self.answered.iter();
        let last = answered.clone().map(|one| one.sent).max()?;
        let before = answered.clone().filter(|one| one.heard <= last);
        let asked = before.map(|one| one.sent).max()?;
        let known = answered.filter(|one| one.heard + self.timeout / 4 <= asked);
        known.map(|one| one.sent).max()
    }
}

#[cfg(test)]
mod tests;

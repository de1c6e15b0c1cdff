//! What the scripts of `src/stores/redis/scripts` do, key by key.
//!
//! Left out: JVM peers (their words and scores), waiters that are dead without having
//! left, beyond those that do not hear, and how many of them a call clears away; errors of
//! the server, but for the answer that makes a contender give up its place. None of these
//! grants or frees anything by itself.

use crate::rule::Rule;
use crate::store::{Around, InUse, Names, Store};
use crate::words::{Answer, CONTENDERS, Id, NO_BID, Nonce, Request, Token, name};

/// The score of one that comes now: behind all others, until it is renamed.
const LAST: u8 = 31;

/// The keys of a mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keys {
    /// The owner's key, or that of the one that a place is kept for.
    owner: Option<Id>,
    /// When it ends; the grant ends with it.
    left: u8,
    /// What was granted, and to which bid.
    grant: Option<(Token, Nonce)>,
    /// The mark of a kept place, and when it ends.
    kept: Option<(Id, u8)>,
    /// The score of each contender in the queue; zero if it is not in it.
    queue: [u8; CONTENDERS],
    /// The last number.
    fence: u8,
}

impl Keys {
    /// Who waits, in order.
    fn line(&self) -> impl Iterator<Item = (Id, u8)> + use<> {
        let mut line = [0, 1, 2].map(|id: Id| (self.queue[usize::from(id)], id));
        line.sort_unstable();
        let waits = line.into_iter().filter(|(score, _)| *score != 0);
        waits.map(|(score, id)| (id, score))
    }

    fn strike(&mut self, id: Id) {
        self.queue[usize::from(id)] = 0;
    }

    fn is_kept_for(&self, id: Id) -> bool {
        self.kept
            .is_some_and(|(whose, left)| whose == id && self.left <= left)
    }

    /// `call_next`: takes those that do not hear from the head of the queue, and the first that
    /// does. In the name of a taker it stops where the taker itself stands.
    fn call_next(&mut self, taker: Option<(Id, u8)>, around: &Around) -> Option<Id> {
        for (id, score) in self.line() {
            if taker.is_some_and(|(by, its)| by == id || its < score) {
                return None;
            }
            self.strike(id);
            if around.hears[usize::from(id)] {
                return Some(id);
            }
        }
        None
    }

    /// `keep`. The understudy is told too, which changes no key.
    fn keep(&mut self, id: Id, around: &Around) {
        self.owner = Some(id);
        self.left = around.reserve;
        self.grant = None;
        self.kept = Some((id, around.reserve));
    }

    /// When what is owned or kept ends.
    #[must_use]
    pub fn left(&self) -> u8 {
        self.left
    }

    /// Who is told by a call that `before` has come to this by: the one that a place is kept for
    /// now, and its understudy.
    pub fn told_since(&self, before: &Self) -> impl Iterator<Item = Id> + use<> {
        let is_new = self.kept.is_some() && self.kept != before.kept;
        let next = self.kept.filter(|_| is_new).map(|(id, _)| id);
        let understudy = next.and_then(|_| self.line().next()).map(|(id, _)| id);
        next.into_iter().chain(understudy)
    }

    /// `free`.
    fn free(&mut self, around: &Around) {
        match self.call_next(None, around) {
            Some(id) => self.keep(id, around),
            None => {
                (self.owner, self.left) = (None, 0);
                (self.grant, self.kept) = (None, None);
            }
        }
    }

    /// `refuse` of `take.lua`.
    fn refuse(&mut self, by: Id, score: u8, theirs: bool, around: &Around) -> Answer {
        let seen = self.grant.map_or(0, |(token, _)| token.number);
        if !around.queues {
            return Answer::Refused { score: 0, seen };
        }
        if let (Some(owner), false) = (self.owner, theirs)
            && owner != by
        {
            self.strike(owner);
        }
        let place = &mut self.queue[usize::from(by)];
        if *place == 0 {
            *place = match score {
                0 => LAST,
                score => score,
            };
        }
        let score = *place;
        Answer::Refused { score, seen }
    }

    /// `take.lua`; `take_free.lua` does the same with fewer calls.
    fn take(&mut self, by: Id, nonce: Nonce, score: u8, around: &Around) -> Answer {
        if let Some(owner) = self.owner {
            if let Some((token, its)) = self.grant
                && owner == by
                && its == nonce
            {
                let (left, found) = (self.left, true);
                return Answer::Won { token, left, found };
            }
            if self.grant.is_some() || owner != by || !self.is_kept_for(by) {
                return self.refuse(by, score, self.grant.is_some(), around);
            }
        } else {
            let was_told = score != 0 && self.queue[usize::from(by)] == 0;
            if self.kept.is_some_and(|(id, _)| id != by) && !was_told {
                return self.refuse(by, score, false, around);
            }
            let mine = if score == 0 { u8::MAX } else { score };
            if let Some(first) = self.call_next(Some((by, mine)), around) {
                self.keep(first, around);
                return self.refuse(by, score, false, around);
            }
        }
        let token = around.next(self.fence);
        self.strike(by);
        self.fence = token.number;
        (self.owner, self.left) = (Some(by), around.lease);
        (self.grant, self.kept) = (Some((token, nonce)), None);
        let (left, found) = (around.lease, false);
        Answer::Won { token, left, found }
    }

    /// `renew.lua`.
    fn renew(&mut self, by: Id, grant: (Token, Nonce), around: &Around) -> Answer {
        if self.owner != Some(by) || self.grant != Some(grant) {
            return Answer::Gone;
        }
        self.left = around.lease;
        Answer::Extended { left: around.lease }
    }

    /// `release.lua`.
    fn release(&mut self, by: Id, grant: (Token, Nonce), around: &Around) {
        let by_id = around.rule == Rule::ReleasedByIdAlone;
        if self.owner == Some(by) && (self.grant == Some(grant) || by_id) {
            self.free(around);
        }
    }

    /// `leave.lua`.
    fn leave(&mut self, by: Id, nonce: Nonce, around: &Around) {
        let mine = self.owner == Some(by)
            && match self.grant {
                Some((_, its)) => its == nonce && nonce != NO_BID,
                None => self.is_kept_for(by),
            };
        self.strike(by);
        if mine {
            self.free(around);
        }
    }
}

impl Store for Keys {
    const HAS_NONCES: bool = true;

    fn run(&mut self, by: Id, request: Request, around: &Around) -> Answer {
        match request {
            Request::Take { nonce, score, .. } => self.take(by, nonce, score, around),
            Request::Renew { nonce, token } => self.renew(by, (token, nonce), around),
            Request::Release { nonce, token } => {
                self.release(by, (token, nonce), around);
                Answer::Done
            }
            Request::Leave { nonce, .. } => {
                self.leave(by, nonce, around);
                Answer::Done
            }
        }
    }

    fn tick(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            (self.owner, self.grant) = (None, None);
        }
        let kept = self.kept.map(|(id, left)| (id, left - 1));
        self.kept = kept.filter(|(_, left)| *left > 0);
    }

    fn uses(&self, in_use: &mut InUse) {
        if let Some((token, _)) = self.grant {
            in_use.token(token);
        }
        in_use.number(self.fence);
        for score in self.queue {
            in_use.score(score);
        }
    }

    fn renamed(self, names: &Names) -> Self {
        let score = |score: u8| names.scores[usize::from(score)];
        Self {
            owner: self.owner.map(|id| names.id(id)),
            left: self.left,
            grant: self.grant.map(|(token, nonce)| (names.token(token), nonce)),
            kept: self.kept.map(|(id, left)| (names.id(id), left)),
            queue: names.each(self.queue.map(score)),
            fence: names.numbers[usize::from(self.fence)],
        }
    }

    /// Whether it owns or is kept a place, and its place in the queue.
    type Part = (bool, bool, u8);

    fn part(&self, by: Id) -> Self::Part {
        let is_kept = self.kept.is_some_and(|(id, _)| id == by);
        (self.owner == Some(by), is_kept, self.queue[usize::from(by)])
    }

    fn fence(&self) -> u8 {
        self.fence
    }

    fn grant(&self, by: Id, nonce: Nonce) -> Option<Token> {
        let grant = self.grant.filter(|(_, its)| *its == nonce);
        grant
            .filter(|_| self.owner == Some(by))
            .map(|(token, _)| token)
    }

    fn told(&self) -> String {
        let owner = match (self.owner, self.grant) {
            (None, _) => "free".to_owned(),
            (Some(id), None) => format!("kept for {}", name(id)),
            (Some(id), Some((token, nonce))) => format!(
                "{} by token {} of bid {nonce}, {} left",
                name(id),
                token.number,
                self.left
            ),
        };
        let line: String = self.line().map(|(id, _)| name(id)).collect();
        format!("{owner}; queue [{line}]")
    }
}

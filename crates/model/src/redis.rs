//! What the scripts of `src/stores/redis/scripts` do, key by key.
//!
//! A contender whose id no other has is named by the fence, which has its grant; of any
//! other the grant has a key of its own.
//!
//! Left out: JVM peers that wait (their words and scores), waiters that are dead without
//! having left, beyond those that do not hear, and how many of them a call clears away;
//! errors of the server, but for the answer that makes a contender give up its place. None
//! of these grants or frees anything by itself.

use crate::rule::Rule;
use crate::store::{Around, InUse, Names, Store};
use crate::words::{Answer, CONTENDERS, Id, NO_BID, Nonce, PEER, Request, Token, name};

/// The score of one that comes now: behind all others, until it is renamed.
const LAST: u8 = 31;

/// What was granted, and to which bid.
type Grant = (Token, Nonce);

/// The keys of a mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keys {
    /// The owner's key, or that of the one that a place is kept for.
    owner: Option<Id>,
    /// When it ends; the grant's key ends with it.
    left: u8,
    /// The grant's own key.
    grant: Option<Grant>,
    /// The mark of a kept place, and when it ends.
    kept: Option<(Id, u8)>,
    /// The score of each contender in the queue; zero if it is not in it.
    queue: [u8; CONTENDERS],
    /// The last number; zero if there is no fence.
    fence: u8,
    /// Whom the fence names, and what that was granted. It does not end with the owner.
    named: Option<(Id, Grant)>,
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

    /// To whom something was granted: who has a key for it, and whom the fence names.
    fn granted(&self) -> [Option<(Id, Grant)>; 2] {
        [self.owner.zip(self.grant), self.named]
    }

    /// `grant_of`: by what `owner` is one of ours.
    fn grant_of(&self, owner: Id) -> Option<Grant> {
        match self.named {
            Some((id, grant)) if id == owner => Some(grant),
            _ => self.grant,
        }
    }

    /// Whether `by` owns by this grant.
    fn owns(&self, by: Id, grant: Grant, around: &Around) -> bool {
        let is_there = match around.unique {
            true => self.named == Some((by, grant)),
            false => self.grant == Some(grant),
        };
        let is_owner = self.owner == Some(by) || around.rule == Rule::ProvenByTheFenceAlone;
        is_there && is_owner
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

    /// `keep`. What the fence has of an earlier grant would make one of the place.
    fn keep(&mut self, id: Id, around: &Around) {
        if around.rule != Rule::KeptUnderAnOldGrant {
            self.named = self.named.filter(|(whose, _)| *whose != id);
        }
        self.grant = None;
        self.hand_over(id, around);
    }

    /// The place is kept. The understudy is told too, which changes no key.
    fn hand_over(&mut self, id: Id, around: &Around) {
        self.owner = Some(id);
        self.left = around.reserve;
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
    fn refuse(&mut self, by: Id, score: u8, theirs: Option<Grant>, around: &Around) -> Answer {
        let seen = theirs.map_or(0, |(token, _)| token.number);
        if !around.queues {
            return Answer::Refused { score: 0, seen };
        }
        if let (Some(owner), None) = (self.owner, theirs)
            && owner != by
            && owner != PEER
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

    /// Whether `take_free.lua` says all: no contender owns, waits or is kept a place, or it is
    /// kept for this bidder, and no other waits behind it. An id that no other has owns nothing beside the
    /// mark of a kept place.
    fn is_usual(&self, by: Id, around: &Around) -> bool {
        let is_marked = self.kept.is_some_and(|(id, _)| id == by);
        let is_its = match self.owner {
            None => self.grant.is_none() && self.kept.is_none(),
            Some(owner) => owner == by && is_marked && (around.unique || self.is_kept_for(by)),
        };
        is_its && self.line().next().is_none()
    }

    /// The token that the bidder names by the clock as it reckons it, if there is a fence, and it
    /// is above that; else one by the store's own clock.
    fn named_or_next(&self, reckoned: u8, around: &Around) -> Token {
        let number = reckoned + 1;
        let is_above = match around.rule {
            Rule::NamedTokenNotCompared => true,
            Rule::NamedWithoutAFence => number > self.fence,
            _ => self.fence != 0 && number > self.fence,
        };
        match reckoned != 0 && is_above {
            true => around.token(number),
            false => around.next(self.fence.max(reckoned)),
        }
    }

    /// `take_free.lua`, and `take.lua` for what is left.
    fn take(&mut self, by: Id, nonce: Nonce, from: (u8, u8), around: &Around) -> Answer {
        let (score, reckoned) = from;
        if self.is_usual(by, around) {
            let token = self.named_or_next(reckoned, around);
            return self.own(by, (token, nonce), around);
        }
        if let Some(owner) = self.owner {
            let grant = self.grant_of(owner);
            if let Some((token, its)) = grant
                && owner == by
                && its == nonce
            {
                let (left, found) = (self.left, true);
                return Answer::Won { token, left, found };
            }
            if grant.is_some() || owner != by || !self.is_kept_for(by) {
                return self.refuse(by, score, grant, around);
            }
        } else {
            let was_told = score != 0 && self.queue[usize::from(by)] == 0;
            if self.kept.is_some_and(|(id, _)| id != by) && !was_told {
                return self.refuse(by, score, None, around);
            }
            let mine = if score == 0 { u8::MAX } else { score };
            if let Some(first) = self.call_next(Some((by, mine)), around) {
                self.keep(first, around);
                return self.refuse(by, score, None, around);
            }
        }
        self.strike(by);
        let token = around.next(self.fence.max(reckoned));
        self.own(by, (token, nonce), around)
    }

    /// What both of them write.
    fn own(&mut self, by: Id, grant: Grant, around: &Around) -> Answer {
        (self.owner, self.left) = (Some(by), around.lease);
        (self.fence, self.kept) = (grant.0.number, None);
        self.named = around.unique.then_some((by, grant));
        self.grant = (!around.unique).then_some(grant);
        let (token, left, found) = (grant.0, around.lease, false);
        Answer::Won { token, left, found }
    }

    /// `renew.lua`.
    fn renew(&mut self, by: Id, grant: Grant, around: &Around) -> Answer {
        if !self.owns(by, grant, around) {
            return Answer::Gone;
        }
        self.left = around.lease;
        Answer::Extended { left: around.lease }
    }

    /// `release.lua`, of a grant or of all that the id has.
    fn release(&mut self, by: Id, grant: Option<Grant>, around: &Around) {
        let grant = grant.filter(|_| around.rule != Rule::ReleasedByIdAlone);
        let is_held = match grant {
            Some(grant) => self.owns(by, grant, around),
            None => self.owner == Some(by),
        };
        let first = self.line().next().map(|(id, _)| id);
        let first = first.filter(|id| *id != by && around.hears[usize::from(*id)]);
        // By the id alone it may be a place that is kept for it, and the fence may name the next.
        let is_named = self.named.is_some_and(|(id, _)| id == by);
        let is_sure = grant.is_some() || is_named || around.rule == Rule::GivenOnByIdAlone;
        match first {
            _ if !is_held => {}
            // `release_free.lua`, which does not take a name out. Whom the fence named had no key
            // for its grant.
            Some(first) if is_sure => {
                self.strike(first);
                self.grant = self.grant.filter(|_| around.unique);
                self.hand_over(first, around);
            }
            _ => self.free(around),
        }
    }

    /// `leave.lua`.
    fn leave(&mut self, by: Id, nonce: Nonce, around: &Around) {
        let mine = self.owner == Some(by)
            && match self.grant_of(by) {
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
            Request::Take {
                nonce,
                score,
                reckoned,
                ..
            } => self.take(by, nonce, (score, reckoned), around),
            Request::Renew { nonce, token } => self.renew(by, (token, nonce), around),
            Request::Release { nonce, token } => {
                self.release(by, Some((token, nonce)), around);
                Answer::Done
            }
            Request::ReleaseById => {
                self.release(by, None, around);
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
        for (by, (token, nonce)) in self.granted().into_iter().flatten() {
            in_use.token(token);
            in_use.bid(by, nonce);
        }
        in_use.number(self.fence);
        for score in self.queue {
            in_use.score(score);
        }
    }

    fn renamed(self, names: &Names) -> Self {
        let score = |score: u8| names.scores[usize::from(score)];
        let grant =
            |(id, (token, nonce))| (names.id(id), (names.token(token), names.bid(id, nonce)));
        let [of_owner, named] = self.granted().map(|granted| granted.map(grant));
        Self {
            owner: self.owner.map(|id| names.id(id)),
            left: self.left,
            grant: of_owner.map(|(_, grant)| grant),
            kept: self.kept.map(|(id, left)| (names.id(id), left)),
            queue: names.each(self.queue.map(score)),
            fence: names.numbers[usize::from(self.fence)],
            named,
        }
    }

    /// Whether it owns, is kept a place or is named by the fence, and its place in the queue.
    type Part = (bool, bool, bool, u8);

    fn part(&self, by: Id) -> Self::Part {
        let is_kept = self.kept.is_some_and(|(id, _)| id == by);
        let is_named = self.named.is_some_and(|(id, _)| id == by);
        let score = self.queue[usize::from(by)];
        (self.owner == Some(by), is_kept, is_named, score)
    }

    fn fence(&self) -> u8 {
        self.fence
    }

    fn grant(&self, by: Id, nonce: Nonce) -> Option<Token> {
        let mut granted = self.granted().into_iter().flatten();
        let grant = granted.find(|(id, (_, its))| (*id, *its) == (by, nonce));
        grant.map(|(_, (token, _))| token)
    }

    fn peer_takes(&mut self, peer: Id, is_its: bool, lease: u8) -> bool {
        let may = self.owner.is_none() || (is_its && self.owner == Some(peer));
        if may {
            (self.owner, self.left) = (Some(peer), lease);
        }
        may
    }

    fn peer_frees(&mut self, peer: Id) {
        if self.owner == Some(peer) {
            (self.owner, self.left) = (None, 0);
        }
    }

    /// `prune.lua`.
    fn prune(&mut self) {
        let is_in_use = self.owner.is_some() || self.kept.is_some();
        if !is_in_use && self.line().next().is_none() {
            *self = Self::default();
        }
    }

    fn has(&self, by: Id) -> bool {
        let (owns, is_kept, _, score) = self.part(by);
        owns || is_kept || score != 0
    }

    fn forget(&mut self, by: Id) {
        self.named = self.named.filter(|(id, _)| *id != by);
    }

    fn keeps_well(&self) -> bool {
        let kept = self.owner.filter(|id| self.is_kept_for(*id));
        kept.is_none_or(|id| self.grant_of(id).is_none())
    }

    fn told(&self) -> String {
        let owner = match (self.owner, self.owner.and_then(|id| self.grant_of(id))) {
            (None, _) => "free".to_owned(),
            (Some(id), None) if self.is_kept_for(id) => format!("kept for {}", name(id)),
            (Some(id), None) => format!("a JVM peer's as {}, {} left", name(id), self.left),
            (Some(id), Some((token, nonce))) => format!(
                "{} by token {} of bid {nonce}, {} left",
                name(id),
                token.number,
                self.left
            ),
        };
        let line: String = self.line().map(|(id, _)| name(id)).collect();
        let named = self.named.map_or_else(String::new, |(id, (_, nonce))| {
            format!("; fence names bid {nonce} of {}", name(id))
        });
        format!("{owner}; queue [{line}]{named}")
    }
}

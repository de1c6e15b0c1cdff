//! [`Grant`]: what one won attempt holds, node by node.

use std::time::Duration;

use super::rules::{Rules, counts_in};
use crate::backend::{Answer, Bid, Held};
use crate::clock::Moment;
use crate::model::{ContenderId, FencingToken};

/// One node's part.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Something was sent that it may have applied.
    pub(super) touched: bool,
    pub(super) locked: Option<Locked>,
}

/// A node that has said yes.
#[derive(Clone, Debug)]
pub(super) struct Locked {
    pub(super) held: Held,
    /// Until when it keeps the lock, by its own clock's speed.
    pub(super) until: Moment,
    /// From when on it counts: before, it may have forgotten another holder.
    pub(super) counts_from: Moment,
    /// When the last request that it confirmed was sent.
    pub(super) confirmed: Moment,
}

impl Locked {
    /// What a node's yes to `bid`, sent at `sent` and heard at `heard`, is
    /// worth; `None` for a no.
    pub(super) fn new(
        bid: &Bid,
        answer: &Answer,
        sent: Moment,
        heard: Moment,
        young: Option<Duration>,
    ) -> Option<Self> {
        let token = answer.token()?;
        let expiry = bid.terms.lease();
        Some(Self {
            held: bid.held(token),
            until: valid_until(answer, sent, expiry),
            counts_from: young.map_or(heard, |up| heard + counts_in(expiry, up)),
            confirmed: sent,
        })
    }

    /// A renewal that was sent at `sent` has been confirmed.
    pub(super) fn renewed(&mut self, answer: &Answer, sent: Moment) {
        let expiry = self.held.terms.lease();
        // Answers may come in another order than their requests were sent in.
        self.until = self.until.max(valid_until(answer, sent, expiry));
        self.confirmed = self.confirmed.max(sent);
    }

    /// Whether it counts for a quorum at `now`.
    pub(super) fn counts(&self, now: Moment) -> bool {
        self.counts_from <= now && now < self.until
    }
}

/// A lease found again after a lost answer has less left than a new one.
fn valid_until(answer: &Answer, sent: Moment, expiry: Duration) -> Moment {
    let left = answer.owner().remaining(answer.now()).unwrap_or(expiry);
    // From when it was sent: the node may have begun to count at any time since.
    sent + left.min(expiry)
}

/// Everything that one won attempt holds.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    /// The bid as the nodes know it.
    pub(super) bid: Bid,
    /// The bidder's own id.
    pub(super) contender: ContenderId,
    /// Known to the engine above only.
    pub(super) token: FencingToken,
    /// Until when the engine was told that it lasts.
    pub(super) told: Moment,
    /// How often it is held.
    pub(super) count: u32,
    pub(super) parts: Vec<Part>,
}

impl Grant {
    /// Whether it is what `held` says.
    pub(super) fn is(&self, held: &Held) -> bool {
        self.bid.name == held.name
            && self.contender == held.contender
            && self.token.store() == held.token.store()
    }

    /// Until when a quorum of its nodes lasts, if there is one.
    pub(super) fn lasts_until(&self, rules: &Rules, now: Moment) -> Option<Moment> {
        lasts_until(&self.parts, rules, now)
    }

    /// How many nodes that count have confirmed what was sent since `start`.
    pub(super) fn confirmed_since(&self, start: Moment, now: Moment) -> usize {
        let locked = self.parts.iter().filter_map(|part| part.locked.as_ref());
        locked
            .filter(|locked| locked.confirmed >= start && locked.counts(now))
            .count()
    }
}

pub(super) fn lasts_until(parts: &[Part], rules: &Rules, now: Moment) -> Option<Moment> {
    let counting = parts
        .iter()
        .filter_map(|part| part.locked.as_ref())
        .filter(|locked| locked.counts(now));
    rules.lasts_until(counting.map(|locked| locked.until))
}

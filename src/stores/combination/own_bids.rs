//! [`OwnBids`]: what this process knows of its own bids.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;

use super::client::Store;
use super::grant::Grant;
use super::unlock::Progress;
use crate::backend::{Bid, Held, Nonce};
use crate::clock::Moment;
use crate::model::{ContenderId, chance};

/// What this process knows of its own bids. What is not here is nowhere: each
/// attempt has an id of its own, so no other bid's part can be touched.
#[derive(Default)]
pub(super) struct OwnBids {
    pub(super) grants: HashMap<Nonce, Grant>,
    traces: HashMap<Nonce, Trace>,
    first: HashMap<ContenderId, FirstBid>,
}

/// The first bid of a contender, which the nodes know under its own id.
struct FirstBid {
    nonce: Nonce,
    /// When the contender was last heard of.
    last: Moment,
}

/// What became of the attempts of a bid.
#[derive(Clone)]
struct Trace {
    /// Counts the attempts that may have left something behind.
    number: u32,
    unlocking: Option<watch::Receiver<Progress>>,
    /// The release that this is, until a caller has heard its end.
    release: Option<Held>,
    last: Moment,
}

impl Store {
    /// A bid as the nodes shall know it. An attempt after one that may have
    /// left something behind has another id, and so has one of a later bid of
    /// the same contender: what undoes the one, however late it arrives, must
    /// not undo the other.
    pub(super) fn node_bid(&self, bid: &Bid) -> Bid {
        let is_first = self.is_first(bid);
        let number = self.bids().traces.get(&bid.nonce).map_or(0, |t| t.number);
        let mut bid = bid.clone();
        if bid.unique_id && (number > 0 || !is_first) {
            let nonce = bid.nonce.to_string();
            let nonce = if is_first { "" } else { &nonce[..8] };
            let numbered = ContenderId::new(format!("{}~{nonce}{number}", bid.contender));
            let other = || ContenderId::new(chance::uuid().simple().to_string());
            if let Ok(id) = numbered.or_else(|_| other()) {
                bid.contender = id;
            }
        }
        // Tokens of different servers do not compare.
        bid.seen = None;
        bid.score = None;
        bid
    }

    /// Whether it is the first bid of its contender, as far as anything of an
    /// earlier one may still be on its way.
    fn is_first(&self, bid: &Bid) -> bool {
        let (now, keep) = (self.clock.now(), bid.terms.lease() * 2);
        let mut bids = self.bids();
        if bids.first.len().is_power_of_two() {
            bids.first.retain(|_, first| first.last + keep > now);
        }
        let first = bids.first.entry(bid.contender.clone());
        let first = first.or_insert(FirstBid {
            nonce: bid.nonce,
            last: now,
        });
        first.last = now;
        first.nonce == bid.nonce
    }

    /// Notes that what the bid of `nonce` has on the nodes is being undone.
    pub(super) fn unlocking(
        &self,
        nonce: Nonce,
        progress: watch::Receiver<Progress>,
        keep: Duration,
    ) {
        let now = self.clock.now();
        let mut bids = self.bids();
        if bids.traces.len().is_power_of_two() {
            // By then nothing is sent for them any more.
            bids.traces.retain(|_, trace| trace.last + keep * 2 > now);
            bids.grants.retain(|_, grant| grant.told + keep * 2 > now);
        }
        let trace = bids.traces.entry(nonce).or_insert(Trace {
            number: 0,
            unlocking: None,
            release: None,
            last: now,
        });
        trace.number += 1;
        trace.unlocking = Some(progress);
        trace.release = None;
        trace.last = now;
    }

    /// Notes that what was just begun for the bid of `held` is its release.
    pub(super) fn releasing(&self, held: &Held) {
        if let Some(trace) = self.bids().traces.get_mut(&held.nonce) {
            trace.release = Some(held.clone());
        }
    }

    /// How far the release of `held` is, if there is one whose end no caller has
    /// heard: the first may have given up, and asks again.
    pub(super) fn release_of(&self, held: &Held) -> Option<watch::Receiver<Progress>> {
        let bids = self.bids();
        let trace = bids.traces.get(&held.nonce)?;
        let same = trace.release.as_ref().is_some_and(|release| {
            release.name == held.name
                && release.contender == held.contender
                && release.token.store() == held.token.store()
        });
        trace.unlocking.clone().filter(|_| same)
    }

    /// A caller has heard that the release of `held` is done: from now on there
    /// is nothing to release.
    pub(super) fn released(&self, held: &Held) {
        if let Some(trace) = self.bids().traces.get_mut(&held.nonce) {
            trace.release = None;
        }
    }

    /// How far the undoing of the bid of `nonce` is, if there is one.
    pub(super) fn progress(&self, nonce: Nonce) -> Option<watch::Receiver<Progress>> {
        let bids = self.bids();
        bids.traces
            .get(&nonce)
            .and_then(|trace| trace.unlocking.clone())
    }
}

//! [`Combined`]: several servers as one store of locks.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::grant::Grant;
use super::node::Node;
use super::rules::Rules;
use super::unlock::Progress;
use crate::backend::{Bid, Held, Nonce};
use crate::clock::{Clock, Moment};
use crate::error::Result;
use crate::model::{ContenderId, FencingToken, MutexOwner, StoreTime, chance};
use crate::stores::kit::{Closing, wall};

/// Several servers as one store; clones are the same.
#[doc(hidden)]
#[derive(Clone)]
pub struct Combined(pub(super) Arc<Store>);

/// What the parts of a client share.
pub(super) struct Store {
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) rules: Rules,
    pub(super) safety_look: Duration,
    pub(super) clock: Clock,
    pub(super) runtime: Handle,
    pub(super) closing: Closing,
    /// How many unlocks are under way on each node.
    pub(super) pending: watch::Sender<Vec<usize>>,
    bids: Mutex<OwnBids>,
}

/// What this process knows of its own bids. What is not here is nowhere: each
/// attempt has an id of its own, so nobody else's part can be touched.
#[derive(Default)]
pub(super) struct OwnBids {
    pub(super) grants: HashMap<Nonce, Grant>,
    traces: HashMap<Nonce, Trace>,
}

/// What became of the attempts of a bid.
#[derive(Clone)]
struct Trace {
    /// Counts the attempts that may have left something behind.
    number: u32,
    unlocking: Option<watch::Receiver<Progress>>,
    /// The release that this is, until somebody has heard its end.
    release: Option<Held>,
    last: Moment,
}

impl Combined {
    pub(crate) fn new(
        nodes: Vec<Node>,
        rules: Rules,
        safety_look: Duration,
        clock: Clock,
        runtime: Handle,
    ) -> Self {
        let pending = watch::Sender::new(vec![0; nodes.len()]);
        Self(Arc::new(Store {
            nodes: nodes.into_iter().map(Arc::new).collect(),
            pending,
            rules,
            safety_look,
            clock,
            runtime,
            closing: Closing::of("this combination lock"),
            bids: Mutex::default(),
        }))
    }
}

impl Drop for Store {
    /// A stream may outlive the client: it ends with it.
    fn drop(&mut self) {
        self.closing.close();
    }
}

impl Store {
    pub(super) fn bids(&self) -> MutexGuard<'_, OwnBids> {
        self.bids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        self.closing.check_open()
    }

    /// The time by which answers are dated: this machine's own, for servers
    /// have no common one.
    pub(super) fn store_time(moment: Moment) -> StoreTime {
        StoreTime::from_millis(moment.as_nanos() / 1_000_000)
    }

    /// The owner of a grant that lasts until `until`, dated from `start`.
    pub(super) fn owner_until(grant: &Grant, start: Moment, until: Moment) -> MutexOwner {
        let now = Self::store_time(start);
        MutexOwner::foreign(grant.contender.clone())
            .owning_until(now + until.since(start))
            .with_token(grant.token)
    }

    /// A bid as the nodes shall know it. An attempt after one that may have
    /// left something behind has another id: what undoes the one, however
    /// late it arrives, must not undo the other.
    pub(super) fn node_bid(&self, bid: &Bid) -> Bid {
        let number = self.bids().traces.get(&bid.nonce).map_or(0, |t| t.number);
        let mut bid = bid.clone();
        if number > 0 && bid.unique_id {
            let numbered = ContenderId::new(format!("{}~{number}", bid.contender));
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

    /// How far the release of `held` is, if there is one whose end nobody has
    /// heard: its caller may have given up, and asks again.
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

    /// Somebody has heard that the release of `held` is done: from now on there
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

/// A number for the engine above, larger than any before in this process.
pub(super) fn next_token() -> Result<FencingToken> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let wall = u64::try_from(wall().as_micros()).unwrap_or(0);
    LAST.fetch_max(wall, Ordering::Relaxed);
    FencingToken::from_store(LAST.fetch_add(1, Ordering::Relaxed) + 1)
}

impl fmt::Debug for Combined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Combined")
            .field("nodes", &self.0.nodes)
            .field("mode", &self.0.rules.mode)
            .finish_non_exhaustive()
    }
}

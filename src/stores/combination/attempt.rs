//! One attempt, from left to right.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Combined, Store, next_token};
use super::grant::{Grant, Locked, Part, lasts_until};
use super::rules::Mode;
use super::unlock::{Progress, Told, passed};
use crate::backend::{Answer, Bid};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::MutexOwner;

/// How long a failed attempt waits for its own undoing before it says so.
const UNDO_WAIT: Duration = Duration::from_millis(500);

/// What an attempt has sent and won so far. Dropped, all of it is undone.
struct Attempt {
    shared: Arc<Store>,
    bid: Bid,
    parts: Vec<Part>,
    start: Moment,
    end: Moment,
    /// The first node that another holds, in its words.
    refused: Option<Answer>,
    refusals: usize,
}

/// What follows a node's word.
enum Step {
    On,
    Lost,
}

impl Combined {
    pub(super) async fn attempt(&self, bid: &Bid) -> Result<Answer> {
        let shared = &self.0;
        let start = shared.clock.now();
        if let Some(answer) = self.found_again(bid, start) {
            return Ok(answer);
        }
        let mut attempt = Attempt {
            shared: Arc::clone(shared),
            bid: shared.node_bid(bid),
            parts: vec![Part::default(); shared.nodes.len()],
            start,
            end: start + shared.rules.acquire_timeout,
            refused: None,
            refusals: 0,
        };
        match attempt.run().await {
            Ok(Some(until)) => attempt.won(bid, until),
            Ok(None) => {
                let answer = attempt.refusal();
                attempt.undo().await;
                Ok(answer)
            }
            Err(error) => {
                attempt.undo().await;
                Err(error)
            }
        }
    }

    /// The grant that this very bid has, if its answer was lost.
    fn found_again(&self, bid: &Bid, now: Moment) -> Option<Answer> {
        let shared = &self.0;
        let bids = shared.bids();
        // Under an id that others share, it could be theirs.
        let grant = bids.grants.get(&bid.nonce).filter(|_| bid.unique_id)?;
        let until = grant.lasts_until(&shared.rules, now)?;
        let owner = Store::owner_until(grant, now, until);
        Some(Answer::won(owner, Store::store_time(now)))
    }
}

impl Attempt {
    /// Until when it has won; `None` when another holds.
    async fn run(&mut self) -> Result<Option<Moment>> {
        let shared = Arc::clone(&self.shared);
        let quorum = shared.rules.quorum;
        let available = shared.nodes.iter().filter(|node| node.is_available());
        let in_need = available.count() < quorum;
        for index in 0..shared.nodes.len() {
            if !shared.is_takeable(index, in_need).await {
                continue;
            }
            if let Step::Lost = self.ask(index).await? {
                return Ok(None);
            }
            if shared.clock.now() >= self.end {
                return Err(self.late());
            }
        }
        let now = shared.clock.now();
        if let Some(until) = lasts_until(&self.parts, &shared.rules, now) {
            return Ok(Some(until));
        }
        // With those that another holds it would have been enough.
        let locked = self.parts.iter().filter(|part| part.locked.is_some());
        if self.refusals > 0 && self.refusals + locked.count() >= quorum {
            return Ok(None);
        }
        Err(self.too_few(now))
    }

    async fn ask(&mut self, index: usize) -> Result<Step> {
        let shared = Arc::clone(&self.shared);
        let node = &shared.nodes[index];
        self.parts[index].touched = true;
        let sent = shared.clock.now();
        let taking = node.store().take(&self.bid);
        let answer = node.ask(Some(self.end), taking).await;
        node.said(&answer);
        let heard = shared.clock.now();
        match answer {
            Ok((answer, up)) => {
                let young = (!node.durable).then_some(up);
                let locked = Locked::new(&self.bid, &answer, sent, heard, young);
                if locked.is_none() {
                    // Nothing of ours is there.
                    self.parts[index].touched = false;
                    return Ok(self.refused_by(answer));
                }
                self.parts[index].locked = locked;
                Ok(Step::On)
            }
            Err(error) if error.kind() == ErrorKind::Closed => Err(error),
            Err(error) => {
                // It certainly did nothing: there is nothing to undo.
                self.parts[index].touched = error.may_have_happened();
                Ok(Step::On)
            }
        }
    }

    fn refused_by(&mut self, answer: Answer) -> Step {
        self.refused.get_or_insert(answer);
        self.refusals += 1;
        let rules = &self.shared.rules;
        let could_have = self.shared.nodes.len() - self.refusals;
        match rules.mode {
            Mode::Leftmost => Step::Lost,
            Mode::Majority if could_have < rules.quorum => Step::Lost,
            Mode::Majority => Step::On,
        }
    }

    /// The answer of a lost attempt, on this machine's clock.
    fn refusal(&self) -> Answer {
        let now = Store::store_time(self.shared.clock.now());
        let Some(refused) = &self.refused else {
            return Answer::refused(MutexOwner::NONE, now);
        };
        Answer::refused(dated(refused, now), now)
    }

    fn won(mut self, bid: &Bid, until: Moment) -> Result<Answer> {
        let grant = Grant {
            bid: self.bid.clone(),
            contender: bid.contender.clone(),
            token: next_token()?,
            told: until,
            count: 1,
            parts: std::mem::take(&mut self.parts),
        };
        let owner = Store::owner_until(&grant, self.start, until);
        self.shared.bids().grants.insert(bid.nonce, grant);
        Ok(Answer::won(owner, Store::store_time(self.start)))
    }

    /// Undoes it and waits for the nodes that answer, but not for slow ones:
    /// their unlocking goes on.
    async fn undo(mut self) {
        if let Some(progress) = self.unlock() {
            let clock = &self.shared.clock;
            clock.limit(clock.now() + UNDO_WAIT, passed(progress)).await;
        }
    }

    fn unlock(&mut self) -> Option<tokio::sync::watch::Receiver<Progress>> {
        let parts = std::mem::take(&mut self.parts);
        let touched = parts.iter().any(|part| part.touched);
        // It never won, so no waiter waits for its end, and none is told.
        touched.then(|| self.shared.unlock(self.bid.clone(), parts, Told::Nobody))
    }

    fn late(&self) -> Error {
        Error::new(ErrorKind::Timeout, Outcome::DidNot).with_message(format!(
            "the nodes were not locked within the acquire timeout of {:?}: {}",
            self.shared.rules.acquire_timeout,
            self.states(self.shared.clock.now())
        ))
    }

    fn too_few(&self, now: Moment) -> Error {
        let (quorum, nodes) = (self.shared.rules.quorum, &self.shared.nodes);
        let counting = |part: &&Part| part.locked.as_ref().is_some_and(|l| l.counts(now));
        let message = format!(
            "too few nodes: {quorum} of {} are needed and {} could be locked: {}",
            nodes.len(),
            self.parts.iter().filter(counting).count(),
            self.states(now)
        );
        // Enough answer: then waiting does not help, an operator must mend them.
        let enough = nodes.iter().filter(|node| node.answers()).count() >= quorum;
        match nodes.iter().find_map(|node| node.sickness()) {
            Some(sick) if enough => Error::new(sick.kind(), Outcome::DidNot)
                .with_message(message)
                .with_retry(sick.retry())
                .with_source(sick),
            _ => Error::new(ErrorKind::Unreachable, Outcome::DidNot).with_message(message),
        }
    }

    /// Each node and its state.
    fn states(&self, now: Moment) -> String {
        let state = |(index, part): (usize, &Part)| {
            let node = &self.shared.nodes[index];
            let state = match (&part.locked, node.trouble()) {
                (Some(locked), _) if locked.counts(now) => "locked".to_owned(),
                (Some(locked), _) => format!(
                    "locked, and not counted for another {:.0?}: it restarted less than an expiry \
                     ago and may have forgotten a holder",
                    locked.counts_from.since(now)
                ),
                (None, Some(trouble)) => trouble,
                (None, None) => "available, not locked".to_owned(),
            };
            format!("{} is {state}", node.label())
        };
        let states: Vec<String> = self.parts.iter().enumerate().map(state).collect();
        states.join("; ")
    }
}

impl Drop for Attempt {
    /// Given up on the way: what was sent is undone in the background.
    fn drop(&mut self) {
        self.unlock();
    }
}

/// The holder that a node names, with its end on this machine's clock.
pub(super) fn dated(answer: &Answer, now: crate::model::StoreTime) -> MutexOwner {
    let owner = answer.owner();
    let Some(id) = owner.owner_id().filter(|_| owner.has_owner(answer.now())) else {
        return MutexOwner::NONE;
    };
    let named = MutexOwner::foreign(id.clone());
    match owner.remaining(answer.now()) {
        Some(left) => named.owning_until(now + left),
        None => named,
    }
}

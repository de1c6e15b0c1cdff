//! Renewing on every node that answers, and taking again what came back empty.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::attempt::dated;
use super::client::{Combined, Store};
use super::grant::{Grant, Part};
use super::rules::drift;
use super::unlock::Told;
use crate::backend::{Answer, Held, Nonce};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::MutexOwner;

/// What one node said to a renewal, if it did.
pub(super) type Word = Option<Answer>;

impl Combined {
    pub(super) async fn renew_one(&self, held: &Held) -> Result<Answer> {
        let shared = &self.0;
        let start = shared.clock.now();
        let Some(grant) = shared.grant(held) else {
            return self.look(&held.name).await;
        };
        // Both steps, several times over, fit into what is left.
        let step = grant.told.since(start) / 10;
        let by = start + step;
        let holding =
            |(index, part): (usize, &Part)| part.locked.is_some() && shared.nodes[index].answers();
        let holding = grant
            .parts
            .iter()
            .enumerate()
            .filter(|p| holding(*p))
            .count();
        let in_need = holding < shared.rules.quorum;
        let renewing = self.on_nodes(|index| {
            let locked = grant.parts[index].locked.as_ref()?;
            Some(Arc::clone(shared).keep(index, locked.held.clone(), by, in_need))
        });
        let mut other = None;
        for word in renewing {
            let refused = word.await.ok().flatten().filter(|answer| !answer.is_won());
            other = other.or(refused);
        }
        let by = shared.clock.now() + step;
        self.take_again(held.nonce, by, in_need).await;
        self.judge(held, start, other)
    }

    /// Takes the nodes that have nothing of ours: they came back, perhaps
    /// empty. Only while a quorum is ours, so that no other can be winning.
    async fn take_again(&self, nonce: Nonce, by: Moment, in_need: bool) {
        let shared = &self.0;
        let now = shared.clock.now();
        let missing: Vec<bool> = {
            let bids = shared.bids();
            let Some(grant) = bids.grants.get(&nonce) else {
                return;
            };
            let surely = now + drift(grant.bid.terms.lease());
            let until = grant.lasts_until(&shared.rules, now);
            if until.is_none_or(|until| until <= surely) {
                return;
            }
            let missing = |part: &Part| part.locked.is_none();
            grant.parts.iter().map(missing).collect()
        };
        let taking = self.on_nodes(|index| {
            missing[index].then(|| Arc::clone(shared).take_back(index, nonce, by, in_need))
        });
        for taken in taking {
            let _ = taken.await;
        }
    }

    /// Starts `work` on each node that it wants. It goes on when the caller has
    /// gone: what was sent must be known.
    fn on_nodes<T, F>(&self, work: impl Fn(usize) -> Option<F>) -> Vec<JoinHandle<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let shared = &self.0;
        let work = (0..shared.nodes.len()).filter_map(work);
        work.map(|work| shared.runtime.spawn(work)).collect()
    }

    /// What the renewal that began at `start` came to.
    fn judge(&self, held: &Held, start: Moment, other: Word) -> Result<Answer> {
        let shared = &self.0;
        let now = shared.clock.now();
        let mut bids = shared.bids();
        let grant = bids.grants.get_mut(&held.nonce);
        let Some(grant) = grant.filter(|grant| grant.is(held)) else {
            // Given back meanwhile.
            return Ok(Answer::refused(MutexOwner::NONE, Store::store_time(now)));
        };
        let Some(until) = grant.lasts_until(&shared.rules, now) else {
            // Lost; the nodes that still have it shall not keep others out
            // until their leases end.
            let grant = bids.grants.remove(&held.nonce);
            drop(bids);
            if let Some(Grant { bid, parts, .. }) = grant {
                drop(shared.unlock(bid, parts, Told::Waiters));
            }
            let now = Store::store_time(now);
            let owner = other.map_or(MutexOwner::NONE, |answer| dated(&answer, now));
            return Ok(Answer::refused(owner, now));
        };
        let confirmed = grant.confirmed_since(start, now);
        // Not lost: what the engine was told still holds, so it may try again.
        if confirmed < shared.rules.quorum && until >= grant.told {
            return Err(
                Error::new(ErrorKind::Unreachable, Outcome::MayHave).with_message(format!(
                    "renewed on {confirmed} of the {} nodes that are needed: {}",
                    shared.rules.quorum,
                    self.troubles()
                )),
            );
        }
        // Also when it is less than before: a node has lost it.
        grant.told = until;
        let owner = Store::owner_until(grant, start, until);
        Ok(Answer::won(owner, Store::store_time(start)))
    }

    /// The nodes that do not answer.
    pub(super) fn troubles(&self) -> String {
        let trouble = |node: &Arc<super::node::Node>| {
            node.trouble()
                .map(|trouble| format!("{} is {trouble}", node.label()))
        };
        let troubles: Vec<String> = self.0.nodes.iter().filter_map(trouble).collect();
        if troubles.is_empty() {
            return "the others gave no answer in time".to_owned();
        }
        troubles.join("; ")
    }

    /// Writes how often `held` is held on every node that has it and answers.
    pub(super) async fn record_on_all(&self, held: &Held, count: u32) -> Result<bool> {
        let shared = &self.0;
        let start = shared.clock.now();
        let Some(grant) = shared.grant(held) else {
            return Ok(false);
        };
        if let Some(grant) = shared.bids().grants.get_mut(&held.nonce) {
            grant.count = count;
        }
        let writing = self.on_nodes(|index| {
            let held = grant.parts[index].locked.as_ref()?.held.clone();
            Some(Arc::clone(shared).write(index, held, count))
        });
        let mut written = 0;
        for done in writing {
            written += usize::from(done.await.unwrap_or(false));
        }
        if written >= shared.rules.quorum {
            return Ok(true);
        }
        let now = shared.clock.now();
        let lasts = shared
            .grant(held)
            .and_then(|grant| grant.lasts_until(&shared.rules, now));
        match lasts {
            None => Ok(false),
            Some(_) => Err(
                Error::new(ErrorKind::Unreachable, Outcome::MayHave).with_message(format!(
                    "written on {written} nodes since {:?}",
                    now.since(start)
                )),
            ),
        }
    }
}

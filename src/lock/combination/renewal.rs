//! Renewing on every node that answers, and taking again what came back empty.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::attempt::dated;
use super::combined::{Combined, Shared};
use super::grant::{Grant, Locked, Part};
use super::rules::drift;
use crate::backend::{Answer, Backend, Bid, Held, Nonce};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::MutexOwner;

/// What one node said to a renewal, if it did.
type Word = Option<Answer>;

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
        let holding = |(index, part): (usize, &Part)| {
            part.locked.is_some() && shared.nodes[index].is_available()
        };
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
    /// empty. Only while a quorum is ours, so that nobody else can be winning.
    async fn take_again(&self, nonce: Nonce, by: Moment, in_need: bool) {
        let shared = &self.0;
        let now = shared.clock.now();
        let missing: Vec<bool> = {
            let book = shared.book();
            let Some(grant) = book.grants.get(&nonce) else {
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

    /// Starts `work` on each node that it wants. It goes on when nobody waits
    /// for it: what was sent must be known.
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
        let mut book = shared.book();
        let grant = book.grants.get_mut(&held.nonce);
        let Some(grant) = grant.filter(|grant| grant.is(held)) else {
            // Given back meanwhile.
            return Ok(Answer::refused(MutexOwner::NONE, Shared::store_time(now)));
        };
        let Some(until) = grant.lasts_until(&shared.rules, now) else {
            let grant = book.grants.remove(&held.nonce);
            drop(book);
            if let Some(Grant { bid, parts, .. }) = grant {
                drop(shared.unlock(bid, parts));
            }
            let now = Shared::store_time(now);
            let owner = other.map_or(MutexOwner::NONE, |answer| dated(&answer, now));
            return Ok(Answer::refused(owner, now));
        };
        let confirmed = grant.confirmed_since(start, now);
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
        let owner = Shared::owner_until(grant, start, until);
        Ok(Answer::won(owner, Shared::store_time(start)))
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
        if let Some(grant) = shared.book().grants.get_mut(&held.nonce) {
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

impl Shared {
    /// The grant of `held`, as it is now.
    pub(super) fn grant(&self, held: &Held) -> Option<Grant> {
        let book = self.book();
        let grant = book.grants.get(&held.nonce)?;
        grant.is(held).then(|| grant.clone())
    }

    /// Notes what `change` makes of one node's part, if the grant is still
    /// there.
    fn note(&self, nonce: Nonce, index: usize, change: impl FnOnce(&mut Part)) -> bool {
        let mut book = self.book();
        let part = book.grants.get_mut(&nonce).map(|g| &mut g.parts[index]);
        part.map(change).is_some()
    }

    async fn keep(self: Arc<Self>, index: usize, held: Held, by: Moment, in_need: bool) -> Word {
        let node = &self.nodes[index];
        if !node.is_usable(in_need).await {
            return None;
        }
        let sent = self.clock.now();
        let held = [held];
        let renewing = async {
            let nothing = || Error::new(ErrorKind::Store, Outcome::MayHave);
            let mut answers = node.store.backend().renew(&held).await;
            answers.pop().unwrap_or_else(|| Err(nothing()))
        };
        let answer = node.ask(Some(by), renewing).await.ok()?;
        let won = answer.is_won();
        self.note(held[0].nonce, index, |part| match &mut part.locked {
            Some(locked) if won => locked.renewed(&answer, sent),
            locked => *locked = None,
        });
        Some(answer)
    }

    async fn take_back(self: Arc<Self>, index: usize, nonce: Nonce, by: Moment, in_need: bool) {
        let node = &self.nodes[index];
        if !node.is_usable(in_need).await {
            return;
        }
        let mut wanted = None;
        {
            let mut book = self.book();
            if let Some(grant) = book.grants.get_mut(&nonce) {
                // Noted before it is sent, so that a release undoes it.
                grant.parts[index].touched = true;
                wanted = Some((grant.bid.clone(), grant.count));
            }
        }
        let Some((bid, count)) = wanted else { return };
        let sent = self.clock.now();
        let answer = node.ask(Some(by), node.store.take(&bid)).await;
        let heard = self.clock.now();
        let locked = answer.as_ref().ok().and_then(|(answer, up)| {
            let young = (!node.durable).then_some(*up);
            Locked::new(&bid, answer, sent, heard, young)
        });
        let refused = answer.is_ok() && locked.is_none();
        let known = self.note(nonce, index, |part| {
            part.locked.clone_from(&locked);
            part.touched = !refused;
        });
        if !known && !refused {
            // Given back while this was under way.
            return self.unlock_late(bid, index, locked);
        }
        if let Some(locked) = locked.filter(|_| count > 1) {
            let recording = node.store.record(&locked.held, count);
            let _ = node.ask(Some(by), recording).await;
        }
    }

    fn unlock_late(self: &Arc<Self>, bid: Bid, index: usize, locked: Option<Locked>) {
        let mut parts = vec![Part::default(); self.nodes.len()];
        parts[index] = Part {
            touched: true,
            locked,
        };
        drop(self.unlock(bid, parts));
    }

    async fn write(self: Arc<Self>, index: usize, held: Held, count: u32) -> bool {
        let node = &self.nodes[index];
        if !node.is_available() {
            return false;
        }
        match node.ask(None, node.store.record(&held, count)).await {
            Ok(true) => true,
            Ok(false) => {
                self.note(held.nonce, index, |part| part.locked = None);
                false
            }
            Err(_) => false,
        }
    }
}

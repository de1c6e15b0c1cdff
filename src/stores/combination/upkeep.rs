//! What a renewal does on one node. Each of these goes on when the caller has
//! gone, and notes what came of it itself.

use std::sync::Arc;
use std::time::Duration;

use super::client::Store;
use super::grant::{Grant, Locked, Part};
use super::renew::Word;
use super::unlock::Told;
use crate::backend::{Backend, Bid, Held, Nonce};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome};

/// The first pause before a node that another has is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// What came of a take.
#[derive(PartialEq, Eq)]
enum Taken {
    /// Ours, or nothing that another try would mend.
    Done,
    ByAnother,
}

impl Store {
    /// The grant of `held`, as it is now.
    pub(super) fn grant(&self, held: &Held) -> Option<Grant> {
        let bids = self.bids();
        let grant = bids.grants.get(&held.nonce)?;
        grant.is(held).then(|| grant.clone())
    }

    /// Notes what `change` makes of one node's part, if the grant is still
    /// there.
    fn note(&self, nonce: Nonce, index: usize, change: impl FnOnce(&mut Part)) -> bool {
        let mut bids = self.bids();
        let part = bids.grants.get_mut(&nonce).map(|g| &mut g.parts[index]);
        part.map(change).is_some()
    }

    pub(super) async fn keep(
        self: Arc<Self>,
        index: usize,
        held: Held,
        by: Moment,
        in_need: bool,
    ) -> Word {
        let node = &self.nodes[index];
        if !node.is_usable(in_need).await {
            return None;
        }
        let sent = self.clock.now();
        let held = [held];
        let renewing = async {
            let nothing = || Error::new(ErrorKind::Store, Outcome::MayHave);
            let mut answers = node.store().backend().renew(&held).await;
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

    /// Takes a node that has nothing of ours. Another's attempt may stand
    /// there for a moment, so a refusal is not its last word.
    pub(super) async fn take_back(
        self: Arc<Self>,
        index: usize,
        nonce: Nonce,
        by: Moment,
        in_need: bool,
    ) {
        if !self.is_takeable(index, in_need).await {
            return;
        }
        let mut pause = FIRST_PAUSE;
        while self.take_back_once(index, nonce, by).await == Taken::ByAnother
            && self.clock.now() + pause < by
        {
            self.clock.sleep(pause).await;
            pause *= 2;
        }
    }

    async fn take_back_once(self: &Arc<Self>, index: usize, nonce: Nonce, by: Moment) -> Taken {
        let node = &self.nodes[index];
        let mut wanted = None;
        {
            let mut bids = self.bids();
            if let Some(grant) = bids.grants.get_mut(&nonce) {
                // Noted before it is sent, so that a release undoes it.
                grant.parts[index].touched = true;
                wanted = Some((grant.bid.clone(), grant.count));
            }
        }
        let Some((bid, count)) = wanted else {
            return Taken::Done;
        };
        let sent = self.clock.now();
        let answer = node.ask(Some(by), node.store().take(&bid)).await;
        node.said(&answer);
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
        if refused {
            return Taken::ByAnother;
        }
        if !known {
            // Given back while this was under way.
            self.unlock_late(bid, index, locked);
            return Taken::Done;
        }
        if let Some(locked) = locked.filter(|_| count > 1) {
            let recording = node.store().record(&locked.held, count);
            let _ = node.ask(Some(by), recording).await;
        }
        Taken::Done
    }

    fn unlock_late(self: &Arc<Self>, bid: Bid, index: usize, locked: Option<Locked>) {
        let mut parts = vec![Part::default(); self.nodes.len()];
        parts[index] = Part {
            touched: true,
            locked,
        };
        drop(self.unlock(bid, parts, Told::Waiters));
    }

    pub(super) async fn write(self: Arc<Self>, index: usize, held: Held, count: u32) -> bool {
        let node = &self.nodes[index];
        if !node.answers() {
            return false;
        }
        match node.ask(None, node.store().record(&held, count)).await {
            Ok(true) => true,
            Ok(false) => {
                self.note(held.nonce, index, |part| part.locked = None);
                false
            }
            Err(_) => false,
        }
    }
}

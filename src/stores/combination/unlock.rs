//! Unlocking from right to left, on every node that may have the lock: also on
//! those that are silent, which are asked again in the background.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::client::Store;
use super::grant::Part;
use crate::backend::{Backend, Bid};
use crate::error::{ErrorKind, Result};

/// The first and the longest pause before a silent node is asked again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How far an unlocking has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Every node that was not known to be silent has been asked.
    pub(super) passed: bool,
    /// How many nodes had said that they are locked.
    pub(super) locked: usize,
    /// How many of them were freed by this.
    pub(super) freed: usize,
    /// How many of them had it no more.
    pub(super) gone: usize,
}

impl Progress {
    /// Whether the lock was given back (true) or had been lost before (false),
    /// once so many nodes have answered that it is known.
    pub(super) fn verdict(&self, quorum: usize) -> Option<bool> {
        if self.freed >= quorum {
            return Some(true);
        }
        let silent = self.locked - self.freed - self.gone;
        (self.freed + silent < quorum).then_some(false)
    }
}

/// Who hears of an unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The waiters: the lock is free.
    Waiters,
    /// No waiter, for another holds it: they wait for that one. A
    /// waiter that heard itself would try again, and again.
    Nobody,
}

/// What is to be unlocked on one node.
struct Rest {
    index: usize,
    part: Part,
    /// It was asked, and its answer was lost.
    unheard: bool,
    _pending: Pending,
}

/// Counts an unlock that is under way.
struct Pending {
    shared: Arc<Store>,
    index: usize,
}

impl Pending {
    fn new(shared: &Arc<Store>, index: usize) -> Self {
        shared.pending.send_modify(|pending| pending[index] += 1);
        let shared = Arc::clone(shared);
        Self { shared, index }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let less = |pending: &mut Vec<usize>| pending[self.index] -= 1;
        self.shared.pending.send_modify(less);
    }
}

impl Store {
    /// Undoes what `bid` has on the nodes. The work goes on when the caller
    /// has gone.
    pub(super) fn unlock(
        self: &Arc<Self>,
        bid: Bid,
        parts: Vec<Part>,
        told: Told,
    ) -> watch::Receiver<Progress> {
        let rest: Vec<Rest> = parts
            .into_iter()
            .enumerate()
            .filter(|(_, part)| part.touched)
            .map(|(index, part)| Rest {
                index,
                part,
                unheard: false,
                _pending: Pending::new(self, index),
            })
            .collect();
        let progress = Progress {
            locked: rest
                .iter()
                .filter(|rest| rest.part.locked.is_some())
                .count(),
            ..Progress::default()
        };
        let (tell, followed) = watch::channel(progress);
        self.unlocking(bid.nonce, followed.clone(), bid.terms.lease());
        self.runtime
            .spawn(Arc::clone(self).work_off(bid, rest, told, tell));
        followed
    }

    /// Waits until no unlock is under way, at most so long; the nodes on which
    /// one still is.
    pub(super) async fn unlocked_within(&self, wait: Duration) -> Vec<String> {
        let mut pending = self.pending.subscribe();
        let none = |pending: &Vec<usize>| pending.iter().all(|number| *number == 0);
        let limit = self.clock.now() + wait;
        let done = self.clock.limit(limit, pending.wait_for(none)).await;
        if done.is_some() {
            return Vec::new();
        }
        let pending = self.pending.borrow();
        let left = self.nodes.iter().zip(pending.iter());
        let left = left.filter(|(_, number)| **number > 0);
        left.map(|(node, _)| node.label().to_owned()).collect()
    }

    async fn work_off(
        self: Arc<Self>,
        bid: Bid,
        mut rest: Vec<Rest>,
        told: Told,
        tell: watch::Sender<Progress>,
    ) {
        let over = self.clock.now() + bid.terms.lease();
        let mut pause = PAUSE.0;
        let mut first = true;
        loop {
            let mut left = Vec::new();
            while let Some(mut next) = rest.pop() {
                // Those that are known to be silent wait until the others are
                // free.
                if first && !self.nodes[next.index].answers() {
                    left.push(next);
                    continue;
                }
                match self.unlock_one(&bid, &next, told).await {
                    Ok(freed) if next.part.locked.is_some() => tell.send_modify(|progress| {
                        // Gone after an answer that was lost: that one freed it.
                        let freed = freed || next.unheard;
                        progress.freed += usize::from(freed);
                        progress.gone += usize::from(!freed);
                    }),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Closed => return,
                    Err(error) => {
                        next.unheard |= error.may_have_happened();
                        left.push(next);
                    }
                }
            }
            first = false;
            tell.send_modify(|progress| progress.passed = true);
            left.reverse();
            rest = left;
            if rest.is_empty() || self.clock.now() >= over {
                return;
            }
            self.clock.sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Whether this freed it.
    async fn unlock_one(&self, bid: &Bid, rest: &Rest, told: Told) -> Result<bool> {
        let node = &self.nodes[rest.index];
        let backend = node.store().backend();
        match &rest.part.locked {
            _ if told == Told::Nobody => {
                let undoing = node.store().undo(bid);
                node.ask(None, undoing).await.map(|()| true)
            }
            Some(locked) => {
                let answer = node.ask(None, backend.release(&locked.held)).await?;
                Ok(answer.is_won())
            }
            // It may have said yes, and was not heard.
            None => node.ask(None, backend.leave(bid)).await.map(|()| true),
        }
    }
}

/// Returns when every node that answers has been asked.
pub(super) async fn passed(mut progress: watch::Receiver<Progress>) {
    // An error: the work has ended.
    let _ = progress.wait_for(|progress| progress.passed).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_once_a_quorum_has_answered() {
        let of = |locked, freed, gone| Progress {
            passed: true,
            locked,
            freed,
            gone,
        };
        assert_eq!(of(3, 2, 0).verdict(2), Some(true));
        assert_eq!(of(3, 1, 1).verdict(2), None, "the third may tell");
        assert_eq!(of(3, 1, 2).verdict(2), Some(false));
        assert_eq!(of(3, 0, 0).verdict(2), None);
        assert_eq!(of(1, 0, 0).verdict(2), Some(false), "was lost before");
    }
}

//! Unlocking from right to left, on every node that may have the lock: also on
//! those that are silent, which are asked again in the background.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::combined::Shared;
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

/// What is to be unlocked on one node.
struct Rest {
    index: usize,
    part: Part,
}

impl Shared {
    /// Undoes what `bid` has on the nodes. The work goes on when nobody waits
    /// for it.
    pub(super) fn unlock(
        self: &Arc<Self>,
        bid: Bid,
        parts: Vec<Part>,
    ) -> watch::Receiver<Progress> {
        let rest: Vec<Rest> = parts
            .into_iter()
            .enumerate()
            .filter(|(_, part)| part.touched)
            .map(|(index, part)| Rest { index, part })
            .collect();
        let progress = Progress {
            locked: rest
                .iter()
                .filter(|rest| rest.part.locked.is_some())
                .count(),
            ..Progress::default()
        };
        let (tell, told) = watch::channel(progress);
        self.unlocking(bid.nonce, told.clone(), bid.terms.lease());
        self.runtime
            .spawn(Arc::clone(self).work_off(bid, rest, tell));
        told
    }

    async fn work_off(
        self: Arc<Self>,
        bid: Bid,
        mut rest: Vec<Rest>,
        tell: watch::Sender<Progress>,
    ) {
        let over = self.clock.now() + bid.terms.lease();
        let mut pause = PAUSE.0;
        let mut first = true;
        loop {
            let mut left = Vec::new();
            while let Some(next) = rest.pop() {
                // Those that are known to be silent wait until the others are
                // free.
                if first && !self.nodes[next.index].is_available() {
                    left.push(next);
                    continue;
                }
                match self.unlock_one(&bid, &next).await {
                    Ok(freed) if next.part.locked.is_some() => tell.send_modify(|progress| {
                        progress.freed += usize::from(freed);
                        progress.gone += usize::from(!freed);
                    }),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Closed => return,
                    Err(_) => left.push(next),
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
    async fn unlock_one(&self, bid: &Bid, rest: &Rest) -> Result<bool> {
        let node = &self.nodes[rest.index];
        let backend = node.store.backend();
        match &rest.part.locked {
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

//! Giving back, and waiting for enough nodes to confirm it.

use super::client::{Combined, Store};
use super::grant::Grant;
use super::unlock::{Told, passed};
use crate::backend::{Administration, Answer, Held};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{MutexName, MutexOwner};

impl Combined {
    /// Frees a grant of this process.
    pub(super) async fn free(&self, held: &Held) -> Result<Answer> {
        let shared = &self.0;
        let grant = match shared.grant(held) {
            Some(_) => shared.bids().grants.remove(&held.nonce),
            None => None,
        };
        let progress = match grant {
            Some(Grant { bid, parts, .. }) => {
                let progress = shared.unlock(bid, parts, Told::Waiters);
                shared.releasing(held);
                Some(progress)
            }
            // Asked again, while the first is under way or after it has ended
            // unheard.
            None => shared.release_of(held),
        };
        let Some(mut progress) = progress else {
            return self.look(&held.name).await;
        };
        let quorum = shared.rules.quorum;
        let known = progress.wait_for(|p| p.verdict(quorum).is_some()).await;
        let verdict = known.ok().and_then(|progress| progress.verdict(quorum));
        let now = Store::store_time(shared.clock.now());
        match verdict {
            Some(true) => {
                // The others of them that answer are freed before we go on.
                passed(progress.clone()).await;
                shared.released(held);
                Ok(Answer::won(MutexOwner::NONE, now))
            }
            Some(false) => Ok(Answer::refused(MutexOwner::NONE, now)),
            None => Err(
                Error::new(ErrorKind::Unconfirmed, Outcome::MayHave).with_message(format!(
                    "too few nodes confirmed the unlock: {}",
                    self.troubles()
                )),
            ),
        }
    }

    /// Frees `name` on every node, from any holder; true if there was one.
    pub(super) async fn free_anybody(&self, name: &MutexName) -> Result<bool> {
        let (mut freed, mut answered) = (false, 0);
        for node in self.0.nodes.iter().rev() {
            let administration = node.store().administration();
            let revoking = administration.revoke(name, None);
            if let Ok(answer) = node.ask(None, revoking).await {
                answered += 1;
                freed |= answer.is_won();
            }
        }
        if answered < self.0.rules.quorum {
            return Err(
                Error::new(ErrorKind::Unreachable, Outcome::MayHave).with_message(format!(
                    "freed on {answered} nodes only: {}",
                    self.troubles()
                )),
            );
        }
        Ok(freed)
    }
}

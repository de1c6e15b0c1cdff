//! Looking and listening, at all nodes.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::attempt::dated;
use super::combined::{Combined, Shared};
use super::grant::Grant;
use crate::backend::{Answer, Backend, Hint, Hints};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{MutexName, MutexOwner};

impl Combined {
    /// Who holds `name` in the eyes of the first node that knows anybody.
    pub(super) async fn look(&self, name: &MutexName) -> Result<Answer> {
        let shared = &self.0;
        let mut answered = false;
        for node in &shared.nodes {
            if !node.is_usable(false).await {
                continue;
            }
            let asking = node.store.backend().owner(name);
            let Ok(answer) = node.ask(None, asking).await else {
                continue;
            };
            answered = true;
            let now = Shared::store_time(shared.clock.now());
            let owner = dated(&answer, now);
            if owner.owner_id().is_some() {
                return Ok(Answer::refused(self.known(name, &owner), now));
            }
        }
        if !answered {
            return Err(Error::new(ErrorKind::Unreachable, Outcome::DidNot)
                .with_message(format!("no node answers: {}", self.troubles())));
        }
        let now = Shared::store_time(shared.clock.now());
        Ok(Answer::refused(MutexOwner::NONE, now))
    }

    /// A holder with its token, where it is this process's own. Until when is
    /// left out: each node has another answer to that.
    fn known(&self, name: &MutexName, owner: &MutexOwner) -> MutexOwner {
        let Some(id) = owner.owner_id() else {
            return MutexOwner::NONE;
        };
        let book = self.0.book();
        let ours = |grant: &&Grant| grant.bid.name == *name && grant.bid.contender == *id;
        let holder = MutexOwner::foreign(id.clone());
        match book.grants.values().find(ours) {
            Some(grant) => holder.with_token(grant.token),
            None => holder,
        }
    }
}

/// The hints of all nodes as one stream.
pub(super) fn merged(hints: Vec<Hints>) -> impl Stream<Item = Hint> + Send {
    Merged(hints)
}

/// The hints of all nodes.
struct Merged(Vec<Hints>);

impl Stream for Merged {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        let mut hint = None;
        self.0.retain_mut(|hints| {
            if hint.is_some() {
                return true;
            }
            match Pin::new(hints).poll_next(cx) {
                Poll::Ready(Some(heard)) => {
                    hint = Some(heard);
                    true
                }
                Poll::Ready(None) => false,
                Poll::Pending => true,
            }
        });
        match hint {
            Some(hint) => Poll::Ready(Some(hint)),
            None if self.0.is_empty() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

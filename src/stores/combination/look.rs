//! Looking and listening, at all nodes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::attempt::dated;
use super::client::{Combined, Store};
use super::grant::Grant;
use super::pace::Pace;
use crate::backend::{Answer, Backend, Hint, Hints};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{MutexName, MutexOwner};
use crate::stores::kit::Closing;

impl Combined {
    /// Who holds `name` in the eyes of the first node that knows of a holder.
    pub(super) async fn look(&self, name: &MutexName) -> Result<Answer> {
        let shared = &self.0;
        let mut answered = false;
        for node in &shared.nodes {
            if !node.is_usable(false).await {
                continue;
            }
            let asking = node.store().backend().owner(name);
            let Ok(answer) = node.ask(None, asking).await else {
                continue;
            };
            answered = true;
            let now = Store::store_time(shared.clock.now());
            let owner = dated(&answer, now);
            if owner.owner_id().is_some() {
                return Ok(Answer::refused(self.known(name, &owner), now));
            }
        }
        if !answered {
            return Err(Error::new(ErrorKind::Unreachable, Outcome::DidNot)
                .with_message(format!("no node answers: {}", self.troubles())));
        }
        let now = Store::store_time(shared.clock.now());
        Ok(Answer::refused(MutexOwner::NONE, now))
    }

    /// A holder with its token, where it is this process's own. Until when is
    /// left out: each node has another answer to that.
    fn known(&self, name: &MutexName, owner: &MutexOwner) -> MutexOwner {
        let Some(id) = owner.owner_id() else {
            return MutexOwner::NONE;
        };
        let bids = self.0.bids();
        let ours = |grant: &&Grant| grant.bid.name == *name && grant.bid.contender == *id;
        let holder = MutexOwner::foreign(id.clone());
        match bids.grants.values().find(ours) {
            Some(grant) => holder.with_token(grant.token),
            None => holder,
        }
    }
}

/// The hints of all nodes as one stream.
pub(super) fn merged(
    hints: Vec<Hints>,
    closing: Closing,
    clock: Clock,
) -> impl Stream<Item = Hint> + Send {
    let pace = Pace::new(hints.len(), clock.now());
    Merged {
        hints,
        // The connections may go on, for other locks.
        closed: Box::pin(async move { closing.closed().await }),
        clock,
        pace,
        pause: None,
    }
}

/// The hints of all nodes, at a bearable pace: a server that says "unlocked" a
/// thousand times a second does not make us try as often.
struct Merged {
    hints: Vec<Hints>,
    clock: Clock,
    pace: Pace,
    pause: Option<Later>,
    closed: Later,
}

type Later = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Merged {
    fn poll_hints(&mut self, cx: &mut Context<'_>) -> Option<Hint> {
        let mut hint = None;
        self.hints.retain_mut(|hints| {
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
        hint
    }
}

impl Stream for Merged {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        if self.hints.is_empty() || self.closed.as_mut().poll(cx).is_ready() {
            self.hints.clear();
            return Poll::Ready(None);
        }
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            let now = self.clock.now();
            if let Some(at) = self.pace.rests_until(now) {
                let clock = self.clock.clone();
                self.pause = Some(Box::pin(async move { clock.sleep_until(at).await }));
                continue;
            }
            return match self.poll_hints(cx) {
                Some(hint) => {
                    self.pace.step(now);
                    Poll::Ready(Some(hint))
                }
                None if self.hints.is_empty() => Poll::Ready(None),
                None => Poll::Pending,
            };
        }
    }
}

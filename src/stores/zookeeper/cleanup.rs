//! Deletes nodes of ours that are no longer wanted.
//!
//! A session outlives a lease: the node of a grant that was not renewed in
//! time, of a bid that was left while the connection was down, or of a waiter that
//! has gone without a word, would stand in the queue for as long as the process
//! lives.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::client::Store;
use super::nodes::{Over, Silent};

/// The pause after a deletion that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// How long it sleeps at most.
const LOOK: Duration = Duration::from_secs(30);

/// How long one deletion may take.
const LIMIT: Duration = Duration::from_secs(2);

impl Store {
    pub(super) async fn reap(self: Arc<Self>) {
        loop {
            self.look_for_waiters();
            let over = self.places.over(self.clock.now());
            let done = join_all(over.iter().map(|over| self.reap_one(over))).await;
            let now = self.clock.now();
            let next = match done.into_iter().all(|done| done) {
                true => self.places.next_over().unwrap_or(now + LOOK),
                false => now + AGAIN,
            };
            // Not told of new waiters, it looks for them now and then.
            let next = next.min(now + LOOK);
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = self.reaping.notified() => {}
            }
        }
    }

    /// A waiter that has gone without a word would keep all others waiting for as
    /// long as its process lives. One that is there asks now and then, or at least
    /// listens for its turn.
    fn look_for_waiters(&self) {
        let now = self.clock.now();
        for silent in self.places.silent(now) {
            let Silent {
                nonce,
                name,
                contender,
            } = &silent;
            if self.registry.has_waiter(name, contender) {
                self.places.is_heard(*nonce, now);
            } else if self.places.abandon(*nonce, now) {
                tracing::warn!(
                    mutex = %name,
                    %contender,
                    "a waiter has gone without leaving its place: it is deleted"
                );
            }
        }
    }

    /// False when it must be tried again.
    async fn reap_one(&self, over: &Over) -> bool {
        let Ok(session) = self.session() else {
            return false;
        };
        let node = over.node.as_ref();
        if session.id() != over.session {
            // It goes with its session.
            self.places.forget(over.nonce, node);
            return true;
        }
        let removal = self.remove(&session, &over.name, over.nonce, node);
        let done = self.clock.limit(self.clock.now() + LIMIT, removal).await;
        matches!(done, Some(Ok(_)))
    }
}

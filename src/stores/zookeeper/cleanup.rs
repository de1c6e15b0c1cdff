//! Deletes nodes of ours that are no longer wanted.
//!
//! A session outlives a lease: the node of a grant that was not renewed in
//! time, of a bid that was left while the connection was down, or of a waiter that
//! has gone without a word, would stand in the queue for as long as the process
//! lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Notify;

use super::client::Store;
use super::nodes::{Over, Silent};
use crate::clock::Moment;

/// The pause after a deletion that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// How long it sleeps at most.
const LOOK: Duration = Duration::from_secs(30);

/// How long one deletion may take.
const LIMIT: Duration = Duration::from_secs(2);

/// When the cleanup comes next, and how to make it come sooner. It looks at all places, so
/// a grant, which ends later than those before it, must not wake it.
#[derive(Debug)]
pub(super) struct Reaping {
    told: Notify,
    /// Nanoseconds of the clock; the largest number while it is at work: what
    /// comes meanwhile may not have been seen.
    comes_at: AtomicU64,
}

impl Default for Reaping {
    fn default() -> Self {
        Self {
            told: Notify::new(),
            comes_at: AtomicU64::new(u64::MAX),
        }
    }
}

impl Reaping {
    /// There is something to delete now, or it may be.
    pub(super) fn now(&self) {
        self.told.notify_one();
    }

    /// There will be something to delete at `at`. Told after it can be seen.
    pub(super) fn by(&self, at: Moment) {
        if at.as_nanos() < self.comes_at.load(Ordering::SeqCst) {
            self.told.notify_one();
        }
    }

    fn begins(&self) {
        self.comes_at.store(u64::MAX, Ordering::SeqCst);
    }

    fn comes_at(&self, at: Moment) {
        self.comes_at.store(at.as_nanos(), Ordering::SeqCst);
    }
}

impl Store {
    pub(super) async fn reap(self: Arc<Self>) {
        loop {
            self.reaping.begins();
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
            self.reaping.comes_at(next);
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = self.reaping.told.notified() => {}
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
            self.places.forget_place(over.nonce, over.number);
            return true;
        }
        let place = Some(over.number);
        let removal = self.remove_of(place, &session, &over.name, over.nonce, node);
        let done = self.clock.limit(self.clock.now() + LIMIT, removal).await;
        matches!(done, Some(Ok(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_ends_before_it_comes_wakes_the_cleanup() {
        let reaping = Reaping::default();
        let at = Moment::from_nanos;
        let is_told = || async {
            let told = reaping.told.notified();
            tokio::time::timeout(Duration::from_millis(1), told)
                .await
                .is_ok()
        };
        reaping.by(at(50));
        assert!(
            is_told().await,
            "what it has not seen may be due before it comes"
        );
        reaping.comes_at(at(100));
        reaping.by(at(100));
        reaping.by(at(200));
        assert!(!is_told().await);
        reaping.by(at(99));
        assert!(is_told().await);
        reaping.begins();
        reaping.by(at(200));
        assert!(is_told().await);
        reaping.comes_at(at(100));
        reaping.now();
        assert!(is_told().await);
    }
}

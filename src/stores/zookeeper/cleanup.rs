//! Deletes nodes of ours that are no longer wanted.
//!
//! A session outlives a lease: the node of a grant that was not renewed in
//! time, or of a bid that was left while the connection was down, would stand
//! in the queue for as long as the process lives.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::client::Store;
use super::nodes::Over;

/// The pause after a deletion that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// How long one deletion may take.
const LIMIT: Duration = Duration::from_secs(2);

impl Store {
    pub(super) async fn reap(self: Arc<Self>) {
        loop {
            let over = self.places.over(self.clock.now());
            let done = join_all(over.iter().map(|over| self.reap_one(over))).await;
            let next = if done.into_iter().all(|done| done) {
                self.places.next_over()
            } else {
                Some(self.clock.now() + AGAIN)
            };
            let sleep = async {
                match next {
                    Some(at) => self.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.reaping.notified() => {}
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

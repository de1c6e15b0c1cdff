//! Calls in tasks of their own: those that may have to connect first, and those
//! that must go on whatever their callers do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, oneshot};

use super::{Answers, Connections, Driver, GRACE, Pool, Question, runtime_ended};
use crate::error::{Outcome, Result};

/// An error when the pool was closed.
type Permit = std::result::Result<OwnedSemaphorePermit, AcquireError>;

impl<D: Driver> Pool<D> {
    /// Asks in a task, with a permit that the task waits for: a caller that is
    /// not looked after would keep the one that it gets in its turn.
    pub(super) async fn ask_apart<Q: Question>(
        &self,
        permit: impl Future<Output = Permit> + Send + 'static,
        question: Q,
    ) -> Result<Q::Reply>
    where
        D: Answers<Q>,
    {
        // A task of its own: dropped with its caller half way, the connection
        // would have the rest of this answer before the next one.
        let (reply, answer) = oneshot::channel();
        let serve = Arc::clone(&self.0).serve(permit, question, reply);
        // In a box: the runtime aligns a task to 128 bytes, and a thousand calls that
        // wait so, each beside what is kept of its name, leave holes between these.
        self.0.runtime.spawn(Box::pin(serve));
        answer.await.unwrap_or_else(|_| {
            // The task is gone without a word.
            Err(runtime_ended(Q::EFFECT.outcome()))
        })
    }
}

impl<D: Driver> Connections<D> {
    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn has room for each argument twice"
    )]
    pub(super) fn serve<Q: Question>(
        self: Arc<Self>,
        permit: impl Future<Output = Permit> + Send,
        question: Q,
        mut reply: oneshot::Sender<Result<Q::Reply>>,
    ) -> impl Future<Output = ()> + Send
    where
        D: Answers<Q>,
    {
        async move {
            let permit = tokio::select! {
                biased;
                // Nothing was sent, and nothing will be.
                () = reply.closed() => return,
                permit = permit => permit,
            };
            let Ok(permit) = permit else {
                let _ = reply.send(Err(self.closing.error()));
                return;
            };
            let sent = AtomicBool::new(false);
            let result = tokio::select! {
                biased;
                // Dropped half way, it drops its connection too.
                result = self.attempt(&question, &sent) => result,
                () = self.given_up(&mut reply) => {
                    tracing::debug!("a call that was given up got no answer; its connection is closed");
                    return;
                }
                () = self.clock.sleep(self.limits.call) => {
                    // Nothing can have happened before a connection was had.
                    let sent = sent.load(Ordering::Relaxed);
                    Err(self.late(if sent { Q::EFFECT.outcome() } else { Outcome::DidNot }))
                }
            };
            drop(permit);
            let _ = reply.send(result);
        }
    }

    /// Returns when the caller has been gone for a while. From the moment it
    /// goes, the other connections are in doubt too: it may have waited for a
    /// server that answers none of them any more.
    async fn given_up<T>(&self, reply: &mut oneshot::Sender<T>) {
        reply.closed().await;
        self.doubt();
        self.clock.sleep(GRACE).await;
    }
}

//! [`Here`]: a call that its caller drives.
//!
//! A task for each call costs more than the call: it is made, scheduled twice,
//! and answers through a channel. Most callers wait for their answer; only the
//! rest of a call whose caller has gone needs a task.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::OwnedSemaphorePermit;

use super::{Answers, Connected, Connections, Driver, GRACE, Pool, Question};
use crate::error::Result;

impl<D: Driver> Pool<D> {
    /// Asks over `connected`, in the caller's task.
    ///
    /// # Cancel safety
    /// As that of [`ask`](Self::ask).
    pub(super) fn ask_here<Q: Question>(
        &self,
        permit: OwnedSemaphorePermit,
        connected: Connected<D::Connection>,
        question: Q,
    ) -> impl Future<Output = Result<Q::Reply>> + Send
    where
        D: Answers<Q>,
    {
        let call = Arc::clone(&self.0).serve_here(permit, connected, question);
        Here {
            call: Some(Box::pin(call)),
            pool: Arc::clone(&self.0),
        }
    }
}

impl<D: Driver> Connections<D> {
    /// What the caller's box holds.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn has room for each argument twice"
    )]
    pub(super) fn serve_here<Q: Question>(
        self: Arc<Self>,
        permit: OwnedSemaphorePermit,
        connected: Connected<D::Connection>,
        question: Q,
    ) -> impl Future<Output = Result<Q::Reply>> + Send
    where
        D: Answers<Q>,
    {
        async move {
            let result = tokio::select! {
                biased;
                // Dropped half way, it drops its connection too.
                result = self.attempt_on(connected, &question) => result,
                () = self.clock.sleep(self.limits.call) => Err(self.late(Q::EFFECT.outcome())),
            };
            drop(permit);
            result
        }
    }

    /// The rest of a call whose caller has gone.
    async fn finish<F: Future>(self: Arc<Self>, call: F) {
        tokio::select! {
            biased;
            _ = call => {}
            () = self.clock.sleep(GRACE) => {
                tracing::debug!("a call that was given up got no answer; its connection is closed");
            }
        }
    }
}

/// A call; dropped, it ends in a task.
struct Here<F, D>
where
    F: Future<Output: Send> + Send + 'static,
    D: Driver,
{
    /// None when it has ended. In a box, so that it can move to the task.
    call: Option<Pin<Box<F>>>,
    pool: Arc<Connections<D>>,
}

impl<F, D> Future for Here<F, D>
where
    F: Future<Output: Send> + Send + 'static,
    D: Driver,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out meanwhile: what panics is not finished in a task.
        let mut call = self.call.take().expect("polled after its end");
        let answer = call.as_mut().poll(context);
        if answer.is_pending() {
            self.call = Some(call);
        }
        answer
    }
}

impl<F, D> Drop for Here<F, D>
where
    F: Future<Output: Send> + Send + 'static,
    D: Driver,
{
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            // Its caller may have waited for a server that answers none of the
            // other connections any more, either.
            self.pool.doubt();
            let pool = Arc::clone(&self.pool);
            self.pool.runtime.spawn(pool.finish(call));
        }
    }
}

//! Dropping a future after so many polls, or after so long.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// When a future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Right after its last poll: it has just asked for something.
    Polled,
    /// When it would be polled again: what it asked for is there.
    Woken,
    /// While it waits, so many [`STEP`]s after its start: what it asked for is
    /// on its way.
    Waiting,
}

/// Several fit into a slow call.
const STEP: Duration = Duration::from_millis(9);

/// Drops `future` after `count` polls or steps; `None` when that was before its
/// end.
pub(crate) async fn cut<F: Future>(future: F, count: u32, when: When) -> Option<F::Output> {
    if when == When::Waiting {
        return tokio::time::timeout(STEP * count, future).await.ok();
    }
    let future = Some(Box::pin(future));
    Cut {
        future,
        left: count,
        when,
    }
    .await
}

struct Cut<F> {
    future: Option<Pin<Box<F>>>,
    left: u32,
    when: When,
}

impl<F: Future> Future for Cut<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let this = &mut *self;
        let Some(future) = this.future.as_mut().filter(|_| this.left > 0) else {
            this.future = None;
            return Poll::Ready(None);
        };
        this.left -= 1;
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if this.left == 0 && this.when == When::Polled {
            this.future = None;
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}

//! The hints of one listener, from who knows to who wants to know.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::backend::Hint;

/// A listener's hints beyond these are dropped: it has enough reason to look, and
/// the store must never wait for a listener that does not read.
const WAITING_HINTS: usize = 4;

/// Both ends of a listener's hints.
pub(in crate::stores) fn hints() -> (HintSender, HintStream) {
    let (sender, stream) = mpsc::channel(WAITING_HINTS);
    (HintSender(sender), HintStream(stream))
}

/// Where the store tells a listener.
#[derive(Clone, Debug)]
pub(in crate::stores) struct HintSender(mpsc::Sender<Hint>);

impl HintSender {
    /// False when the listener has gone; one that has not yet read its earlier
    /// hints has enough to hear.
    pub(in crate::stores) fn tell(&self, hint: Hint) -> bool {
        // It wakes who reads, which is foreign code. Who tells serves others, too: a
        // whole session, or all that listen in this process.
        let Ok(told) = catch_unwind(AssertUnwindSafe(|| self.0.try_send(hint))) else {
            tracing::error!(target: "tenure::store", "a waker panicked");
            return true;
        };
        !matches!(told, Err(mpsc::error::TrySendError::Closed(_)))
    }

    pub(in crate::stores) fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
}

/// What a listener hears. It ends when the store closes.
#[derive(Debug)]
pub(in crate::stores) struct HintStream(mpsc::Receiver<Hint>);

#[cfg_attr(not(feature = "full"), allow(dead_code))]
impl HintStream {
    /// Listens no more: the sender sees that it has gone.
    pub(in crate::stores) fn leave(&mut self) {
        self.0.close();
    }

    /// What it has heard and not yet read.
    #[cfg(test)]
    pub(in crate::stores) fn try_next(&mut self) -> Option<Hint> {
        self.0.try_recv().ok()
    }
}

impl Stream for HintStream {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.0.poll_recv(cx)
    }
}

//! [`Hint`]: look again. Never truth.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::Bid;
use crate::model::{ContenderId, MutexName};

/// A wake-up from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// It may be this waiter's turn: try.
    Turn,
    /// The owner may have changed: look.
    Changed,
    /// Wake-ups may have been lost; they come again from now on: look.
    Resumed,
}

/// What a caller of [`changes`](super::Backend::changes) wants to hear about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Interest {
    /// Of which mutex.
    pub name: MutexName,
    /// The waiter whose turn matters; `None` for a mere observer.
    pub waiter: Option<ContenderId>,
    /// Whether every change of owner matters, not only the waiter's turn.
    pub owner: bool,
}

impl Interest {
    /// In the turn of `bid`, and in nothing else: a lock's waiter.
    #[must_use]
    pub fn in_turn(bid: &Bid) -> Self {
        Self {
            name: bid.name.clone(),
            waiter: Some(bid.contender.clone()),
            owner: false,
        }
    }

    /// In every change of owner: an observer.
    #[must_use]
    pub fn in_owner(name: &MutexName) -> Self {
        Self {
            name: name.clone(),
            waiter: None,
            owner: true,
        }
    }

    /// The same, and every change of owner too: a standing candidate.
    #[must_use]
    pub fn and_owner(self) -> Self {
        Self {
            owner: true,
            ..self
        }
    }
}

/// A stream of [`Hint`]s. It ends only when the backend is closed.
pub struct Hints(Pin<Box<dyn Stream<Item = Hint> + Send>>);

impl Hints {
    /// Boxes a stream.
    #[must_use]
    pub fn new(stream: impl Stream<Item = Hint> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// A stream that stays silent for ever.
    #[must_use]
    pub fn silent() -> Self {
        struct Silence;
        impl Stream for Silence {
            type Item = Hint;
            fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Hint>> {
                Poll::Pending
            }
        }
        Self::new(Silence)
    }

    /// A stream that has ended: of a backend that is closed.
    #[must_use]
    pub fn ended() -> Self {
        struct Ended;
        impl Stream for Ended {
            type Item = Hint;
            fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Hint>> {
                Poll::Ready(None)
            }
        }
        Self::new(Ended)
    }

    /// The next hint; `None` after the backend was closed.
    ///
    /// # Cancel safety
    /// Dropping it loses no hint.
    pub async fn next(&mut self) -> Option<Hint> {
        std::future::poll_fn(|cx| self.poll_hint(cx)).await
    }

    /// The next hint, if there is one.
    pub(crate) fn poll_hint(&mut self, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl Stream for Hints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hints")
    }
}

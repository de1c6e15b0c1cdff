//! Who listens, and to what.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::backend::{Hint, Interest};
use crate::model::{ContenderId, MutexName};

/// Whom the table tells. A turn that nobody hears is given to the next.
pub trait Ears {
    /// Tells `waiter` that it may be its turn; false when nobody listens.
    fn turn(&mut self, name: &MutexName, waiter: &ContenderId) -> bool;

    /// Tells all who follow `name` that its owner may have changed.
    fn changed(&mut self, name: &MutexName);
}

/// A listener's hints beyond these are dropped: it has enough reason to look.
const WAITING_HINTS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Listeners {
    all: Vec<Listener>,
}

#[derive(Debug)]
struct Listener {
    client: u64,
    interest: Interest,
    ear: mpsc::Sender<Hint>,
}

impl Listener {
    /// Whether it is there to hear; a full ear hears later.
    fn tell(&self, hint: Hint) -> bool {
        !matches!(
            self.ear.try_send(hint),
            Err(mpsc::error::TrySendError::Closed(_))
        )
    }
}

impl Listeners {
    pub(super) fn add(&mut self, client: u64, interest: Interest) -> HintStream {
        // A place for the dead ones to be found: listeners come and go together.
        self.all.retain(|listener| !listener.ear.is_closed());
        let (ear, hints) = mpsc::channel(WAITING_HINTS);
        self.all.push(Listener {
            client,
            interest,
            ear,
        });
        HintStream(hints)
    }

    /// Ends the streams of `client`.
    pub(super) fn remove_client(&mut self, client: u64) {
        self.all.retain(|listener| listener.client != client);
    }
}

impl Ears for Listeners {
    fn turn(&mut self, name: &MutexName, waiter: &ContenderId) -> bool {
        let mut heard = false;
        for listener in &self.all {
            let interest = &listener.interest;
            if interest.name == *name && interest.waiter.as_ref() == Some(waiter) {
                heard |= listener.tell(Hint::Turn);
            }
        }
        heard
    }

    fn changed(&mut self, name: &MutexName) {
        for listener in self
            .all
            .iter()
            .filter(|l| l.interest.owner && l.interest.name == *name)
        {
            listener.tell(Hint::Changed);
        }
    }
}

#[derive(Debug)]
pub(super) struct HintStream(mpsc::Receiver<Hint>);

impl Stream for HintStream {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.0.poll_recv(cx)
    }
}

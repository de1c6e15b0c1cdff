//! [`Watch`]: who waits or observes in this process.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::Notify;

use crate::backend::{Hint, Hints, Interest};
use crate::model::MutexName;
use crate::stores::kit::{HintStream, Listeners};

/// Who listens to which name. Whoever watches the store for them (a poll, a
/// push connection) runs only while somebody does.
#[derive(Debug, Default)]
pub(in crate::stores) struct Watch {
    state: Mutex<State>,
    /// Somebody new listens, or nobody any more, or it is closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Of each name: whether somebody listens for whom nobody has looked yet.
    listeners: Listeners<bool>,
    is_watched: bool,
}

impl Watch {
    /// A stream for `interest`, and whether somebody must begin to watch.
    pub(in crate::stores) fn add(self: &Arc<Self>, interest: &Interest) -> (Hints, bool) {
        let mut state = self.state();
        if state.listeners.is_closed() {
            return (Hints::ended(), false);
        }
        let hints = state.listeners.add(interest, || true);
        if let Some(is_new) = state.listeners.remembered(&interest.name) {
            *is_new = true;
        }
        let must_begin = !std::mem::replace(&mut state.is_watched, true);
        drop(state);
        self.changed.notify_one();
        let stream = Listening {
            hints,
            watch: Arc::clone(self),
            name: interest.name.clone(),
        };
        (Hints::new(stream), must_begin)
    }

    /// The names that somebody listens to; `None` when nobody does, and then
    /// the watcher must end: the next to listen begins a new one.
    pub(in crate::stores) fn names(&self) -> Option<Vec<MutexName>> {
        let mut state = self.state();
        if state.listeners.is_empty() {
            state.is_watched = false;
            return None;
        }
        let names = state.listeners.names();
        Some(names.map(|(name, _)| name.clone()).collect())
    }

    /// Returns when somebody new listens, or nobody any more.
    pub(in crate::stores) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether anybody who listens observes owners.
    #[cfg(feature = "postgres")]
    pub(in crate::stores) fn has_observers(&self) -> bool {
        self.state().listeners.has_observers()
    }

    /// Whether somebody listens to `name` for whom nobody has looked yet. From
    /// now on somebody has.
    pub(in crate::stores) fn take_new(&self, name: &MutexName) -> bool {
        let mut state = self.state();
        let is_new = state.listeners.remembered(name);
        is_new.is_some_and(std::mem::take)
    }

    /// `name` may be free.
    pub(in crate::stores) fn tell_waiters(&self, name: &MutexName) {
        self.state().listeners.tell_waiters(name);
    }

    /// The owner of `name` may have changed.
    pub(in crate::stores) fn tell_observers(&self, name: &MutexName) {
        self.state().listeners.tell_observers(name);
    }

    /// Hints may have been lost.
    pub(in crate::stores) fn tell_all_resumed(&self) {
        self.state().listeners.tell_all(Hint::Resumed);
    }

    /// Ends every stream; later ones end at once.
    pub(in crate::stores) fn close(&self) {
        let mut state = self.state();
        state.listeners.close();
        drop(state);
        self.changed.notify_one();
    }

    fn left(&self, name: &MutexName) {
        let mut state = self.state();
        state.listeners.sweep_name(name);
        let is_empty = state.listeners.is_empty();
        drop(state);
        if is_empty {
            self.changed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener's stream: the watcher hears at once when it is dropped.
struct Listening {
    hints: HintStream,
    watch: Arc<Watch>,
    name: MutexName,
}

impl Stream for Listening {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        Pin::new(&mut self.hints).poll_next(cx)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.hints.leave();
        self.watch.left(&self.name);
    }
}

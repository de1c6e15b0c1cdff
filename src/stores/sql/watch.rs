//! [`Registry`]: who waits or observes in this process.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::Notify;

use crate::backend::{Hint, Hints, Interest};
use crate::model::MutexName;
use crate::stores::kit::{HintStream, Listeners};

/// Who listens to which name. The watcher, which watches the store for them (a
/// poll, or a push connection), runs only while there is a listener.
#[derive(Debug, Default)]
pub(in crate::stores) struct Registry {
    watched: Mutex<Watched>,
    /// A listener is new, or the last has gone, or it is closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Watched {
    /// Of each name: whether the watcher has not yet looked for its newest
    /// listener.
    listeners: Listeners<bool>,
    is_watched: bool,
}

impl Registry {
    /// A stream for `interest`, and whether the caller must start a watcher.
    pub(in crate::stores) fn add(self: &Arc<Self>, interest: &Interest) -> (Hints, bool) {
        let mut watched = self.watched();
        if watched.listeners.is_closed() {
            return (Hints::ended(), false);
        }
        let hints = watched.listeners.add(interest, || true);
        if let Some(is_new) = watched.listeners.remembered(&interest.name) {
            *is_new = true;
        }
        let must_begin = !std::mem::replace(&mut watched.is_watched, true);
        drop(watched);
        self.changed.notify_one();
        let stream = ListenerStream {
            hints,
            registry: Arc::clone(self),
            name: interest.name.clone(),
        };
        (Hints::new(stream), must_begin)
    }

    /// The names that have listeners; `None` when there are none, and then the
    /// watcher must end: the next listener starts a new one.
    pub(in crate::stores) fn names(&self) -> Option<Vec<MutexName>> {
        let mut watched = self.watched();
        if watched.listeners.is_empty() {
            watched.is_watched = false;
            return None;
        }
        let names = watched.listeners.names();
        Some(names.map(|(name, _)| name.clone()).collect())
    }

    /// Returns when a listener is new, or the last has gone.
    pub(in crate::stores) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether a listener observes owners.
    #[cfg(feature = "postgres")]
    pub(in crate::stores) fn has_observers(&self) -> bool {
        self.watched().listeners.has_observers()
    }

    /// Whether the watcher has not yet looked for the newest listener to `name`.
    /// From now on it has.
    pub(in crate::stores) fn take_new(&self, name: &MutexName) -> bool {
        let mut watched = self.watched();
        let is_new = watched.listeners.remembered(name);
        is_new.is_some_and(std::mem::take)
    }

    /// `name` may be free.
    pub(in crate::stores) fn tell_waiters(&self, name: &MutexName) {
        self.watched().listeners.tell_waiters(name);
    }

    /// The owner of `name` may have changed.
    pub(in crate::stores) fn tell_observers(&self, name: &MutexName) {
        self.watched().listeners.tell_observers(name);
    }

    /// Hints may have been lost.
    pub(in crate::stores) fn tell_all_resumed(&self) {
        self.watched().listeners.tell_all(Hint::Resumed);
    }

    /// Ends every stream; later ones end at once.
    pub(in crate::stores) fn close(&self) {
        let mut watched = self.watched();
        watched.listeners.close();
        drop(watched);
        self.changed.notify_one();
    }

    fn left(&self, name: &MutexName) {
        let mut watched = self.watched();
        watched.listeners.sweep_name(name);
        let is_empty = watched.listeners.is_empty();
        drop(watched);
        if is_empty {
            self.changed.notify_one();
        }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener's stream: the watcher hears at once when it is dropped.
struct ListenerStream {
    hints: HintStream,
    registry: Arc<Registry>,
    name: MutexName,
}

impl Stream for ListenerStream {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        Pin::new(&mut self.hints).poll_next(cx)
    }
}

impl Drop for ListenerStream {
    fn drop(&mut self) {
        self.hints.leave();
        self.registry.left(&self.name);
    }
}

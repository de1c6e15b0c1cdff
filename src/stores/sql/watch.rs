//! [`Registry`]: who waits or observes in this process.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::Notify;

use crate::backend::{Hint, Hints, Interest};
use crate::clock::Moment;
use crate::model::MutexName;
use crate::stores::kit::{HintStream, Listeners};
use crate::sync::Mutex;

/// Who listens to which name. The watcher, which watches the store for them (a
/// poll, or a push connection), runs only while there is a listener.
#[derive(Debug, Default)]
pub(in crate::stores) struct Registry {
    watched: Mutex<Watched>,
    /// A listener is new, or the last has gone, or a lease ends sooner than any
    /// that was known, or it is closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Watched {
    listeners: Listeners<Listened>,
    is_watched: bool,
}

/// What is known of a name that has listeners.
#[derive(Debug, Default)]
struct Listened {
    /// Whether the watcher has not yet looked for its newest listener.
    is_new: bool,
    /// When the owner's lease is over, as last heard.
    ends_at: Option<Moment>,
}

impl Registry {
    /// A stream for `interest`, and whether the caller must start a watcher.
    pub(in crate::stores) fn add(self: &Arc<Self>, interest: &Interest) -> (Hints, bool) {
        let mut watched = self.watched.lock();
        if watched.listeners.is_closed() {
            return (Hints::ended(), false);
        }
        let hints = watched.listeners.add(interest, Listened::default);
        if let Some(known) = watched.listeners.remembered(&interest.name) {
            known.is_new = true;
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
        let mut watched = self.watched.lock();
        if watched.listeners.is_empty() {
            watched.is_watched = false;
            return None;
        }
        let names = watched.listeners.names();
        Some(names.map(|(name, _)| name.clone()).collect())
    }

    /// Returns when a listener is new, or the last has gone, or a lease ends
    /// sooner than any that was known.
    pub(in crate::stores) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether a listener observes owners.
    #[cfg(feature = "postgres")]
    pub(in crate::stores) fn has_observers(&self) -> bool {
        self.watched.lock().listeners.has_observers()
    }

    /// Whether the watcher has not yet looked for the newest listener to `name`.
    /// From now on it has.
    pub(in crate::stores) fn take_new(&self, name: &MutexName) -> bool {
        let mut watched = self.watched.lock();
        let known = watched.listeners.remembered(name);
        known.is_some_and(|known| std::mem::take(&mut known.is_new))
    }

    /// The lease of `name` is over at `ends_at`, unless it is renewed; `None`
    /// when it is free, or not known.
    pub(in crate::stores) fn note_end(&self, name: &MutexName, ends_at: Option<Moment>) {
        if let Some(known) = self.watched.lock().listeners.remembered(name) {
            known.ends_at = ends_at;
        }
    }

    /// The same for one who is not the watcher, which is woken if it would come
    /// too late.
    pub(in crate::stores) fn hear_of_end(&self, name: &MutexName, ends_at: Option<Moment>) {
        let first = self.first_end();
        self.note_end(name, ends_at);
        if first != self.first_end() {
            self.changed.notify_one();
        }
    }

    /// Whether there are no listeners.
    pub(in crate::stores) fn is_empty(&self) -> bool {
        self.watched.lock().listeners.is_empty()
    }

    /// Whether there is a listener for whom the watcher has not yet looked.
    pub(in crate::stores) fn has_new(&self) -> bool {
        let watched = self.watched.lock();
        let mut names = watched.listeners.names();
        names.any(|(_, known)| known.is_new)
    }

    /// When the first of the leases is over that have listeners.
    pub(in crate::stores) fn first_end(&self) -> Option<Moment> {
        self.watched.lock().first_end()
    }

    /// Tells those who wait for a lease that is over at `now`. Its owner has
    /// died, as far as is known, and will not tell them.
    pub(in crate::stores) fn tell_ended(&self, now: Moment) {
        let mut watched = self.watched.lock();
        let names = watched.listeners.names();
        let is_over = |known: &Listened| known.ends_at.is_some_and(|at| at <= now);
        let over = names.filter(|(_, known)| is_over(known));
        let over: Vec<_> = over.map(|(name, _)| name.clone()).collect();
        for name in over {
            if let Some(known) = watched.listeners.remembered(&name) {
                known.ends_at = None;
            }
            watched.listeners.tell_waiters(&name);
        }
    }

    /// `name` may be free.
    pub(in crate::stores) fn tell_waiters(&self, name: &MutexName) {
        self.watched.lock().listeners.tell_waiters(name);
    }

    /// The owner of `name` may have changed.
    pub(in crate::stores) fn tell_observers(&self, name: &MutexName) {
        self.watched.lock().listeners.tell_observers(name);
    }

    /// Hints may have been lost.
    pub(in crate::stores) fn tell_all_resumed(&self) {
        self.watched.lock().listeners.tell_all(Hint::Resumed);
    }

    /// Ends every stream; later ones end at once.
    pub(in crate::stores) fn close(&self) {
        let mut watched = self.watched.lock();
        watched.listeners.close();
        drop(watched);
        self.changed.notify_one();
    }

    fn left(&self, name: &MutexName) {
        let mut watched = self.watched.lock();
        watched.listeners.sweep_name(name);
        let is_empty = watched.listeners.is_empty();
        drop(watched);
        if is_empty {
            self.changed.notify_one();
        }
    }
}

impl Watched {
    fn first_end(&self) -> Option<Moment> {
        let names = self.listeners.names();
        names.filter_map(|(_, known)| known.ends_at).min()
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

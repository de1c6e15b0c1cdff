//! [`Ears`]: who waits or observes in this process.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::{Notify, mpsc};

use crate::backend::{Hint, Hints, Interest};
use crate::model::MutexName;

/// A listener's hints beyond these are dropped: it has enough reason to look.
const WAITING_HINTS: usize = 4;

/// Who listens to which name. Whoever watches the store for them (a poll, a
/// push connection) runs only while somebody does.
#[derive(Debug, Default)]
pub(in crate::stores) struct Ears {
    book: Mutex<Book>,
    /// Somebody new listens, or nobody any more, or it is closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Book {
    ears: BTreeMap<MutexName, Vec<Ear>>,
    next_number: u64,
    is_watched: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Ear {
    number: u64,
    waits: bool,
    observes: bool,
    /// Nobody has looked for it yet.
    is_new: bool,
    tell: mpsc::Sender<Hint>,
}

impl Ear {
    fn tell(&self, hint: Hint) {
        // A full ear has enough to hear; a closed one is about to be removed.
        let _ = self.tell.try_send(hint);
    }
}

impl Ears {
    /// A stream for `interest`, and whether somebody must begin to watch.
    pub(in crate::stores) fn add(self: &Arc<Self>, interest: &Interest) -> (Hints, bool) {
        let mut book = self.book();
        if book.is_closed {
            return (Hints::ended(), false);
        }
        book.next_number += 1;
        let number = book.next_number;
        let (tell, hints) = mpsc::channel(WAITING_HINTS);
        book.ears
            .entry(interest.name.clone())
            .or_default()
            .push(Ear {
                number,
                waits: interest.waiter.is_some(),
                observes: interest.owner,
                is_new: true,
                tell,
            });
        let must_begin = !std::mem::replace(&mut book.is_watched, true);
        drop(book);
        self.changed.notify_one();
        let stream = EarStream {
            hints,
            ears: Arc::clone(self),
            name: interest.name.clone(),
            number,
        };
        (Hints::new(stream), must_begin)
    }

    /// The names that somebody listens to; `None` when nobody does, and then
    /// the watcher must end: the next to listen begins a new one.
    pub(in crate::stores) fn names(&self) -> Option<Vec<MutexName>> {
        let mut book = self.book();
        if book.ears.is_empty() {
            book.is_watched = false;
            return None;
        }
        Some(book.ears.keys().cloned().collect())
    }

    /// Returns when somebody new listens, or nobody any more.
    pub(in crate::stores) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether anybody who listens observes owners.
    #[cfg(feature = "postgres")]
    pub(in crate::stores) fn has_observers(&self) -> bool {
        let book = self.book();
        book.ears.values().flatten().any(|ear| ear.observes)
    }

    /// Whether somebody listens to `name` for whom nobody has looked yet. From
    /// now on somebody has.
    pub(in crate::stores) fn take_new(&self, name: &MutexName) -> bool {
        let mut book = self.book();
        let ears = book.ears.get_mut(name).map_or(&mut [][..], |ears| ears);
        let mut any = false;
        for ear in ears {
            any |= std::mem::replace(&mut ear.is_new, false);
        }
        any
    }

    /// `name` may be free.
    pub(in crate::stores) fn tell_waiters(&self, name: &str) {
        self.tell(name, |ear| ear.waits, Hint::Turn);
    }

    /// The owner of `name` may have changed.
    pub(in crate::stores) fn tell_observers(&self, name: &str) {
        self.tell(name, |ear| ear.observes, Hint::Changed);
    }

    /// Hints may have been lost.
    pub(in crate::stores) fn tell_all_resumed(&self) {
        for ear in self.book().ears.values().flatten() {
            ear.tell(Hint::Resumed);
        }
    }

    fn tell(&self, name: &str, whom: impl Fn(&Ear) -> bool, hint: Hint) {
        let Ok(name) = MutexName::new(name) else {
            return;
        };
        let book = self.book();
        for ear in book
            .ears
            .get(&name)
            .into_iter()
            .flatten()
            .filter(|ear| whom(ear))
        {
            ear.tell(hint);
        }
    }

    /// Ends every stream; later ones end at once.
    pub(in crate::stores) fn close(&self) {
        let mut book = self.book();
        book.is_closed = true;
        book.ears.clear();
        drop(book);
        self.changed.notify_one();
    }

    fn remove(&self, name: &MutexName, number: u64) {
        let mut book = self.book();
        if let Some(ears) = book.ears.get_mut(name) {
            ears.retain(|ear| ear.number != number);
            if ears.is_empty() {
                book.ears.remove(name);
            }
        }
        let is_empty = book.ears.is_empty();
        drop(book);
        if is_empty {
            self.changed.notify_one();
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct EarStream {
    hints: mpsc::Receiver<Hint>,
    ears: Arc<Ears>,
    name: MutexName,
    number: u64,
}

impl Stream for EarStream {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.hints.poll_recv(cx)
    }
}

impl Drop for EarStream {
    fn drop(&mut self) {
        self.ears.remove(&self.name, self.number);
    }
}

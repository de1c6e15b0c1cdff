//! Who listens in this process, and for which names a watch is kept.

use std::collections::HashSet;

use crate::backend::{Hint, Interest};
use crate::model::{ContenderId, MutexName};
use crate::stores::kit::{HintStream, Listeners, News};
use crate::sync::Mutex;

#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    listeners: Listeners,
    /// The names that an observer watches. It may outlive the last who wants to
    /// know by a while, and must not get a second one beside it.
    observed: HashSet<MutexName>,
}

impl Registry {
    /// A stream for `interest`, and whether its name needs an observer now;
    /// `None` after the close.
    pub(super) fn add(&self, interest: &Interest) -> Option<(HintStream, bool)> {
        let mut watched = self.0.lock();
        if watched.listeners.is_closed() {
            return None;
        }
        let stream = watched.listeners.add(interest, || ());
        let only_observes = interest.owner && interest.waiter.is_none();
        let needs_observer = only_observes && watched.observed.insert(interest.name.clone());
        Some((stream, needs_observer))
    }

    /// It may be the turn of `waiter`.
    pub(super) fn turn(&self, name: &MutexName, waiter: &ContenderId) {
        let news = self.0.lock().listeners.of_turn(name, waiter).collect();
        tell(news);
    }

    /// Whether a contender of this process waits to be told of its turn.
    pub(super) fn has_waiter(&self, name: &MutexName, waiter: &ContenderId) -> bool {
        self.0.lock().listeners.has_waiter(name, waiter)
    }

    /// The owner of `name` has changed.
    pub(super) fn changed(&self, name: &MutexName) {
        let news = self.0.lock().listeners.of_owner(name).collect();
        tell(news);
    }

    /// Hints may have been lost: all listeners look.
    pub(super) fn resumed(&self) {
        let mut watched = self.0.lock();
        watched.listeners.sweep();
        let news = watched.listeners.of_all(Hint::Resumed).collect();
        drop(watched);
        tell(news);
    }

    /// Whether the observer of `name` may go: it has no listeners.
    pub(super) fn dismiss(&self, name: &MutexName) -> bool {
        let mut watched = self.0.lock();
        if watched.listeners.has_mere_observers(name) {
            return false;
        }
        watched.listeners.sweep_name(name);
        watched.observed.remove(name);
        true
    }

    /// Ends all streams.
    pub(super) fn close(&self) {
        self.0.lock().listeners.close();
    }
}

/// Tells, with nothing locked: it wakes who listens, which is foreign code, and the
/// driver's task, which serves the whole session, must not wait for that.
fn tell(news: Vec<News>) {
    news.into_iter().for_each(News::tell);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_observer_however_listeners_come_and_go() {
        let registry = Registry::default();
        let interest = Interest::in_owner(&MutexName::new("m").unwrap());
        let (first, begins) = registry.add(&interest).unwrap();
        assert!(begins);
        drop(first);
        registry.resumed(); // Forgets who has gone; the observer is still there.
        let (second, begins) = registry.add(&interest).unwrap();
        assert!(!begins, "the observer has not gone");
        assert!(!registry.dismiss(&interest.name));
        drop(second);
        assert!(registry.dismiss(&interest.name));
        assert!(registry.add(&interest).unwrap().1);
    }
}

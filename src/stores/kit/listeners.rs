//! Who listens to which name in this process.

use std::collections::BTreeMap;

use super::hints::{HintSender, HintStream, hints};
use crate::backend::{Hint, Interest};
use crate::model::{ContenderId, MutexName};

/// The fewest names that are worth a sweep.
const SWEEP: usize = 64;

/// Who listens to which name. Beside its listeners, a name has what the store
/// remembers of it for as long as it has one.
#[derive(Debug)]
pub(in crate::stores) struct Listeners<S = ()> {
    by_name: BTreeMap<MutexName, Name<S>>,
    /// At how many names to look for those without a listener. A listener that
    /// goes is not told of: a sweep at every new one would cost more than the
    /// names do.
    sweep_at: usize,
    is_closed: bool,
}

/// What a listener is to hear, for one who cannot tell it at once.
#[cfg_attr(not(feature = "full"), allow(dead_code))]
#[derive(Debug)]
pub(in crate::stores) struct News(HintSender, Hint);

#[cfg_attr(not(feature = "full"), allow(dead_code))]
impl News {
    pub(in crate::stores) fn tell(self) {
        self.0.tell(self.1);
    }
}

#[derive(Debug)]
struct Name<S> {
    listeners: Vec<Listener>,
    remembered: S,
}

#[derive(Debug)]
struct Listener {
    interest: Interest,
    hints: HintSender,
}

impl Listener {
    fn observes(&self) -> bool {
        self.interest.owner && !self.hints.is_gone()
    }
}

impl<S> Default for Listeners<S> {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            sweep_at: SWEEP,
            is_closed: false,
        }
    }
}

// Each store uses a part of it.
#[cfg_attr(not(feature = "full"), allow(dead_code))]
impl<S> Listeners<S> {
    /// Listens for `interest`; `remember` is what to remember of its name if
    /// this is the first listener to it. After the close the stream ends at
    /// once.
    pub(in crate::stores) fn add(
        &mut self,
        interest: &Interest,
        remember: impl FnOnce() -> S,
    ) -> HintStream {
        let (hints, stream) = hints();
        self.add_with(interest, hints, remember);
        stream
    }

    /// The same for a listener who has its stream already.
    pub(in crate::stores) fn add_with(
        &mut self,
        interest: &Interest,
        hints: HintSender,
        remember: impl FnOnce() -> S,
    ) {
        if self.is_closed {
            return;
        }
        if self.by_name.len() >= self.sweep_at {
            self.sweep();
        }
        let name = self
            .by_name
            .entry(interest.name.clone())
            .or_insert_with(|| Name {
                listeners: Vec::new(),
                remembered: remember(),
            });
        name.listeners.retain(|listener| !listener.hints.is_gone());
        name.listeners.push(Listener {
            interest: interest.clone(),
            hints,
        });
    }

    /// Forgets the listeners who have gone, and the names that have none left.
    pub(in crate::stores) fn sweep(&mut self) {
        self.by_name.retain(|_, name| {
            name.listeners.retain(|listener| !listener.hints.is_gone());
            !name.listeners.is_empty()
        });
        self.sweep_at = SWEEP.max(self.by_name.len() * 2);
    }

    /// The same for `name` only.
    pub(in crate::stores) fn sweep_name(&mut self, name: &MutexName) {
        if let Some(named) = self.by_name.get_mut(name) {
            named.listeners.retain(|listener| !listener.hints.is_gone());
            if named.listeners.is_empty() {
                self.by_name.remove(name);
            }
        }
    }

    /// Ends all streams, and later ones at once.
    pub(in crate::stores) fn close(&mut self) {
        self.is_closed = true;
        self.by_name.clear();
    }

    pub(in crate::stores) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(in crate::stores) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Each name, with what is remembered of it.
    pub(in crate::stores) fn names(&self) -> impl Iterator<Item = (&MutexName, &S)> {
        let names = self.by_name.iter();
        names.map(|(name, named)| (name, &named.remembered))
    }

    /// What is remembered of `name`, while it has a listener.
    pub(in crate::stores) fn remembered(&mut self, name: &MutexName) -> Option<&mut S> {
        self.by_name
            .get_mut(name)
            .map(|named| &mut named.remembered)
    }

    /// Whether a listener follows the owners of some name.
    pub(in crate::stores) fn has_observers(&self) -> bool {
        let mut listeners = self.by_name.values().flat_map(|named| &named.listeners);
        listeners.any(Listener::observes)
    }

    /// Whether a listener waits for `name` under this id.
    pub(in crate::stores) fn has_waiter(&self, name: &MutexName, waiter: &ContenderId) -> bool {
        self.of(name).any(|listener| {
            !listener.hints.is_gone() && listener.interest.waiter.as_ref() == Some(waiter)
        })
    }

    /// Whether a listener follows the owners of `name` without waiting for it.
    pub(in crate::stores) fn has_mere_observers(&self, name: &MutexName) -> bool {
        self.of(name)
            .any(|listener| listener.interest.waiter.is_none() && listener.observes())
    }

    /// What `waiter` is to hear: that it may be its turn.
    #[cfg_attr(not(feature = "full"), allow(dead_code))]
    pub(in crate::stores) fn of_turn(
        &self,
        name: &MutexName,
        waiter: &ContenderId,
    ) -> impl Iterator<Item = News> {
        let its = |listener: &&Listener| listener.interest.waiter.as_ref() == Some(waiter);
        let of_it = self.of(name).filter(its);
        of_it.map(|listener| News(listener.hints.clone(), Hint::Turn))
    }

    /// What those are to hear who follow the owners of `name`: that it may have another.
    #[cfg_attr(not(feature = "full"), allow(dead_code))]
    pub(in crate::stores) fn of_owner(&self, name: &MutexName) -> impl Iterator<Item = News> {
        let following = self.of(name).filter(|listener| listener.interest.owner);
        following.map(|listener| News(listener.hints.clone(), Hint::Changed))
    }

    /// `hint` for every listener.
    #[cfg_attr(not(feature = "full"), allow(dead_code))]
    pub(in crate::stores) fn of_all(&self, hint: Hint) -> impl Iterator<Item = News> {
        let all = self.by_name.values().flat_map(|named| &named.listeners);
        all.map(move |listener| News(listener.hints.clone(), hint))
    }

    /// It may be the turn of `waiter`; false when it does not listen.
    pub(in crate::stores) fn tell_waiter(&self, name: &MutexName, waiter: &ContenderId) -> bool {
        let waiters = self.of(name);
        let its = waiters.filter(|listener| listener.interest.waiter.as_ref() == Some(waiter));
        its.fold(false, |heard, listener| {
            listener.hints.tell(Hint::Turn) | heard
        })
    }

    /// `name` may be free.
    pub(in crate::stores) fn tell_waiters(&self, name: &MutexName) {
        let waiting = |listener: &&Listener| listener.interest.waiter.is_some();
        for listener in self.of(name).filter(waiting) {
            listener.hints.tell(Hint::Turn);
        }
    }

    /// The owner of `name` may have changed.
    pub(in crate::stores) fn tell_observers(&self, name: &MutexName) {
        for listener in self.of(name).filter(|listener| listener.interest.owner) {
            listener.hints.tell(Hint::Changed);
        }
    }

    /// The owner of `name` has changed: what those are to hear who wait, if it is
    /// free; of the others, those who follow it.
    pub(in crate::stores) fn of_change(
        &self,
        name: &MutexName,
        is_free: bool,
    ) -> impl Iterator<Item = News> {
        self.of(name).filter_map(move |listener| {
            let hint = match &listener.interest {
                Interest {
                    waiter: Some(_), ..
                } if is_free => Hint::Turn,
                Interest { owner: true, .. } => Hint::Changed,
                _ => return None,
            };
            Some(News(listener.hints.clone(), hint))
        })
    }

    /// Tells every listener.
    pub(in crate::stores) fn tell_all(&self, hint: Hint) {
        for listener in self.by_name.values().flat_map(|named| &named.listeners) {
            listener.hints.tell(hint);
        }
    }

    fn of(&self, name: &MutexName) -> impl Iterator<Item = &Listener> {
        let named = self.by_name.get(name);
        named.into_iter().flat_map(|named| &named.listeners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Hints;

    #[test]
    fn names_without_a_listener_are_forgotten() {
        let mut listeners = Listeners::<()>::default();
        let interest = |index| Interest::in_owner(&MutexName::new(format!("m{index}")).unwrap());
        let kept = listeners.add(&interest(0), || ());
        for index in 1..1000 {
            listeners.add(&interest(index), || ());
        }
        assert!(listeners.by_name.len() <= SWEEP + 1);
        assert!(listeners.has_mere_observers(&interest(0).name));
        drop(kept);
        assert!(!listeners.has_mere_observers(&interest(0).name));
        listeners.sweep();
        assert!(listeners.is_empty());
    }

    #[tokio::test]
    async fn after_the_close_a_stream_ends_at_once() {
        let mut listeners = Listeners::<()>::default();
        let interest = Interest::in_owner(&MutexName::new("m").unwrap());
        let mut before = Hints::new(listeners.add(&interest, || ()));
        listeners.close();
        let mut after = Hints::new(listeners.add(&interest, || ()));
        assert_eq!(before.next().await, None);
        assert_eq!(after.next().await, None);
        assert!(listeners.is_empty());
    }
}

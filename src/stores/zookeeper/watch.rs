//! Who listens, and to what.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::backend::{Hint, Interest};
use crate::model::{ContenderId, MutexName};

/// A listener's hints beyond these are dropped: it has enough reason to look.
const WAITING_HINTS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Ears(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    by_name: HashMap<MutexName, Vec<Ear>>,
    /// The names that somebody watches for observers.
    lookouts: HashSet<MutexName>,
    /// At how many names to look for those that nobody listens to.
    sweep_at: usize,
    is_closed: bool,
}

/// The fewest names that are worth a sweep.
const SWEEP: usize = 64;

impl State {
    /// Forgets those who listen no more.
    fn sweep(&mut self) {
        self.by_name.retain(|_, ears| {
            ears.retain(|ear| !ear.hints.is_closed());
            !ears.is_empty()
        });
        self.sweep_at = SWEEP.max(self.by_name.len() * 2);
    }
}

#[derive(Debug)]
struct Ear {
    interest: Interest,
    hints: mpsc::Sender<Hint>,
}

impl Ear {
    fn is_observer(&self) -> bool {
        self.interest.waiter.is_none() && self.interest.owner && !self.hints.is_closed()
    }
}

impl Ears {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream for `interest`, and whether its name needs a lookout now;
    /// `None` after the close.
    pub(super) fn add(&self, interest: Interest) -> Option<(HintStream, bool)> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        if state.by_name.len() >= state.sweep_at {
            state.sweep();
        }
        let ears = state.by_name.entry(interest.name.clone()).or_default();
        ears.retain(|ear| !ear.hints.is_closed());
        let (hints, stream) = mpsc::channel(WAITING_HINTS);
        let (name, ear) = (interest.name.clone(), Ear { interest, hints });
        let observes = ear.is_observer();
        ears.push(ear);
        let needs_lookout = observes && state.lookouts.insert(name);
        Some((HintStream(stream), needs_lookout))
    }

    /// It may be the turn of `waiter`.
    pub(super) fn turn(&self, name: &MutexName, waiter: &ContenderId) {
        if let Some(ears) = self.state().by_name.get(name) {
            for ear in ears {
                if ear.interest.waiter.as_ref() == Some(waiter) {
                    let _ = ear.hints.try_send(Hint::Turn);
                }
            }
        }
    }

    /// The owner of `name` has changed.
    pub(super) fn changed(&self, name: &MutexName) {
        if let Some(ears) = self.state().by_name.get(name) {
            for ear in ears.iter().filter(|ear| ear.interest.owner) {
                let _ = ear.hints.try_send(Hint::Changed);
            }
        }
    }

    /// Hints may have been lost: everybody looks.
    pub(super) fn resumed(&self) {
        let mut state = self.state();
        state.sweep();
        for ear in state.by_name.values().flatten() {
            let _ = ear.hints.try_send(Hint::Resumed);
        }
    }

    /// Whether the lookout for `name` may go: nobody observes it.
    pub(super) fn dismiss(&self, name: &MutexName) -> bool {
        let mut state = self.state();
        let ears = state.by_name.get_mut(name);
        let observed = ears.is_some_and(|ears| {
            ears.retain(|ear| !ear.hints.is_closed());
            ears.iter().any(Ear::is_observer)
        });
        if !observed {
            state.lookouts.remove(name);
            if state.by_name.get(name).is_some_and(Vec::is_empty) {
                state.by_name.remove(name);
            }
        }
        !observed
    }

    /// Ends all streams.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.by_name.clear();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_listens_to_are_forgotten() {
        let ears = Ears::default();
        let interest = |index| Interest::in_owner(&MutexName::new(format!("m{index}")).unwrap());
        let (kept, _) = ears.add(interest(0)).unwrap();
        for index in 1..1000 {
            ears.add(interest(index)).unwrap();
        }
        assert!(ears.state().by_name.len() <= SWEEP + 1);
        assert!(!ears.dismiss(&interest(0).name), "somebody observes it");
        drop(kept);
        assert!(ears.dismiss(&interest(0).name));
    }
}

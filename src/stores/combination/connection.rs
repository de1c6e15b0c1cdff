//! [`Link`]: a server as the whole process knows it: one connection and one
//! opinion on whether it answers, however many locks use it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pulse::Health;
use crate::backend::AnyHoldStore;

/// What the process knows of a server's health.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Health>);

impl Pulse {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that locks share.
pub(crate) struct Link {
    store: AnyHoldStore,
    pulse: Arc<Pulse>,
    /// How many locks use it.
    users: Mutex<usize>,
}

impl Link {
    /// A new link, and its use by its first lock.
    pub(crate) fn new(store: AnyHoldStore, pulse: Arc<Pulse>) -> (Arc<Self>, Seat) {
        let link = Arc::new(Self {
            store,
            pulse,
            users: Mutex::new(1),
        });
        let seat = link.seat();
        (link, seat)
    }

    /// The use by one more lock; `None` when the last has left: whoever comes
    /// then must open a new one.
    pub(crate) fn join(self: &Arc<Self>) -> Option<Seat> {
        let mut users = self.users();
        if *users == 0 {
            return None;
        }
        *users += 1;
        Some(self.seat())
    }

    fn seat(self: &Arc<Self>) -> Seat {
        Seat {
            link: Arc::clone(self),
            taken: AtomicBool::new(true),
        }
    }

    fn users(&self) -> MutexGuard<'_, usize> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use of a link by one lock. Dropped, it is left.
pub(crate) struct Seat {
    link: Arc<Link>,
    taken: AtomicBool,
}

impl Seat {
    pub(crate) fn store(&self) -> &AnyHoldStore {
        &self.link.store
    }

    pub(super) fn pulse(&self) -> &Pulse {
        &self.link.pulse
    }

    /// Leaves it; true for the last, who closes the connection.
    pub(super) fn leave(&self) -> bool {
        if !self.taken.swap(false, Ordering::Relaxed) {
            return false;
        }
        let mut users = self.link.users();
        *users -= 1;
        *users == 0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}

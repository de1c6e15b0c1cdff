//! [`SharedConnection`]: a server as the whole process knows it: one connection and one
//! opinion on whether it answers, however many locks use it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

use super::pulse::Health;
use crate::backend::AnyHoldStore;
use crate::sync::Mutex;

/// What the process knows of a server's health.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Health>);

impl Pulse {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.0.lock()
    }
}

/// A connection that locks share.
pub(crate) struct SharedConnection {
    store: AnyHoldStore,
    pulse: Arc<Pulse>,
    /// How many locks use it.
    users: Mutex<usize>,
}

impl SharedConnection {
    /// A new shared, and its use by its first lock.
    pub(crate) fn new(store: AnyHoldStore, pulse: Arc<Pulse>) -> (Arc<Self>, ConnectionUse) {
        let shared = Arc::new(Self {
            store,
            pulse,
            users: Mutex::new(1),
        });
        let connection = shared.new_use();
        (shared, connection)
    }

    /// The use by one more lock; `None` when the last has left: the lock that comes
    /// then must open a new one.
    pub(crate) fn join(self: &Arc<Self>) -> Option<ConnectionUse> {
        let mut users = self.users.lock();
        if *users == 0 {
            return None;
        }
        *users += 1;
        Some(self.new_use())
    }

    fn new_use(self: &Arc<Self>) -> ConnectionUse {
        ConnectionUse {
            shared: Arc::clone(self),
            taken: AtomicBool::new(true),
        }
    }
}

/// The use of a shared by one lock. Dropped, it is left.
pub(crate) struct ConnectionUse {
    shared: Arc<SharedConnection>,
    taken: AtomicBool,
}

impl ConnectionUse {
    pub(crate) fn store(&self) -> &AnyHoldStore {
        &self.shared.store
    }

    pub(super) fn pulse(&self) -> &Pulse {
        &self.shared.pulse
    }

    /// Leaves it; true for the last, who closes the connection.
    pub(super) fn leave(&self) -> bool {
        if !self.taken.swap(false, Ordering::Relaxed) {
            return false;
        }
        let mut users = self.shared.users.lock();
        *users -= 1;
        *users == 0
    }
}

impl Drop for ConnectionUse {
    fn drop(&mut self) {
        self.leave();
    }
}

//! Whom the table tells.

use std::collections::BTreeMap;

use crate::backend::Interest;
use crate::model::{ContenderId, MutexName};
use crate::stores::kit::{HintStream, Listeners};

/// Whom the table tells. A turn that its waiter does not hear is given to the next.
pub trait Audience {
    /// Tells `waiter` that it may be its turn; false when it does not listen.
    fn turn(&mut self, name: &MutexName, waiter: &ContenderId) -> bool;

    /// Tells all who follow `name` that its owner may have changed.
    fn changed(&mut self, name: &MutexName);
}

/// Who listens, client by client.
#[derive(Debug, Default)]
pub(super) struct Clients(BTreeMap<u64, Listeners>);

impl Clients {
    pub(super) fn add(&mut self, client: u64, interest: &Interest) -> HintStream {
        // Of a client that was dropped without a close.
        self.0.retain(|_, its| {
            its.sweep();
            !its.is_empty()
        });
        self.0.entry(client).or_default().add(interest, || ())
    }

    /// Ends the streams of `client`.
    pub(super) fn remove(&mut self, client: u64) {
        self.0.remove(&client);
    }
}

impl Audience for Clients {
    fn turn(&mut self, name: &MutexName, waiter: &ContenderId) -> bool {
        let clients = self.0.values();
        clients.fold(false, |heard, client| {
            client.tell_waiter(name, waiter) | heard
        })
    }

    fn changed(&mut self, name: &MutexName) {
        for client in self.0.values() {
            client.tell_observers(name);
        }
    }
}

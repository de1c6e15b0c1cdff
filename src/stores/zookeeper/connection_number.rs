//! Which connection of a session something was told by.
//!
//! A server tells what it was asked to watch in the order in which it happened. After a
//! new connection it tells in any order what has happened meanwhile.

use std::pin::pin;
use std::task::{Context, Waker};

use zookeeper_client::StateWatcher;

use crate::sync::Mutex;

/// A connection of a session, or the time between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionNumber {
    session: i64,
    count: u64,
}

/// The connections that a session has had.
#[derive(Debug)]
pub(super) struct SessionConnections {
    session: i64,
    seen: Mutex<(StateWatcher, u64)>,
}

impl SessionConnections {
    pub(super) fn new(session: i64, states: StateWatcher) -> Self {
        Self {
            session,
            seen: Mutex::new((states, 0)),
        }
    }

    /// The one of now. The driver notes that a connection was lost, or made, before
    /// it hands out anything that it hears on the next.
    pub(super) fn now(&self) -> ConnectionNumber {
        let (states, count) = &mut *self.seen.lock();
        let mut nobody = Context::from_waker(Waker::noop());
        while pin!(states.changed()).poll(&mut nobody).is_ready() {
            *count += 1;
        }
        ConnectionNumber {
            session: self.session,
            count: *count,
        }
    }
}

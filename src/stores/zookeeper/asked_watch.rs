//! A watch that is asked, and not waited for: on a node of our own, or on a parent.
//!
//! A server tells a client of a change before it answers anything that comes
//! after the change, and the driver hears both in that order. So after an
//! answered `sync`, or write, a watch that is quiet says what a look would say: the
//! node was there. It costs nothing, however many nodes there are.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Waker};

use zookeeper_client::{OneshotWatcher, WatchedEvent};

use super::connection_number::ConnectionNumber;
use super::watch_room::TakenRoom;

/// A watch that fires once. Dropped, it is taken back.
pub(super) struct AskedWatch {
    /// It was asked for on this one.
    connection: ConnectionNumber,
    fired: Pin<Box<dyn Future<Output = WatchedEvent> + Send>>,
    _room: TakenRoom,
}

impl AskedWatch {
    pub(super) fn new(
        connection: ConnectionNumber,
        watcher: OneshotWatcher,
        room: TakenRoom,
    ) -> Self {
        Self {
            connection,
            fired: Box::pin(watcher.changed()),
            _room: room,
        }
    }

    pub(super) fn connection(&self) -> ConnectionNumber {
        self.connection
    }

    /// Whether something has happened to the node, or the session is over. Not
    /// to be asked again when it has.
    pub(super) fn has_fired(&mut self) -> bool {
        // No task waits for it: renewals and bids ask it.
        let mut nobody = Context::from_waker(Waker::noop());
        self.fired.as_mut().poll(&mut nobody).is_ready()
    }
}

impl fmt::Debug for AskedWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskedWatch")
    }
}

//! A watch that is asked, and not waited for: on a node of our own, or on a parent.
//!
//! A server tells a client of a change before it answers anything that comes
//! after the change, and the driver hears both in that order. So after an
//! answered `sync`, or write, a watch that is quiet says what a look would say: the
//! node was there. It costs nothing, however many nodes there are.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use zookeeper_client::{EventType, OneshotWatcher, WatchedEvent};

use super::connection_number::ConnectionNumber;
use super::watch_room::TakenRoom;

/// The one event of a watch, that may come. Dropped, the watch is taken back.
pub(super) struct Firing(Pin<Box<dyn Future<Output = WatchedEvent> + Send>>);

impl Firing {
    pub(super) fn of(watcher: OneshotWatcher) -> Self {
        Self(Box::pin(watcher.changed()))
    }

    /// What has happened. Not to be asked again after that.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<EventType> {
        // The driver panics where its runtime has ended without a word: as with the
        // end of the session, the node may have gone since.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(event) => event.map(|event| event.event_type),
            Err(_) => Poll::Ready(EventType::Session),
        }
    }
}

/// A watch that fires once. Dropped, it is taken back.
pub(super) struct AskedWatch {
    /// It was asked for on this one.
    connection: ConnectionNumber,
    firing: Firing,
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
            firing: Firing::of(watcher),
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
        self.firing.poll(&mut nobody).is_ready()
    }
}

impl fmt::Debug for AskedWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskedWatch")
    }
}

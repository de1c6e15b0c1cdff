//! The watch of a waiter on the node before its own.
//!
//! No task waits for it: the driver's own task, which hears of the event, tells the
//! waiter then and there, by a waker that does this and nothing else.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use zookeeper_client::{EventType, OneshotWatcher};

use super::asked_watch::Firing;
use super::watch::Registry;
use super::watch_room::TakenRoom;
use crate::model::{ContenderId, MutexName};

/// A watch that tells when something happens. Dropped, it is taken back.
pub(super) struct PredecessorWatch {
    child: String,
    /// It has been seen as the first of all. None comes before it: numbers rise.
    leads: bool,
    state: WatchState,
    teller: Waker,
}

enum WatchState {
    Quiet { firing: Firing, _room: TakenRoom },
    Fired(EventType),
}

/// Whose turn it may be. Tells by being woken, in vain, too.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) registry: Arc<Registry>,
    pub(super) name: MutexName,
    pub(super) waiter: ContenderId,
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.registry.turn(&self.name, &self.waiter);
    }
}

impl PredecessorWatch {
    /// Watches `child`; what happens to it may make it the `turn` of the waiter.
    pub(super) fn start(
        child: &str,
        leads: bool,
        watcher: OneshotWatcher,
        room: TakenRoom,
        turn: Turn,
    ) -> Self {
        let mut watch = Self {
            child: child.to_owned(),
            leads,
            state: WatchState::Quiet {
                firing: Firing::of(watcher),
                _room: room,
            },
            teller: Waker::from(Arc::new(turn)),
        };
        if watch.fired().is_some() {
            // Before there was one to tell.
            watch.teller.wake_by_ref();
        }
        watch
    }

    /// Those before it have gone.
    pub(super) fn leads(&mut self) {
        self.leads = true;
    }

    /// Whether it watches `child`, and nothing has happened to it.
    pub(super) fn is_on(&mut self, child: &str) -> bool {
        self.child == child && self.fired().is_none()
    }

    /// Whether the node led, and has gone: not when its data was changed, nor with the
    /// end of the session.
    pub(super) fn has_led(&mut self) -> bool {
        self.leads && self.fired() == Some(EventType::NodeDeleted)
    }

    /// What has happened, if anything. Asked under the one waker that tells, for the
    /// last one that asks is the one that is woken.
    fn fired(&mut self) -> Option<EventType> {
        if let WatchState::Quiet { firing, .. } = &mut self.state
            && let Poll::Ready(event) = firing.poll(&mut Context::from_waker(&self.teller))
        {
            self.state = WatchState::Fired(event);
        }
        match self.state {
            WatchState::Quiet { .. } => None,
            WatchState::Fired(event) => Some(event),
        }
    }
}

impl fmt::Debug for PredecessorWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PredecessorWatch")
            .field("child", &self.child)
            .field("leads", &self.leads)
            .finish_non_exhaustive()
    }
}

//! [`LocalQueue`]: the tasks of this process that want one name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::hand_over::LocalGrant;
use crate::clock::Moment;
use crate::queue::{Competitor, CompetitorQueue, Place};

/// A fair queue before one name: only its head asks the store.
#[derive(Debug)]
pub(super) struct LocalQueue {
    waiters: Arc<CompetitorQueue<Waiter, LocalGrant>>,
    /// Until when other processes are let first; nanoseconds of the clock.
    others_first_until: AtomicU64,
}

/// A place in a [`LocalQueue`]; dropped, it is left.
pub(super) type WaiterPlace = Place<Waiter, LocalGrant>;

/// A task in a [`LocalQueue`].
#[derive(Debug)]
pub(super) struct Waiter {
    id: String,
}

impl LocalQueue {
    pub(super) fn new() -> Self {
        Self {
            waiters: CompetitorQueue::new(),
            others_first_until: AtomicU64::new(0),
        }
    }

    /// A place behind all who wait.
    pub(super) fn join(&self) -> WaiterPlace {
        self.waiters.join(Waiter::new())
    }

    /// A place, if no other task waits or owns.
    pub(super) fn try_join(&self) -> Option<WaiterPlace> {
        self.waiters.try_join(Waiter::new())
    }

    /// The head does not bid before `until`.
    pub(super) fn let_others_first(&self, until: Moment) {
        self.others_first_until
            .store(until.as_nanos(), Ordering::Relaxed);
    }

    /// How long the head still waits for the sake of other processes.
    pub(super) fn others_first(&self, now: Moment) -> Duration {
        let until = Moment::from_nanos(self.others_first_until.load(Ordering::Relaxed));
        until.since(now)
    }
}

impl Waiter {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed).to_string(),
        }
    }
}

impl Competitor for Waiter {
    fn holder_id(&self) -> &str {
        &self.id
    }
}

//! [`LocalQueue`]: the tasks of this process that want one name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::hand_over::LocalGrant;
use crate::clock::{Clock, Moment};
use crate::engine::Engine;
use crate::queue::{Competitor, CompetitorQueue, Place};
use crate::sync::Mutex;

/// A fair queue before one name: only its head asks the store.
#[derive(Debug)]
pub(super) struct LocalQueue {
    pub(super) waiters: Arc<CompetitorQueue<Waiter, LocalGrant>>,
    /// The same for all.
    waiter: Arc<Waiter>,
    /// Until when other processes are let first; nanoseconds of the clock.
    others_first_until: AtomicU64,
    lingering: Mutex<Lingering>,
}

/// A place in a [`LocalQueue`]; dropped, it is left.
pub(super) type WaiterPlace = Place<Waiter, LocalGrant>;

/// A task in a [`LocalQueue`]. Which one, does not matter.
#[derive(Debug)]
pub(super) struct Waiter;

/// A grant that is left behind.
#[derive(Debug, Default)]
struct Lingering {
    /// When it goes back, if no waiter has come.
    until: Option<Moment>,
    /// Whether a task sees to that.
    is_watched: bool,
}

impl LocalQueue {
    pub(super) fn new() -> Self {
        Self {
            waiters: CompetitorQueue::new(),
            waiter: Arc::new(Waiter),
            others_first_until: AtomicU64::new(0),
            lingering: Mutex::default(),
        }
    }

    /// A task that wants a place among the waiters.
    pub(super) fn waiter(&self) -> Arc<Waiter> {
        Arc::clone(&self.waiter)
    }

    /// How many stand behind the first.
    pub(super) fn waiting_behind(&self) -> usize {
        self.waiters.len().saturating_sub(1)
    }

    /// Leaves `grant` behind until `until` for the next task of this process;
    /// then it goes back to the store. Both come back when a task waits.
    pub(super) fn linger(
        self: &Arc<Self>,
        engine: &Engine,
        place: WaiterPlace,
        grant: LocalGrant,
        until: Moment,
    ) -> Option<(WaiterPlace, LocalGrant)> {
        // Before it lies there: the one who watches must not take it for old.
        self.lingering.lock().until = Some(until);
        // Outside of the mutex: a waiter that has just come is woken.
        if let Err(back) = place.leave_behind(grant) {
            return Some(back);
        }
        let mut lingering = self.lingering.lock();
        lingering.until = Some(until);
        let was_watched = std::mem::replace(&mut lingering.is_watched, true);
        drop(lingering);
        if !was_watched {
            let (queue, watched) = (Arc::downgrade(self), engine.clone());
            engine.spawn(async move { watch(queue, &watched, until).await });
        }
        None
    }

    /// Gives back what has lingered for long enough, or says until when that
    /// is not so.
    fn end_lingering(&self, now: Moment) -> Option<Moment> {
        let mut lingering = self.lingering.lock();
        if let Some(until) = lingering.until.filter(|until| now < *until) {
            return Some(until);
        }
        *lingering = Lingering::default();
        let grant = self.waiters.take_back();
        drop(lingering);
        drop(grant);
        None
    }

    /// The head does not bid before `until`.
    pub(super) fn let_others_first(&self, until: Moment) {
        self.others_first_until
            .store(until.as_nanos(), Ordering::Relaxed);
    }

    /// How long the head still waits for the sake of other processes.
    pub(super) fn others_first(&self, clock: &Clock) -> Duration {
        match self.others_first_until.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            until => Moment::from_nanos(until).since(clock.now()),
        }
    }
}

/// Sees to it that what lingers goes back: one task for as long as the lock is
/// taken again and again.
async fn watch(queue: Weak<LocalQueue>, engine: &Engine, mut until: Moment) {
    loop {
        tokio::select! {
            () = engine.clock().sleep_until(until) => {}
            // What lingers is given back by the close itself.
            () = engine.closing() => return,
        }
        // Without its queue it has gone back already.
        let Some(queue) = queue.upgrade() else { return };
        let Some(later) = queue.end_lingering(engine.clock().now()) else {
            return;
        };
        until = later;
    }
}

impl Competitor for Waiter {
    fn holder_id(&self) -> &str {
        "task"
    }
}

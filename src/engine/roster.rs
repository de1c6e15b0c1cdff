//! [`Roster`]: all contentions of a coordinator, and the one task that rings
//! for them, renews what they hold and looks at their clocks.
//!
//! Owning costs no task and no timer of its own. No task runs for long while
//! there is no contention.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, MutexGuard, Weak};

use tokio::runtime::Handle;
use tokio::sync::Notify;

pub(super) use super::renewals::DueRenewal;

use super::birth::Birth;
use super::event::{Event, Stop};
use super::feed::ContenderStatus;
use super::renewals::{self, Renewals};
use super::slot::DriverSlot;
use crate::backend::AnyBackend;
use crate::clock::{Clock, Moment};
use crate::sync::Mutex;
use crate::telemetry::Meters;

#[derive(Debug, Clone)]
pub(super) struct Roster(Arc<RosterParts>);

#[derive(Debug)]
struct RosterParts {
    meters: Meters,
    backend: AnyBackend,
    clock: Clock,
    runtime: Handle,
    birth: Birth,
    entries: Mutex<RosterEntries>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct RosterEntries {
    contentions: BTreeMap<u64, Arc<DriverSlot>>,
    next_number: u64,
    /// When to ring for which contention. An alarm that is no longer wanted
    /// rings in vain.
    alarms: BTreeSet<(Moment, u64)>,
    renewals: Renewals,
    keeper: Keeper,
}

/// The one task.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Keeper {
    #[default]
    Gone,
    /// It will look for what is next.
    Awake,
    /// It wakes then, or never.
    AsleepUntil(Option<Moment>),
}

impl RosterEntries {
    /// Whether the keeper sleeps for longer than until `at`. It does not sleep
    /// less where something is taken out: it wakes once in vain, and most that
    /// comes next is later than that.
    fn oversleeps(&self, at: Moment) -> bool {
        match self.keeper {
            Keeper::AsleepUntil(until) => until.is_none_or(|until| at < until),
            Keeper::Gone | Keeper::Awake => false,
        }
    }

    fn next_moment(&self) -> Option<Moment> {
        let alarm = self.alarms.first().map(|(at, _)| *at);
        alarm.into_iter().chain(self.renewals.first()).min()
    }

    /// All that is to be renewed. Each is rung for at its end, should it not be
    /// renewed by then: while its renewal stood here it needed no alarm.
    fn take_due(&mut self, now: Moment) -> Vec<DueRenewal> {
        let due = self.renewals.take_due(now);
        let alarms = due.iter().map(|(number, due)| (due.deadline, *number));
        self.alarms.extend(alarms);
        due.into_iter().map(|(_, due)| due).collect()
    }

    /// All whose moment has come.
    fn take_rung(&mut self, now: Moment) -> Vec<Arc<DriverSlot>> {
        let mut rung = Vec::new();
        while let Some((at, number)) = self.alarms.first().copied()
            && at <= now
        {
            self.alarms.remove(&(at, number));
            rung.extend(self.contentions.get(&number).cloned());
        }
        rung
    }
}

impl Roster {
    pub(super) fn new(backend: AnyBackend, clock: Clock, runtime: Handle, meters: Meters) -> Self {
        Self(Arc::new(RosterParts {
            meters,
            backend,
            clock,
            runtime,
            birth: Birth::here(),
            entries: Mutex::default(),
            changed: Arc::default(),
        }))
    }

    /// Enters a contention, and says its number.
    #[inline]
    pub(super) fn enter(&self, slot: &Arc<DriverSlot>) -> u64 {
        let mut entries = self.0.entries.lock();
        entries.next_number += 1;
        let number = entries.next_number;
        entries.contentions.insert(number, Arc::clone(slot));
        let was_gone = entries.keeper == Keeper::Gone;
        if was_gone {
            entries.keeper = Keeper::Awake;
        }
        drop(entries);
        if was_gone {
            let keeping = Keeping {
                roster: Arc::downgrade(&self.0),
                changed: Arc::clone(&self.0.changed),
                clock: self.0.clock.clone(),
            };
            self.0.runtime.spawn(keeping.run());
        }
        number
    }

    /// A contention has ended.
    #[inline]
    pub(super) fn forget(&self, number: u64, alarm: Option<Moment>) {
        let mut entries = self.0.entries.lock();
        if let Some(at) = alarm {
            entries.alarms.remove(&(at, number));
        }
        let slot = entries.contentions.remove(&number);
        drop(entries);
        drop(slot);
    }

    /// Rings for a contention at `at`, and not at `before` any more.
    pub(super) fn set_alarm(&self, number: u64, before: Option<Moment>, at: Option<Moment>) {
        let mut entries = self.0.entries.lock();
        if let Some(before) = before {
            entries.alarms.remove(&(before, number));
        }
        if let Some(at) = at {
            entries.alarms.insert((at, number));
            self.0.is_wanted_at(entries, at);
        }
    }

    /// Renews at `at`, or a little earlier in company, and tells
    /// [`Event::Renewed`].
    #[inline]
    pub(super) fn renew_at(&self, at: Moment, number: u64, due: DueRenewal) {
        let mut entries = self.0.entries.lock();
        entries.renewals.add(at, number, due);
        self.0.is_wanted_at(entries, at);
    }

    /// Withdraws a renewal, unless it is already on its way.
    #[inline]
    pub(super) fn stop_renewing(&self, at: Moment, number: u64) {
        let withdrawn = self.0.entries.lock().renewals.remove(at, number);
        drop(withdrawn);
    }

    /// Those who contend at `now`.
    pub(super) fn status(&self, now: Moment) -> Vec<ContenderStatus> {
        let all = self.0.all();
        all.iter().map(|slot| slot.view().status(now)).collect()
    }

    /// Tells every contention that the coordinator closes.
    pub(super) fn close(&self) {
        for slot in self.0.all() {
            slot.say(Event::Stop(Stop::Closed));
        }
    }
}

impl RosterParts {
    fn all(&self) -> Vec<Arc<DriverSlot>> {
        self.entries.lock().contentions.values().cloned().collect()
    }

    fn is_wanted_at(&self, mut entries: MutexGuard<'_, RosterEntries>, at: Moment) {
        if entries.oversleeps(at) {
            entries.keeper = Keeper::Awake;
            drop(entries);
            self.changed.notify_one();
        }
    }

    /// Until when the keeper sleeps; an error when there is nothing to keep.
    fn next_moment(&self) -> Result<Option<Moment>, Nothing> {
        let mut entries = self.entries.lock();
        if entries.contentions.is_empty() {
            entries.keeper = Keeper::Gone;
            return Err(Nothing);
        }
        let next = entries.next_moment();
        entries.keeper = Keeper::AsleepUntil(next);
        Ok(next)
    }

    fn ring(&self) {
        // A fork renews nothing: it would speak on its parent's connections.
        if !self.birth.is_here() {
            return;
        }
        let now = self.clock.now();
        let mut entries = self.entries.lock();
        entries.keeper = Keeper::Awake;
        let due = entries.take_due(now);
        let rung = entries.take_rung(now);
        drop(entries);
        for batch in renewals::batches(due, now) {
            let (backend, clock) = (self.backend.clone(), self.clock.clone());
            let meters = self.meters.clone();
            self.runtime
                .spawn(renewals::renew(backend, clock, meters, batch));
        }
        for slot in rung {
            slot.send_to_one(Event::Timer);
        }
    }
}

impl Drop for RosterParts {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

/// There is nothing to keep.
struct Nothing;

/// The one task. It does not hold the roster: that ends with its coordinator.
struct Keeping {
    roster: Weak<RosterParts>,
    changed: Arc<Notify>,
    clock: Clock,
}

impl Keeping {
    async fn run(mut self) {
        let mut wall_set = pin!(self.clock.wall_set());
        loop {
            let next = match self.roster.upgrade().map(|roster| roster.next_moment()) {
                Some(Ok(next)) => next,
                Some(Err(Nothing)) | None => {
                    // Another may have begun by now, and is not to be ended.
                    self.roster = Weak::new();
                    return;
                }
            };
            let due = async {
                match next {
                    Some(at) => self.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.changed.notified() => continue,
                () = due => {}
                () = wall_set.as_mut() => {
                    wall_set.set(self.clock.wall_set());
                    // Every owner looks whether it still is one.
                    for slot in self.roster.upgrade().iter().flat_map(|roster| roster.all()) {
                        slot.send_to_one(Event::Timer);
                    }
                    continue;
                }
            }
            if let Some(roster) = self.roster.upgrade() {
                roster.ring();
            }
        }
    }
}

impl Drop for Keeping {
    /// Done; or the runtime has ended, and what is owned is renewed no more.
    fn drop(&mut self) {
        let Some(roster) = self.roster.upgrade() else {
            return;
        };
        roster.entries.lock().keeper = Keeper::Gone;
        for slot in roster.all() {
            slot.cut_off();
        }
    }
}

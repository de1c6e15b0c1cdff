//! [`DriverSlot`]: where a contention sits between two events, and who polls it.
//!
//! An event is taken by the thread that brings it: no task waits for one. A task, or
//! the caller's own future, is there only while something has to be polled: a
//! call to the store, or its hints. What is merely owned has none; the
//! [`Roster`](super::roster::Roster) knows it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::Engine;
use super::driver::Driver;
use super::event::Event;
use super::life::ContentionView;
use crate::clock::Moment;
use crate::sync::Mutex;

/// A contention, within reach of all who have something to tell it.
#[derive(Debug)]
pub(super) struct DriverSlot {
    /// Whether its user may be told of something while it says something.
    hears_at_once: bool,
    view: ContentionView,
    desk: Mutex<Desk>,
}

#[derive(Debug)]
struct Desk {
    /// None while a thread works with it, and after its last word.
    driver: Option<Box<Driver>>,
    /// What came while a thread worked with it.
    inbox: VecDeque<Event>,
    polled_by: PolledBy,
    /// Of the caller or the task that polls it.
    waker: Option<Waker>,
    is_over: bool,
}

/// Who polls what a contention waits for. Only the one who does it can stop,
/// except for a caller who does not come: a task takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolledBy {
    Nobody,
    /// The future of the user.
    Caller,
    Task,
}

impl DriverSlot {
    /// A slot for a contention that is polled by its caller at first, or by a task.
    /// The user of one that a task polls does not hear at once: it is told by a
    /// task of what its user says, who may hold what the notices of it need.
    #[inline]
    pub(super) fn new(polled_by: PolledBy, view: ContentionView) -> Arc<Self> {
        Arc::new(Self {
            hears_at_once: polled_by == PolledBy::Caller,
            view,
            desk: Mutex::new(Desk {
                driver: None,
                inbox: VecDeque::new(),
                polled_by,
                waker: None,
                is_over: false,
            }),
        })
    }

    /// The driver takes its slot, to be polled by its caller, or by a task: who
    /// begins it may hold what the notices of an event need that is here
    /// already.
    pub(super) fn take(self: &Arc<Self>, driver: Box<Driver>) {
        if self.hears_at_once {
            let _ = self.put_back_quietly(driver);
            return;
        }
        self.desk.lock().driver = Some(driver);
        self.spawn();
    }

    pub(super) fn engine(&self) -> &Engine {
        self.view.engine()
    }

    /// What is seen of it from outside.
    pub(super) fn view(&self) -> &ContentionView {
        &self.view
    }

    /// Tells those who read of changes how far it has come.
    pub(super) fn tell(&self) {
        let now = || self.engine().clock().now();
        self.engine().feed().tell(|| self.view.status(now()));
    }

    fn tell_over(&self) {
        self.view.is_over();
        self.tell();
    }

    /// Whether this process is a fork of the one that contends.
    pub(super) fn is_forked(&self) -> bool {
        self.engine().check_birth().is_err()
    }

    /// The user says `event`.
    pub(super) fn say(self: &Arc<Self>, event: Event) {
        if self.hears_at_once {
            self.send(event);
            return;
        }
        let mut desk = self.desk.lock();
        if desk.is_over {
            return;
        }
        desk.inbox.push_back(event);
        let is_task_wanted = desk.polled_by == PolledBy::Nobody && desk.driver.is_some();
        if is_task_wanted {
            desk.polled_by = PolledBy::Task;
        }
        let waker = desk.waker.take();
        drop(desk);
        if is_task_wanted {
            self.spawn();
        }
        waker.into_iter().for_each(Waker::wake);
    }

    /// Tells the contention of `event`.
    pub(super) fn send(self: &Arc<Self>, event: Event) {
        let mut desk = self.desk.lock();
        if desk.is_over {
            return;
        }
        let Some(mut driver) = desk.driver.take() else {
            desk.inbox.push_back(event);
            return;
        };
        let is_rung = matches!(event, Event::Timer) && desk.polled_by == PolledBy::Caller;
        if is_rung && driver.has_old_call() {
            // Its caller has not come for some time, and the call may keep what
            // others need: a task goes on with it.
            driver.is_rung();
            desk.polled_by = PolledBy::Task;
            desk.driver = Some(driver);
            let waker = desk.waker.take();
            drop(desk);
            self.spawn();
            // One that comes all the same has nothing to poll any more.
            waker.into_iter().for_each(Waker::wake);
            return;
        }
        drop(desk);
        driver.on(event);
        let _ = self.put_back(driver, None);
    }

    /// The same for one of many: a panic in what it tells its user ends this
    /// contention and no other.
    pub(super) fn send_to_one(self: &Arc<Self>, event: Event) {
        let sending = AssertUnwindSafe(|| self.send(event));
        if catch_unwind(sending).is_err() {
            self.cut_off();
        }
    }

    /// Polls what the contention waits for. Ready when `me` has nothing more to
    /// poll: the caller after one answer, a task when nothing is to be polled. Says
    /// whether an answer came in this very poll by which it owns.
    fn poll(self: &Arc<Self>, cx: &mut Context<'_>, me: PolledBy) -> Poll<bool> {
        self.poll_after(None, cx, me)
    }

    /// The same, after it has been told what `me` says: an event, and the moment of
    /// it by one who has just read the clock.
    fn poll_after(
        self: &Arc<Self>,
        said: Option<(Event, Option<Moment>)>,
        cx: &mut Context<'_>,
        me: PolledBy,
    ) -> Poll<bool> {
        // A waker is foreign code: cloned before the mutex is taken, and dropped
        // after.
        let mut waker = Some(cx.waker().clone());
        let mut desk = self.desk.lock();
        if desk.is_over {
            return Poll::Ready(false);
        }
        if desk.polled_by != me {
            drop(desk);
            if let Some((event, _)) = said {
                self.send(event);
            }
            return Poll::Ready(false);
        }
        std::mem::swap(&mut desk.waker, &mut waker);
        // The thread that works with it rings when it is back.
        let Some(mut driver) = desk.driver.take() else {
            desk.inbox.extend(said.map(|(event, _)| event));
            return Poll::Pending;
        };
        let mut came_before = desk.inbox.pop_front();
        drop(desk);
        drop(waker);
        while let Some(event) = came_before {
            driver.on(event);
            came_before = self.desk.lock().inbox.pop_front();
        }
        if let Some((event, now)) = said {
            driver.on_at(event, now);
        }
        let mut is_answered = false;
        while !is_answered {
            let Poll::Ready(event) = driver.poll(cx) else {
                break;
            };
            is_answered = me == PolledBy::Caller && event.is_answer();
            driver.on(event);
        }
        let is_done = is_answered || !driver.is_to_be_polled();
        let has_won = is_answered && driver.is_owner();
        self.put_back(driver, Some((me, is_done))).map(|()| has_won)
    }

    /// Puts the driver back after an event; `polled` says who has polled it and
    /// whether that one is done.
    fn put_back(
        self: &Arc<Self>,
        driver: Box<Driver>,
        polled: Option<(PolledBy, bool)>,
    ) -> Poll<()> {
        self.put_back_and(driver, polled, true)
    }

    /// Puts the driver back for a caller that polls it at once.
    fn put_back_quietly(self: &Arc<Self>, driver: Box<Driver>) -> Poll<()> {
        self.put_back_and(driver, None, false)
    }

    fn put_back_and(
        self: &Arc<Self>,
        mut driver: Box<Driver>,
        polled: Option<(PolledBy, bool)>,
        sets_alarm: bool,
    ) -> Poll<()> {
        let mut is_changed = polled.is_none();
        loop {
            let mut desk = self.desk.lock();
            if let Some(event) = desk.inbox.pop_front() {
                drop(desk);
                driver.on(event);
                is_changed = true;
                continue;
            }
            if driver.is_finished() || desk.is_over {
                desk.is_over = true;
                let waker = desk.waker.take();
                drop(desk);
                drop(driver);
                self.tell_over();
                waker.into_iter().for_each(Waker::wake);
                return Poll::Ready(());
            }
            let is_to_be_polled = driver.is_to_be_polled();
            let mut is_done = false;
            if let Some((me, done)) = polled {
                is_done = desk.polled_by != me
                    || match me {
                        PolledBy::Caller => done,
                        _ => !is_to_be_polled,
                    };
                if is_done && desk.polled_by == me {
                    desk.polled_by = PolledBy::Nobody;
                }
            }
            let (mut is_task_wanted, mut waker) = (false, None);
            match desk.polled_by {
                PolledBy::Nobody if is_to_be_polled => {
                    desk.polled_by = PolledBy::Task;
                    is_task_wanted = true;
                }
                PolledBy::Nobody => waker = desk.waker.take(),
                _ if is_changed => waker = desk.waker.take(),
                _ => {}
            }
            if sets_alarm || desk.polled_by != PolledBy::Caller {
                driver.set_alarm(desk.polled_by);
            }
            desk.driver = Some(driver);
            drop(desk);
            if is_task_wanted {
                self.spawn();
            }
            if is_done {
                drop(waker);
                return Poll::Ready(());
            }
            waker.into_iter().for_each(Waker::wake);
            return Poll::Pending;
        }
    }

    fn spawn(self: &Arc<Self>) {
        let driven = DrivenByTask(Some(Arc::clone(self)));
        self.engine().spawn(driven.run());
    }

    /// No task polls or renews any more: the runtime has ended.
    pub(super) fn cut_off(&self) {
        let mut desk = self.desk.lock();
        desk.is_over = true;
        let (driver, waker) = (desk.driver.take(), desk.waker.take());
        drop(desk);
        drop(driver);
        self.tell_over();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A contention that its caller polls; dropped before that is done, a task goes on.
pub(super) struct DrivenHere<'a> {
    slot: &'a Arc<DriverSlot>,
    is_done: bool,
}

impl<'a> DrivenHere<'a> {
    /// Of a contention that its caller polls since it began.
    pub(super) fn since_it_began(slot: &'a Arc<DriverSlot>) -> Self {
        let is_done = false;
        Self { slot, is_done }
    }

    /// From now on the caller polls, unless a task does.
    pub(super) fn from_now_on(slot: &'a Arc<DriverSlot>) -> Self {
        let mut desk = slot.desk.lock();
        if desk.polled_by == PolledBy::Nobody {
            desk.polled_by = PolledBy::Caller;
        }
        drop(desk);
        Self::since_it_began(slot)
    }

    /// Until one call is answered. Whether it has been won by that, at the first
    /// poll: otherwise time has passed since it was asked for.
    pub(super) async fn call(self) -> bool {
        self.call_after(None).await
    }

    /// The same, after it has been told of `event`. `now` is of one who has just read
    /// the clock.
    pub(super) async fn say_and_call(self, event: Event, now: Option<Moment>) {
        self.call_after(Some((event, now))).await;
    }

    async fn call_after(mut self, mut said: Option<(Event, Option<Moment>)>) -> bool {
        let (slot, mut has_waited) = (self.slot, false);
        let has_won = poll_fn(|cx| {
            let polled = slot.poll_after(said.take(), cx, PolledBy::Caller);
            has_waited |= polled.is_pending();
            polled
        });
        let has_won = has_won.await;
        self.is_done = true;
        has_won && !has_waited
    }
}

impl Drop for DrivenHere<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut desk = self.slot.desk.lock();
        if desk.polled_by != PolledBy::Caller {
            return;
        }
        desk.polled_by = PolledBy::Nobody;
        let waker = desk.waker.take();
        // Without a driver: the thread that works with it sees that it is not polled.
        let driver = desk.driver.take();
        drop(desk);
        drop(waker);
        if let Some(driver) = driver {
            let _ = self.slot.put_back(driver, None);
        }
    }
}

/// A contention that a task polls; dropped before that is done, the runtime
/// has ended.
struct DrivenByTask(Option<Arc<DriverSlot>>);

impl DrivenByTask {
    async fn run(mut self) {
        if let Some(slot) = &self.0 {
            poll_fn(|cx| slot.poll(cx, PolledBy::Task)).await;
        }
        // From now on a caller or another task may poll it.
        self.0 = None;
    }
}

impl Drop for DrivenByTask {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.cut_off();
        }
    }
}

//! One alarm for the whole process: a thread that waits on one
//! `timerfd(CLOCK_BOOTTIME)` set to the earliest sleeper.
//!
//! A thread and not a task: it serves every runtime of the process and cannot
//! be starved by one.

use std::collections::BTreeMap;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::sync::Notify;

use super::{Moment, boot_now};
use crate::sync::Mutex;

/// How often the clock is looked at where the timer does not work.
const STEP: Duration = Duration::from_millis(10);

/// By moment; the number tells apart those of the same moment.
type ByMoment = BTreeMap<(Moment, u64), Waker>;

#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// Tells when the wall clock is set, if the system can.
    wall: Option<OwnedFd>,
    wall_set: Notify,
    sleepers: Mutex<Sleepers>,
}

#[derive(Debug, Default)]
struct Sleepers {
    by_moment: ByMoment,
    next_number: u64,
    /// What the timer is set to. It may be for a sleeper that has gone.
    set_to: Option<Moment>,
}

impl Alarm {
    /// The process's alarm; `None` where the system has no timerfd for us.
    pub(super) fn shared() -> Option<&'static Arc<Self>> {
        static FIRST: OnceLock<(u32, Option<Arc<Alarm>>)> = OnceLock::new();
        static OF_FORKS: Mutex<BTreeMap<u32, Option<&'static Arc<Alarm>>>> =
            Mutex::new(BTreeMap::new());
        let here = std::process::id();
        let (process, alarm) = FIRST.get_or_init(|| (here, Alarm::start().ok()));
        if *process == here {
            return alarm.as_ref();
        }
        // A fork has the memory and not the thread: it needs an alarm of its
        // own, which lives as long as it does.
        let mut of_forks = OF_FORKS.lock();
        *of_forks
            .entry(here)
            .or_insert_with(|| Some(Box::leak(Box::new(Alarm::start().ok()?))))
    }

    fn start() -> std::io::Result<Arc<Self>> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
        let wall = timerfd_create(
            TimerfdClockId::Realtime,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        );
        let alarm = Arc::new(Self {
            timer,
            wall: wall.ok().filter(|wall| watch(wall).is_ok()),
            wall_set: Notify::new(),
            sleepers: Mutex::default(),
        });
        let ringer = Arc::clone(&alarm);
        std::thread::Builder::new()
            .name("tenure-alarm".into())
            .spawn(move || ringer.ring_for_ever())?;
        Ok(alarm)
    }

    pub(super) fn sleep_until(&self, at: Moment) -> Sleep<'_> {
        Sleep {
            alarm: self,
            at,
            number: None,
        }
    }

    /// Returns when the wall clock has been set.
    pub(super) async fn wall_set(&self) {
        self.wall_set.notified().await;
    }

    fn ring_for_ever(&self) {
        loop {
            if wait_for(&self.timer, self.wall.as_ref()) {
                self.wall_set.notify_waiters();
            }
            let due = {
                let mut sleepers = self.sleepers.lock();
                let now = boot_now();
                let later = sleepers
                    .by_moment
                    .split_off(&(now + Duration::from_nanos(1), 0));
                let due = std::mem::replace(&mut sleepers.by_moment, later);
                self.set(&mut sleepers);
                due
            };
            // Wakers run foreign code: never under the lock, and a panic in
            // one must not silence the alarm for all other sleepers.
            for waker in due.into_values() {
                if catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err() {
                    tracing::error!(target: "tenure::clock", "a waker panicked");
                }
            }
        }
    }

    /// Sets the timer to the earliest sleeper; with the lock held, so that
    /// settings happen in the order of the changes.
    fn set(&self, sleepers: &mut Sleepers) {
        let first = sleepers.by_moment.first_key_value();
        sleepers.set_to = first.map(|((at, _), _)| *at);
        // Zero would disarm; a past moment rings at once.
        let nanos = sleepers.set_to.map_or(0, |at| at.as_nanos().max(1));
        let value = Timespec {
            tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (nanos % 1_000_000_000).try_into().unwrap_or(0),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        // Fails only where the timer has been taken from us, which the
        // thread that waits for it finds out as well.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
    }
}

/// Blocks until the timer, as last set, has expired, or something came in
/// between: the clock is looked at in any case. Whether the wall clock was set.
fn wait_for(timer: &OwnedFd, wall: Option<&OwnedFd>) -> bool {
    let ready = PollFlags::IN;
    let mut files = vec![PollFd::new(timer, ready)];
    files.extend(wall.map(|wall| PollFd::new(wall, ready)));
    if poll(&mut files, None).is_err() {
        // Interrupted, or worse: never as fast as it goes.
        std::thread::sleep(STEP);
        return false;
    }
    let (rang, was_set) = (
        !files[0].revents().is_empty(),
        files.get(1).is_some_and(|wall| !wall.revents().is_empty()),
    );
    let mut expirations = [0_u8; 8];
    if rang && !matches!(rustix::io::read(timer, &mut expirations), Ok(8)) {
        // The program has closed our descriptor, as programs do that become a
        // daemon, or made it another's: from now on the clock is looked at in
        // short steps.
        std::thread::sleep(STEP);
    }
    if let Some(wall) = wall.filter(|_| was_set) {
        let told = rustix::io::read(wall, &mut expirations);
        if told != Err(Errno::CANCELED) || watch(wall).is_err() {
            std::thread::sleep(STEP);
        }
    }
    was_set
}

/// Lets reads of `wall` fail when the wall clock is set.
fn watch(wall: &OwnedFd) -> rustix::io::Result<()> {
    let never = Timespec {
        tv_sec: i64::from(u32::MAX), // in 2106
        tv_nsec: 0,
    };
    let zero = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let setting = Itimerspec {
        it_interval: zero,
        it_value: never,
    };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    timerfd_settime(wall, flags, &setting).map(drop)
}

/// A sleeper; forgotten by the alarm when dropped.
#[derive(Debug)]
pub(super) struct Sleep<'a> {
    alarm: &'a Alarm,
    at: Moment,
    number: Option<u64>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if boot_now() >= self.at {
            return Poll::Ready(());
        }
        let alarm = self.alarm;
        // A waker is foreign code: cloned before the lock, and the one before
        // it dropped after.
        let waker = cx.waker().clone();
        let mut sleepers = alarm.sleepers.lock();
        let number = *self.number.get_or_insert_with(|| {
            sleepers.next_number += 1;
            sleepers.next_number
        });
        let key = (self.at, number);
        let before = sleepers.by_moment.insert(key, waker);
        if sleepers.set_to.is_none_or(|set_to| self.at < set_to) {
            alarm.set(&mut sleepers);
        }
        drop(sleepers);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // An alarm whose sleeper is gone rings once in vain: cheaper than setting
            // it anew for every sleep that is dropped.
            let waker = self
                .alarm
                .sleepers
                .lock()
                .by_moment
                .remove(&(self.at, number));
            drop(waker); // after the lock: foreign code
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;
    use std::time::Instant;

    use super::*;

    /// A waker whose end runs the code of its maker: an executor may drop
    /// a whole task with it, and the sleeps in that task.
    #[allow(dead_code)] // held, to be dropped with it
    struct Heavy(Mutex<Option<Sleep<'static>>>);

    impl Wake for Heavy {
        fn wake(self: Arc<Self>) {}
    }

    fn sleeper(after: Duration) -> Sleep<'static> {
        Alarm::shared().unwrap().sleep_until(boot_now() + after)
    }

    fn poll_once(sleep: &mut Sleep<'static>, waker: &Waker) {
        let poll = Pin::new(sleep).poll(&mut Context::from_waker(waker));
        assert!(poll.is_pending());
    }

    /// A waker that holds a sleeper which the alarm knows.
    fn heavy() -> Waker {
        let mut inner = sleeper(Duration::from_secs(3600));
        poll_once(&mut inner, Waker::noop());
        Waker::from(Arc::new(Heavy(Mutex::new(Some(inner)))))
    }

    /// Runs `act`, which must not take for ever.
    fn returns(act: impl FnOnce() + Send + 'static) {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            act();
            tell.send(()).unwrap();
        });
        let told = told.recv_timeout(Duration::from_secs(20));
        told.expect("it waits for a lock that it holds itself");
    }

    #[test]
    fn a_waker_that_is_dropped_with_its_sleep_may_use_the_alarm() {
        returns(|| {
            let mut sleep = sleeper(Duration::from_secs(3600));
            poll_once(&mut sleep, &heavy());
            drop(sleep);
        });
    }

    #[test]
    fn a_waker_that_panics_does_not_silence_the_alarm() {
        struct Angry;
        impl Wake for Angry {
            fn wake(self: Arc<Self>) {
                panic!("as it was told to");
            }
        }
        struct Told(mpsc::Sender<()>);
        impl Wake for Told {
            fn wake(self: Arc<Self>) {
                let _ = self.0.send(());
            }
        }
        let (tell, told) = mpsc::channel();
        let (mut first, mut second) = (
            sleeper(Duration::from_millis(300)),
            sleeper(Duration::from_millis(400)),
        );
        poll_once(&mut first, &Waker::from(Arc::new(Angry)));
        poll_once(&mut second, &Waker::from(Arc::new(Told(tell))));
        let told = told.recv_timeout(Duration::from_secs(20));
        told.expect("the alarm has died of another's panic");
    }

    #[test]
    fn a_timer_that_cannot_be_read_is_waited_for_in_steps() {
        // Reads nothing, and at once; the other cannot be read at all.
        let nothing = std::fs::File::open("/dev/null").unwrap();
        let unreadable = std::fs::File::create("/dev/null").unwrap();
        for file in [nothing, unreadable] {
            let (timer, begin) = (OwnedFd::from(file), Instant::now());
            for _ in 0..5 {
                wait_for(&timer, None);
            }
            assert!(begin.elapsed() >= STEP * 5, "it spins");
        }
    }

    #[test]
    fn a_waker_that_is_replaced_may_use_the_alarm() {
        returns(|| {
            let mut sleep = sleeper(Duration::from_secs(3600));
            poll_once(&mut sleep, &heavy());
            poll_once(&mut sleep, Waker::noop());
        });
    }
}

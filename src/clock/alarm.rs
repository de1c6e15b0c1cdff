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
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::{Moment, boot_now};

/// How often the clock is looked at where the timer does not work.
const STEP: Duration = Duration::from_millis(10);

/// Sleepers by moment; the number tells apart those of the same moment.
type Sleepers = BTreeMap<(Moment, u64), Waker>;

#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sleepers: Sleepers,
    next_number: u64,
}

impl Alarm {
    /// The process's alarm; `None` where the system has no timerfd for us.
    pub(super) fn shared() -> Option<&'static Arc<Self>> {
        static SHARED: OnceLock<Option<Arc<Alarm>>> = OnceLock::new();
        SHARED.get_or_init(|| Alarm::start().ok()).as_ref()
    }

    fn start() -> std::io::Result<Arc<Self>> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
        let alarm = Arc::new(Self {
            timer,
            state: Mutex::default(),
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

    fn ring_for_ever(&self) {
        loop {
            wait_for(&self.timer);
            let due = {
                let mut state = self.lock();
                let now = boot_now();
                let later = state
                    .sleepers
                    .split_off(&(Moment(now.0.saturating_add(1)), 0));
                let due = std::mem::replace(&mut state.sleepers, later);
                self.set(&state.sleepers);
                due
            };
            // Wakers run foreign code: never under the lock, and a panic in
            // one must not silence the alarm for everybody else.
            for waker in due.into_values() {
                if catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err() {
                    tracing::error!(target: "tenure::clock", "a waker panicked");
                }
            }
        }
    }

    /// Sets the timer to the earliest sleeper; with the lock held, so that
    /// settings happen in the order of the changes.
    fn set(&self, sleepers: &Sleepers) {
        // Zero would disarm; a past moment rings at once.
        let nanos = sleepers
            .first_key_value()
            .map_or(0, |((at, _), _)| at.0.max(1));
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
        // Fails only where the timer has been taken from us, which whoever
        // waits for it finds out as well.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Blocks until the timer, as last set, has expired, or something came in
/// between: the clock is looked at in any case.
fn wait_for(timer: &OwnedFd) {
    let mut expirations = [0_u8; 8];
    match rustix::io::read(timer, &mut expirations) {
        Ok(8) | Err(Errno::INTR) => {}
        // Somebody has closed our descriptor, as programs do that become a
        // daemon, or made it another's: from now on the clock is looked at in
        // short steps.
        _ => std::thread::sleep(STEP),
    }
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
        let mut state = alarm.lock();
        let number = *self.number.get_or_insert_with(|| {
            state.next_number += 1;
            state.next_number
        });
        let key = (self.at, number);
        let was_first = state.sleepers.first_key_value().map(|(first, _)| *first);
        let before = state.sleepers.insert(key, waker);
        if was_first.is_none_or(|first| key < first) {
            alarm.set(&state.sleepers);
        }
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // An alarm set for nobody rings once in vain: cheaper than setting
            // it anew for every sleep that is dropped.
            let waker = self.alarm.lock().sleepers.remove(&(self.at, number));
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

    /// A waker whose end runs the code of whoever made it: an executor may drop
    /// a whole task with it, and the sleeps in that task.
    struct Heavy(Mutex<Option<Sleep<'static>>>);

    impl Wake for Heavy {
        fn wake(self: Arc<Self>) {}
    }

    fn sleeper(after: Duration) -> Sleep<'static> {
        Alarm::shared().unwrap().sleep_until(boot_now() + after)
    }

    fn poll(sleep: &mut Sleep<'static>, waker: &Waker) {
        let poll = Pin::new(sleep).poll(&mut Context::from_waker(waker));
        assert!(poll.is_pending());
    }

    /// A waker that holds a sleeper which the alarm knows.
    fn heavy() -> Waker {
        let mut inner = sleeper(Duration::from_secs(3600));
        poll(&mut inner, Waker::noop());
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
            poll(&mut sleep, &heavy());
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
        poll(&mut first, &Waker::from(Arc::new(Angry)));
        poll(&mut second, &Waker::from(Arc::new(Told(tell))));
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
                wait_for(&timer);
            }
            assert!(begin.elapsed() >= STEP * 5, "it spins");
        }
    }

    #[test]
    fn a_waker_that_is_replaced_may_use_the_alarm() {
        returns(|| {
            let mut sleep = sleeper(Duration::from_secs(3600));
            poll(&mut sleep, &heavy());
            poll(&mut sleep, Waker::noop());
        });
    }
}

//! One alarm for the whole process: a thread that waits on one
//! `timerfd(CLOCK_BOOTTIME)` set to the earliest sleeper.
//!
//! A thread and not a task: it serves every runtime of the process and cannot
//! be starved by one.

use std::collections::BTreeMap;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::{Moment, boot_now};

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
        let mut expirations = [0_u8; 8];
        loop {
            // Blocks until the timer, as last set, has expired. An interrupted
            // read is no harm: we look at the clock in any case.
            let _ = rustix::io::read(&self.timer, &mut expirations);
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
            // Wakers run foreign code: never under the lock.
            due.into_values().for_each(Waker::wake);
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
        let set = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
        debug_assert!(set.is_ok(), "an absolute time of our own is valid: {set:?}");
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut state = alarm.lock();
        let number = *self.number.get_or_insert_with(|| {
            state.next_number += 1;
            state.next_number
        });
        let key = (self.at, number);
        let was_first = state.sleepers.first_key_value().map(|(first, _)| *first);
        state.sleepers.insert(key, cx.waker().clone());
        if was_first.is_none_or(|first| key < first) {
            alarm.set(&state.sleepers);
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // An alarm set for nobody rings once in vain: cheaper than setting
            // it anew for every sleep that is dropped.
            self.alarm.lock().sleepers.remove(&(self.at, number));
        }
    }
}

//! [`Clock`]: the one place that reads time.
//!
//! Leases are measured on a clock that cannot be set and that goes on while
//! the machine sleeps: `CLOCK_BOOTTIME` on Linux. A guard that slept through
//! its lease is dead at the first look after resume, and its alarm, a
//! `timerfd` on the same clock, rings at once: timers of the async runtime
//! stand still in suspend and would ring late.
//!
//! A machine can stand still without its clocks noticing: a virtual one that
//! its hypervisor pauses or restores from a snapshot. What can be seen from
//! inside is that the host then sets its wall clock right. So the two clocks are
//! compared at every look, and ownership ends when the wall clock went ahead:
//! see docs/decisions/0021-a-wall-clock-that-goes-ahead-is-a-loss.md.
//!
//! Elsewhere the fallback is [`std::time::Instant`] with the runtime's timers.
//! Whether that clock counts a suspend is up to the system; where it does not,
//! a lease may be believed for as long as the suspend lasted.

#[cfg(target_os = "linux")]
mod alarm;
mod host;

pub use host::VirtualHost;

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point on a [`Clock`]; only points of the same clock compare.
// One more than the clock showed: so a moment, or none, needs no more room than a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(NonZeroU64);

impl Moment {
    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    pub(crate) const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(nanos(length)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(nanos(length)))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:?}", Duration::from_nanos(self.as_nanos()))
    }
}

/// A source of [`Moment`]s, and the sleep that goes with it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use tenure::clock::Clock;
///
/// let clock = Clock::tokio(); // virtual in a paused runtime
/// let start = clock.now();
/// clock.sleep(Duration::from_secs(3600)).await;
/// assert!(clock.now().since(start) >= Duration::from_secs(3600));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
    watches_wall: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Boot,
    Tokio { origin: tokio::time::Instant },
    Host(VirtualHost),
}

/// What the clocks of a machine show at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) now: Moment,
    /// How far the wall clock is ahead of the other, in nanoseconds. Only its
    /// changes mean something. On Linux both go at the same speed, however the
    /// wall clock is slewed, and through a suspend; only setting it, and a leap
    /// second, changes this.
    pub(crate) wall_lead: i64,
}

impl Clock {
    /// The suspend-aware monotonic clock of this machine.
    #[must_use]
    pub fn boot() -> Self {
        Self {
            source: Source::Boot,
            watches_wall: cfg!(target_os = "linux"),
        }
    }

    /// The runtime's clock: virtual where the runtime's time is paused. For
    /// tests; it does not count the time of a suspend.
    #[must_use]
    pub fn tokio() -> Self {
        Self {
            source: Source::Tokio {
                origin: tokio::time::Instant::now(),
            },
            watches_wall: false,
        }
    }

    /// The same clock, for a machine whose wall clock says nothing: it is set
    /// by hand, or by tests.
    #[must_use]
    pub fn ignoring_wall(mut self) -> Self {
        self.watches_wall = false;
        self
    }

    /// The present moment.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Moment {
        match &self.source {
            Source::Boot => boot_now(),
            Source::Tokio { origin } => Moment::from_nanos(nanos(origin.elapsed())),
            Source::Host(host) => host.look().now,
        }
    }

    /// Whether it shows the time that passes in this machine.
    pub(crate) fn is_real(&self) -> bool {
        matches!(self.source, Source::Boot)
    }

    /// Whether a look at it shows both clocks of this machine.
    pub(crate) fn shows_both(&self) -> bool {
        self.is_real() && self.watches_wall
    }

    /// Both clocks. A thread that is held up between the two readings takes the wall
    /// clock to be less ahead than it is, never more.
    #[inline]
    pub(crate) fn look(&self) -> Sight {
        match &self.source {
            _ if !self.watches_wall => Sight {
                now: self.now(),
                wall_lead: 0,
            },
            Source::Host(host) => host.look(),
            _ => {
                let wall = wall_now();
                let now = boot_now();
                Sight {
                    now,
                    wall_lead: lead(wall, now),
                }
            }
        }
    }

    /// Both clocks, to compare later looks with: a thread that is held up between
    /// the readings takes the wall clock to be more ahead than it is.
    #[inline]
    pub(crate) fn look_before(&self) -> Sight {
        match &self.source {
            Source::Boot if self.watches_wall => {
                let now = boot_now();
                let wall_lead = lead(wall_now(), now);
                Sight { now, wall_lead }
            }
            _ => self.look(),
        }
    }

    /// Returns when the wall clock has been set, where that can be known.
    pub(crate) async fn wall_set(&self) {
        match &self.source {
            Source::Host(host) if self.watches_wall => Box::pin(host.wall_set()).await,
            #[cfg(target_os = "linux")]
            Source::Boot if self.watches_wall => match alarm::Alarm::shared() {
                Some(alarm) => alarm.wall_set().await,
                None => std::future::pending().await,
            },
            _ => std::future::pending().await,
        }
    }

    /// Returns at `at`, or at once when that is past.
    ///
    /// # Cancel safety
    /// Dropping it forgets the alarm.
    pub async fn sleep_until(&self, at: Moment) {
        match &self.source {
            Source::Boot => boot_sleep(at).await,
            // In a box: the sleeps of tests must not make those of all larger.
            Source::Host(host) => Box::pin(host.sleep_until(at)).await,
            Source::Tokio { origin } => {
                let Some(at) = origin.checked_add(Duration::from_nanos(at.as_nanos())) else {
                    return std::future::pending().await;
                };
                tokio::time::sleep_until(at).await;
            }
        }
    }

    /// Returns after `length`.
    ///
    /// # Cancel safety
    /// Dropping it forgets the alarm.
    pub async fn sleep(&self, length: Duration) {
        self.sleep_until(self.now() + length).await;
    }

    /// What `work` returns, or `None` when it has not returned by `at`.
    ///
    /// # Cancel safety
    /// As cancel-safe as `work`, which is dropped with it.
    pub async fn limit<F: Future>(&self, at: Moment, work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = work => Some(output),
            () = self.sleep_until(at) => None,
        }
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// How far the wall clock is ahead.
#[inline]
fn lead(wall: u64, now: Moment) -> i64 {
    i64::try_from(i128::from(wall) - i128::from(now.as_nanos())).unwrap_or(0)
}

#[cfg(target_os = "linux")]
#[inline]
fn boot_now() -> Moment {
    Moment::from_nanos(read(rustix::time::ClockId::Boottime))
}

/// The wall clock, in nanoseconds of its own.
#[cfg(target_os = "linux")]
#[inline]
fn wall_now() -> u64 {
    read(rustix::time::ClockId::Realtime)
}

#[cfg(target_os = "linux")]
#[inline]
fn read(clock: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000;
    whole + u64::try_from(now.tv_nsec).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn wall_now() -> u64 {
    0
}

#[cfg(target_os = "linux")]
async fn boot_sleep(at: Moment) {
    match alarm::Alarm::shared() {
        Some(alarm) => alarm.sleep_until(at).await,
        // No timerfd here (a tight sandbox): the runtime's timers will do.
        None => tokio::time::sleep(at.since(boot_now())).await,
    }
}

#[cfg(not(target_os = "linux"))]
fn boot_now() -> Moment {
    static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    Moment::from_nanos(nanos(ORIGIN.get_or_init(std::time::Instant::now).elapsed()))
}

#[cfg(not(target_os = "linux"))]
async fn boot_sleep(at: Moment) {
    tokio::time::sleep(at.since(boot_now())).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_on_the_boot_clock_ends_when_due_and_not_before() {
        let clock = Clock::boot();
        let start = clock.now();
        clock.sleep(Duration::from_millis(20)).await;
        assert!(clock.now().since(start) >= Duration::from_millis(20));
    }

    #[tokio::test]
    async fn sleeps_end_in_the_order_of_their_moments() {
        let clock = Clock::boot();
        let start = clock.now();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        for millis in [40_u64, 10, 30, 20] {
            let (clock, tell) = (clock.clone(), tell.clone());
            tokio::spawn(async move {
                clock
                    .sleep_until(start + Duration::from_millis(millis))
                    .await;
                tell.send(millis).unwrap();
            });
        }
        drop(tell);
        let mut seen = Vec::new();
        while let Some(millis) = told.recv().await {
            assert!(clock.now() >= start + Duration::from_millis(millis));
            seen.push(millis);
        }
        seen.sort_unstable();
        assert_eq!(seen, [10, 20, 30, 40]);
    }

    #[tokio::test]
    async fn a_dropped_sleep_leaves_the_others_alone() {
        let clock = Clock::boot();
        let at = clock.now() + Duration::from_millis(30);
        let early = clock.sleep_until(clock.now() + Duration::from_millis(10));
        assert!(clock.limit(clock.now(), early).await.is_none());
        clock.sleep_until(at).await;
        assert!(clock.now() >= at);
    }

    #[tokio::test]
    async fn the_past_is_reached_at_once() {
        let clock = Clock::boot();
        clock.sleep_until(Moment::from_nanos(0)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_tokio_clock_is_virtual_when_paused() {
        let clock = Clock::tokio();
        let start = clock.now();
        clock.sleep(Duration::from_secs(86_400)).await;
        assert!(clock.now().since(start) >= Duration::from_secs(86_400));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_ends_work_that_hangs() {
        let clock = Clock::tokio();
        let at = clock.now() + Duration::from_secs(1);
        assert!(
            clock
                .limit(at, std::future::pending::<()>())
                .await
                .is_none()
        );
        assert_eq!(
            clock.limit(at + Duration::from_secs(1), async { 7 }).await,
            Some(7)
        );
    }
}

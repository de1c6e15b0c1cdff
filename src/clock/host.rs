//! [`VirtualHost`]: a machine whose clocks a test can stop and set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Clock, Moment, Sight, Source};

/// What its clock shows at first: far enough from zero to be set back.
const ORIGIN: i64 = 1_000_000_000_000_000;

/// A machine on the runtime's clock, for tests on virtual time: its clock can
/// be set back, as that of a virtual machine is by a pause or a restored
/// snapshot, and its wall clock can be set.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use tenure::clock::VirtualHost;
///
/// let host = VirtualHost::new();
/// let clock = host.clock();
/// let start = clock.now();
/// // An hour in which the machine stands still.
/// let hour = Duration::from_secs(3600);
/// host.rewind(hour);
/// tokio::time::sleep(hour).await;
/// assert!(clock.now().since(start) < Duration::from_secs(1));
/// host.set_wall_ahead(hour); // and its operator sets the wall clock right
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct VirtualHost(Arc<HostClocks>);

#[derive(Debug)]
struct HostClocks {
    origin: tokio::time::Instant,
    /// How much its clock has been set back in all, in nanoseconds; less than nothing where it has
    /// gained time.
    behind: AtomicI64,
    /// How much its wall clock has been set ahead in all.
    ahead: AtomicI64,
    wall_set: Notify,
}

impl VirtualHost {
    /// A machine whose clocks go right.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(Arc::new(HostClocks {
            origin: tokio::time::Instant::now(),
            behind: AtomicI64::new(0),
            ahead: AtomicI64::new(0),
            wall_set: Notify::new(),
        }))
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock {
            source: Source::Host(self.clone()),
            watches_wall: true,
        }
    }

    /// Sets its clock back, and its wall clock with it. A machine that stands
    /// still for a while is one that is set back by as much as passes then.
    pub fn rewind(&self, length: Duration) {
        self.0.behind.fetch_add(signed(length), Ordering::SeqCst);
    }

    /// Sets its clock ahead, and its wall clock with it: of a machine whose
    /// clock gains time, in many small steps. Who sleeps on it wakes up late by
    /// as much.
    pub fn advance(&self, length: Duration) {
        self.0.behind.fetch_sub(signed(length), Ordering::SeqCst);
    }

    /// Sets its wall clock ahead, and nothing else.
    pub fn set_wall_ahead(&self, length: Duration) {
        self.set_wall(signed(length));
    }

    /// Sets its wall clock back, and nothing else.
    pub fn set_wall_back(&self, length: Duration) {
        self.set_wall(-signed(length));
    }

    fn set_wall(&self, by: i64) {
        self.0.ahead.fetch_add(by, Ordering::SeqCst);
        self.0.wall_set.notify_waiters();
    }

    pub(super) fn look(&self) -> Sight {
        let passed = signed(self.0.origin.elapsed());
        let now = ORIGIN + passed - self.0.behind.load(Ordering::SeqCst);
        Sight {
            now: Moment::from_nanos(u64::try_from(now).unwrap_or(0)),
            wall_lead: self.0.ahead.load(Ordering::SeqCst),
        }
    }

    pub(super) async fn sleep_until(&self, at: Moment) {
        loop {
            let left = at.since(self.look().now);
            if left.is_zero() {
                return;
            }
            // It may be set back meanwhile.
            tokio::time::sleep(left).await;
        }
    }

    pub(super) async fn wall_set(&self) {
        self.0.wall_set.notified().await;
    }
}

fn signed(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX / 4)
}

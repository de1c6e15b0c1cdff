//! [`Jump`]: whether the clocks of this machine jumped while something was owned.
//!
//! A machine that stood still counts less time than the store does. It can be
//! seen only by the wall clock, once that has been set right: it goes ahead of
//! the clock that measures leases. What went ahead is never believed away: also
//! when the wall clock had been set back before.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, Moment, Sight};

/// What the clocks have shown since the last request that the store confirmed.
#[derive(Debug)]
pub(super) struct Jump {
    /// When that was sent.
    since: AtomicU64,
    /// The least that the wall clock has been ahead since.
    least: AtomicI64,
    /// How much more it may be.
    tolerance: i64,
}

impl Jump {
    /// Since a request that was sent at `sent`.
    pub(super) fn since(sent: Sight, tolerance: Duration) -> Self {
        Self {
            since: AtomicU64::new(sent.now.as_nanos()),
            least: AtomicI64::new(sent.wall_lead),
            tolerance: i64::try_from(tolerance.as_nanos()).unwrap_or(i64::MAX),
        }
    }

    /// The store has confirmed a request that was sent at `sent`: what was
    /// before does not matter any more.
    pub(super) fn confirmed(&self, sent: Sight) {
        self.since.store(sent.now.as_nanos(), Ordering::Release);
        self.least.store(sent.wall_lead, Ordering::Release);
    }

    /// Whether more time may have passed than `clock` counted.
    pub(super) fn is_seen(&self, sight: Sight, clock: &Clock) -> bool {
        let least = self.least.load(Ordering::Acquire);
        if least.saturating_sub(sight.wall_lead) > self.tolerance / 4 {
            // Set back, or this thread was held up between its two readings:
            // the second look cannot take the one for the other.
            let lead = clock.look_before().wall_lead;
            self.least.fetch_min(lead, Ordering::AcqRel);
        }
        let went_ahead = sight.wall_lead.saturating_sub(least) > self.tolerance;
        let went_back = sight.now < Moment::from_nanos(self.since.load(Ordering::Acquire));
        went_ahead || went_back
    }
}

//! Points of the clock that goes on while the machine sleeps, as numbers that
//! another process understands.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure::Tenure;

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Nanoseconds of `CLOCK_BOOTTIME`, the same for all processes of the host.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(CLOCK);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000;
    whole + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// When `tenure` ends if it is not renewed; never later than that.
pub(crate) fn end_of(tenure: &Tenure) -> u64 {
    // The clock is read first: a pause between the two readings makes the
    // answer too early, never too late.
    let now = now();
    now.saturating_add(nanos(tenure.remaining()))
}

/// How long before that a command is killed: a guardian has to be woken, and
/// the killed have to be gone, on a machine that may be busy.
const HEAD_START: Duration = Duration::from_millis(100);

/// When whatever works under `tenure` must be killed: a little before its end,
/// and at most a tenth of what is left of it.
pub(crate) fn last_of(tenure: &Tenure) -> u64 {
    let now = now();
    let remaining = tenure.remaining();
    let head_start = HEAD_START.min(remaining / 10);
    now.saturating_add(nanos(remaining - head_start))
}

pub(crate) fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

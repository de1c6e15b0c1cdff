//! A clock that all processes of the machine read alike.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the machine started.
pub fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

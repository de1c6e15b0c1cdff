//! [`Stamp`]: a grant's number and the server's time in one integer.
//!
//! An UPDATE answers two numbers only: how many rows, and the last insert id,
//! which a statement may set. So the id carries both the new version and the
//! low bits of the server's time, and a take costs one round trip. The high
//! bits are those of the time this client last heard.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome, Result};

/// Milliseconds in the low bits: 4.6 hours, so that only a clock that is set
/// by more than half of that is mistaken, and then for its date only.
pub(super) const SCALE: u64 = 1 << 24;

/// What the version must stay below for the stamp to stay below 2⁶³.
pub(super) const VERSION_LIMIT: u64 = (1 << 63) / SCALE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) version: u64,
    low: u64,
}

impl Stamp {
    pub(super) fn new(id: u64) -> Result<Self> {
        let (version, low) = (id / SCALE, id % SCALE);
        if version == 0 {
            // Something between us and the server swallowed the id.
            return Err(Error::new(ErrorKind::Store, Outcome::Did)
                .with_message("the server granted the mutex without saying its version"));
        }
        Ok(Self { version, low })
    }

    /// The time of the stamp, which is near `about`.
    pub(super) fn near(self, about: u64) -> u64 {
        let base = about - about % SCALE + self.low;
        if base + SCALE / 2 < about {
            base + SCALE
        } else if base > about + SCALE / 2 {
            base.saturating_sub(SCALE)
        } else {
            base
        }
    }
}

/// The server's time as last heard, advanced by our clock.
#[derive(Debug)]
pub(super) struct Dial {
    clock: Clock,
    origin: Moment,
    /// The server's time at `origin`, as last reckoned.
    offset: AtomicU64,
}

impl Dial {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            origin: clock.now(),
            clock,
            offset: AtomicU64::new(0),
        }
    }

    fn passed(&self) -> u64 {
        let passed = self.clock.now().since(self.origin).as_millis();
        u64::try_from(passed).unwrap_or(u64::MAX)
    }

    /// The server has just said `now`.
    pub(super) fn set(&self, now: u64) {
        let offset = now.saturating_sub(self.passed());
        self.offset.store(offset, Ordering::Relaxed);
    }

    /// About the server's time.
    pub(super) fn about(&self) -> u64 {
        self.offset
            .load(Ordering::Relaxed)
            .saturating_add(self.passed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_gives_back_version_and_time() {
        let now = 1_790_000_123_456_u64;
        for version in [1, 77, (1 << 31) - 1, VERSION_LIMIT - 1] {
            let stamp = Stamp::new(version * SCALE + now % SCALE).unwrap();
            assert_eq!(stamp.version, version);
            let hour = 3_600_000;
            for about in [now, now - 2 * hour, now + 2 * hour, now + 1, now - 1] {
                assert_eq!(stamp.near(about), now, "heard {about}");
            }
        }
        assert!(Stamp::new(0).is_err());
    }

    #[test]
    fn the_low_bits_may_wrap_on_either_side() {
        let edge = 100_000 * SCALE;
        for (now, about) in [(edge - 1, edge + 5), (edge + 5, edge - 1), (edge, edge)] {
            let stamp = Stamp::new(SCALE + now % SCALE).unwrap();
            assert_eq!(stamp.near(about), now);
        }
    }
}

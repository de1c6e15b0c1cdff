//! [`Stamp`]: a grant's number and the server's time in one integer.
//!
//! An UPDATE answers two numbers only: how many rows, and the last insert id,
//! which a statement may set. So the id carries both the new version and the
//! low bits of the server's time, and a take costs one round trip. The high
//! bits are those of the time this client last heard.

use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::StoreTime;

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
    pub(super) fn near(self, about: StoreTime) -> StoreTime {
        let about = about.as_millis();
        // A server may say any time.
        let base = (about - about % SCALE).saturating_add(self.low);
        StoreTime::from_millis(if base.saturating_add(SCALE / 2) < about {
            base.saturating_add(SCALE)
        } else if base > about.saturating_add(SCALE / 2) {
            base.saturating_sub(SCALE)
        } else {
            base
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(stamp: Stamp, about: u64) -> u64 {
        stamp.near(StoreTime::from_millis(about)).as_millis()
    }

    #[test]
    fn a_clock_at_its_end_is_a_time_too() {
        let stamp = Stamp::new(SCALE).unwrap();
        assert!(near(stamp, u64::MAX) > u64::MAX - SCALE);
        let stamp = Stamp::new(2 * SCALE - 1).unwrap();
        assert!(near(stamp, u64::MAX) > u64::MAX - SCALE);
        assert!(near(stamp, 0) < SCALE);
    }

    #[test]
    fn a_stamp_gives_back_version_and_time() {
        let now = 1_790_000_123_456_u64;
        for version in [1, 77, (1 << 31) - 1, VERSION_LIMIT - 1] {
            let stamp = Stamp::new(version * SCALE + now % SCALE).unwrap();
            assert_eq!(stamp.version, version);
            let hour = 3_600_000;
            for about in [now, now - 2 * hour, now + 2 * hour, now + 1, now - 1] {
                assert_eq!(near(stamp, about), now, "heard {about}");
            }
        }
        assert!(Stamp::new(0).is_err());
    }

    #[test]
    fn the_low_bits_may_wrap_on_either_side() {
        let edge = 100_000 * SCALE;
        for (now, about) in [(edge - 1, edge + 5), (edge + 5, edge - 1), (edge, edge)] {
            let stamp = Stamp::new(SCALE + now % SCALE).unwrap();
            assert_eq!(near(stamp, about), now);
        }
    }
}

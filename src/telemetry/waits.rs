//! [`Waits`]: one who waits, and is counted for as long.

use std::time::Duration;

use super::NameMeters;

/// One who waits; dropped, it waits no more.
#[derive(Debug)]
pub(crate) struct Waits(NameMeters);

impl Waits {
    pub(crate) fn begin(meters: NameMeters) -> Self {
        meters.waits();
        Self(meters)
    }

    /// It has won.
    pub(crate) fn won_after(self, waited: impl FnOnce() -> Duration) {
        self.0.won_after(waited);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.waits_no_more();
    }
}

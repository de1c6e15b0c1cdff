//! The clock that all processes of this host share, and the boot it counts from.

use std::time::{Duration, SystemTime};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::StoreTime;

/// One boot of this host.
#[derive(Clone, Debug)]
pub(super) struct Boot {
    /// What tells it from every other boot.
    pub(super) id: String,
    clock: Clock,
    /// How far the boot clock of a time namespace is ahead of the host's: the
    /// processes of all containers must agree.
    ahead: i128,
}

impl Boot {
    pub(super) fn present() -> Result<Self> {
        let missing = |error| {
            Error::new(ErrorKind::Store, Outcome::DidNot)
                .with_message(
                    "the SQLite store needs /proc/sys/kernel/random/boot_id, which tells a lease \
                     of this boot from one of an earlier boot",
                )
                .with_source(error)
        };
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(missing)?;
        // Kernels without time namespaces have no such file.
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        Ok(Self {
            id: id.trim().to_owned(),
            clock: Clock::boot(),
            ahead: boottime_offset(&offsets),
        })
    }

    /// How long ago it was, in whole milliseconds.
    pub(super) fn uptime(&self) -> Duration {
        let nanos = i128::from(self.clock.now().as_nanos()) - self.ahead;
        Duration::from_millis(u64::try_from(nanos / 1_000_000).unwrap_or(0))
    }
}

/// The store's clock: the time since boot, moved to where the wall clock stood
/// when the file was first used in this boot. The move is written in the file
/// and the same for everybody, so that times can be read and outlive a boot; a
/// wall clock that is set later changes nothing.
#[derive(Clone, Debug)]
pub(super) struct StoreClock {
    pub(super) boot: Boot,
    /// What the wall clock showed at boot, in milliseconds since 1970.
    pub(super) epoch: u64,
}

impl StoreClock {
    pub(super) fn now(&self) -> StoreTime {
        StoreTime::from_millis(self.epoch) + self.boot.uptime()
    }
}

/// The wall clock since 1970.
pub(super) fn wall() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// The nanoseconds in the line `boottime SECONDS NANOSECONDS`.
fn boottime_offset(offsets: &str) -> i128 {
    let line = offsets
        .lines()
        .find_map(|line| line.strip_prefix("boottime"));
    let mut words = line.unwrap_or("").split_whitespace();
    let mut number = || words.next().and_then(|word| word.parse::<i128>().ok());
    number().map_or(0, |seconds| seconds * 1_000_000_000 + number().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        assert_eq!(boottime_offset(""), 0);
        let offsets = "monotonic           0         0\nboottime         -864         5\n";
        assert_eq!(boottime_offset(offsets), -864_000_000_000 + 5);
    }

    #[test]
    fn the_boot_of_this_host_is_known() {
        let boot = Boot::present().unwrap();
        assert_eq!(boot.id.len(), 36);
        assert!(boot.uptime() > Duration::from_secs(1));
    }
}

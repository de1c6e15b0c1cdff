//! The clock that all processes of this host share, and the boot it counts from.

use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::StoreTime;

/// One boot of this host.
#[derive(Clone, Debug)]
pub(super) struct HostBoot {
    /// What tells it from every other boot.
    pub(super) id: String,
    clock: Clock,
    /// How far the boot clock of a time namespace is ahead of the host's: the
    /// processes of all containers must agree.
    ahead: i128,
}

impl HostBoot {
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
        let namespace = |which| {
            let link = std::fs::read_link(format!("/proc/self/ns/{which}")).ok()?;
            Some(link.to_string_lossy().into_owned())
        };
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").ok();
        let ahead = ahead(
            namespace("time").as_deref(),
            namespace("time_for_children").as_deref(),
            offsets.as_deref(),
        );
        Ok(Self {
            id: id.trim().to_owned(),
            clock: Clock::boot(),
            ahead: ahead.ok_or_else(|| {
                Error::conflict(
                    "this process is in a time namespace whose offset cannot be read from \
                     /proc/self/timens_offsets, so it cannot know the time that others of this \
                     host see: run it in the host's time namespace, or let it read that file",
                )
            })?,
        })
    }

    /// Whether `name`, as found in a file, is what this boot is called there.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.id.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('~'))
    }

    /// What to call this boot where its id has been used before.
    pub(super) fn another_name(&self) -> String {
        format!("{}~{:016x}", self.id, fastrand::u64(..))
    }

    /// How long ago it was, in whole milliseconds.
    pub(super) fn uptime(&self) -> Duration {
        let nanos = i128::from(self.clock.now().as_nanos()) - self.ahead;
        Duration::from_millis(u64::try_from(nanos / 1_000_000).unwrap_or(0))
    }
}

/// The store's clock: the time since boot, moved to where the wall clock stood
/// when the file was first used in this boot. The move is written in the file
/// and the same for all processes, so that times can be read and outlive a boot; a
/// wall clock that is set later changes nothing.
#[derive(Clone, Debug)]
pub(super) struct BootClock {
    pub(super) boot: HostBoot,
    /// What the file calls this boot: the id that its first user saw.
    pub(super) name: String,
    /// What the wall clock showed at boot, in milliseconds since 1970.
    pub(super) epoch: u64,
}

impl BootClock {
    pub(super) fn now(&self) -> StoreTime {
        StoreTime::from_millis(self.epoch) + self.boot.uptime()
    }
}

/// The time namespace that every host begins with; nothing is moved there.
const INITIAL: &str = "time:[4026531834]";

/// How many nanoseconds the boot clock of this process is ahead of the host's;
/// `None` when that cannot be known.
fn ahead(own: Option<&str>, children: Option<&str>, offsets: Option<&str>) -> Option<i128> {
    match own {
        // A kernel without time namespaces.
        None if offsets.is_none() => Some(0),
        Some(INITIAL) => Some(0),
        // The offsets are those of children to come: ours only as long as both
        // are in one namespace.
        Some(own) if children != Some(own) => None,
        _ => boottime_offset(offsets?),
    }
}

/// The nanoseconds in the line `boottime SECONDS NANOSECONDS`.
fn boottime_offset(offsets: &str) -> Option<i128> {
    let line = offsets
        .lines()
        .find_map(|line| line.strip_prefix("boottime"))?;
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse::<i128>().ok();
    Some(number()? * 1_000_000_000 + number()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_time_namespace_is_read_where_it_is_ours() {
        let offsets = Some("monotonic           0         0\nboottime         -864         5\n");
        let moved = Some(-864_000_000_000 + 5);
        let own = Some("time:[4026532291]");
        assert_eq!(ahead(own, own, offsets), moved);
        // The offset of children to come is not ours.
        assert_eq!(ahead(own, Some(INITIAL), offsets), None);
        assert_eq!(ahead(Some(INITIAL), own, offsets), Some(0));
        // Hidden, or of another form.
        assert_eq!(ahead(own, own, None), None);
        assert_eq!(ahead(own, own, Some("")), None);
        assert_eq!(ahead(own, own, Some("boottime x")), None);
        // No time namespaces at all.
        assert_eq!(ahead(None, None, None), Some(0));
    }

    #[test]
    fn the_boot_of_this_host_is_known() {
        let boot = HostBoot::present().unwrap();
        assert_eq!(boot.id.len(), 36);
        assert!(boot.uptime() > Duration::from_secs(1));
        assert!(boot.is_called(&boot.id) && boot.is_called(&boot.another_name()));
        assert!(!boot.is_called("x") && !boot.is_called(&format!("{}x", boot.id)));
    }
}

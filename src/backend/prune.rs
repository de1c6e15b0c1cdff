//! [`Prune`]: removing what no process has used for long.

use std::time::Duration;

use super::Bookmark;

/// What may be removed: rows, keys and nodes that no process has used for a time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prune {
    /// Used before this long ago, and not since.
    pub unused_for: Duration,
    /// The ledgers of schedules too: a schedule that starts again after this
    /// begins anew.
    pub schedules: bool,
    /// What the store kept of the call before.
    pub bookmark: Option<Bookmark>,
}

impl Prune {
    /// Mutexes that no process has used for this long. Their tokens go on rising.
    #[must_use]
    pub fn unused_for(length: Duration) -> Self {
        Self {
            unused_for: length,
            schedules: false,
            bookmark: None,
        }
    }

    /// The ledgers of schedules too.
    #[must_use]
    pub fn with_schedules(self) -> Self {
        Self {
            schedules: true,
            ..self
        }
    }
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// How many mutexes.
    pub mutexes: u64,
    /// How many ledgers of schedules.
    pub schedules: u64,
    /// There may be more: pass this to the next call.
    pub bookmark: Option<Bookmark>,
}

impl Pruned {
    /// So many mutexes and ledgers, and no more to do.
    #[must_use]
    pub fn of(mutexes: u64, schedules: u64) -> Self {
        Self {
            mutexes,
            schedules,
            bookmark: None,
        }
    }

    /// The same, and there may be more.
    #[must_use]
    pub fn to_be_continued(self, bookmark: Bookmark) -> Self {
        Self {
            bookmark: Some(bookmark),
            ..self
        }
    }
}

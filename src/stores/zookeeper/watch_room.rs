//! How much a client may watch.
//!
//! After each connection the driver tells the server all that it watches. It
//! does so in several messages when the paths are longer than 128 KiB together,
//! takes the second answer for one to nothing, and gives the connection up:
//! again and again (`zookeeper-client` 0.11, `session/watch.rs`). So no more is
//! watched than fits into one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// For the nodes of owners and the parents of runs, in bytes of their paths. Who has no watch is looked
/// at by each renewal.
const FOR_OWN: usize = 96 * 1024;

/// For all. What owners may not use is left to those who wait and observe, who
/// would learn of a change only at their next look.
const FOR_ALL: usize = 124 * 1024;

/// The bytes of the paths that are watched.
#[derive(Debug, Default)]
pub(super) struct WatchRoom(Arc<AtomicUsize>);

/// Room for one watch, until it is dropped: after the watch, not before.
#[derive(Debug)]
pub(super) struct TakenRoom {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl WatchRoom {
    /// Room for an owner to watch its own node.
    pub(super) fn for_own(&self, path: &str) -> Option<TakenRoom> {
        self.take(path.len(), FOR_OWN)
    }

    /// Room for one that waits or observes.
    pub(super) fn for_others(&self, path: &str) -> Option<TakenRoom> {
        self.take(path.len(), FOR_ALL)
    }

    fn take(&self, bytes: usize, limit: usize) -> Option<TakenRoom> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= limit);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| TakenRoom {
            all: Arc::clone(&self.0),
            bytes,
        })
    }
}

impl Drop for TakenRoom {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_leave_room_for_others_and_nobody_takes_more_than_there_is() {
        let room = WatchRoom::default();
        let path = "p".repeat(1024);
        let mut own: Vec<_> = std::iter::from_fn(|| room.for_own(&path)).collect();
        let others: Vec<_> = std::iter::from_fn(|| room.for_others(&path)).collect();
        assert_eq!((own.len(), others.len()), (96, 28));
        own.truncate(90);
        assert!(room.for_own(&path).is_none(), "others have taken it");
        assert!(room.for_others(&path).is_some());
        drop(others);
        assert!(room.for_own(&path).is_some());
    }
}

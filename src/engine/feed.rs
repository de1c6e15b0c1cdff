//! [`StatusChanges`]: what this process holds and waits for, as it changes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::broadcast;

use crate::model::{ContenderId, FencingToken, MutexName, Purpose};

/// What is kept for a reader that does not read; then the oldest goes.
const KEPT: usize = 1024;

/// How far a contender of this process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Standing {
    /// It wants to own, and does not.
    Waiting,
    /// It owns, with this token.
    Owning(FencingToken),
    /// It owned with this token, and gives back what the store may still hold.
    Leaving(FencingToken),
    /// It is gone. Only [`StatusChanges`] tells this.
    Over,
}

/// One contender of this process, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ContenderStatus {
    /// What the mutex is wanted for.
    pub purpose: Purpose,
    /// The mutex.
    pub mutex: MutexName,
    /// The contender's id.
    pub contender: ContenderId,
    /// How far it has come.
    pub standing: Standing,
    /// For how long that has been so.
    pub for_how_long: Duration,
}

/// What a coordinator does at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CoordinatorStatus {
    /// Whether nothing fails at the store at present.
    pub is_store_well: bool,
    /// What is owned and waited for, in the order in which that began. Of the
    /// tasks that wait for one lock, the first: only it asks the store.
    pub contenders: Vec<ContenderStatus>,
}

/// What a [`StatusChanges`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatusChange {
    /// A contender has come, gone on or gone.
    Contender(ContenderStatus),
    /// So many changes were not read in time: look at the
    /// [status](crate::Coordinator::status) anew.
    Missed(u64),
}

/// The changes of what this process holds and waits for, from when it was asked
/// for. See [`Coordinator::status_changes`](crate::Coordinator::status_changes).
pub struct StatusChanges {
    told: broadcast::Receiver<ContenderStatus>,
    readers: Arc<AtomicUsize>,
}

impl StatusChanges {
    /// The next change; `None` after the coordinator has gone.
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn next(&mut self) -> Option<StatusChange> {
        match self.told.recv().await {
            Ok(status) => Some(StatusChange::Contender(status)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(StatusChange::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl Drop for StatusChanges {
    fn drop(&mut self) {
        self.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for StatusChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusChanges")
            .field("unread", &self.told.len())
            .finish_non_exhaustive()
    }
}

/// Where all changes of a coordinator come together.
#[derive(Clone)]
pub(crate) struct StatusFeed {
    tell: broadcast::Sender<ContenderStatus>,
    readers: Arc<AtomicUsize>,
}

impl StatusFeed {
    pub(crate) fn new() -> Self {
        Self {
            tell: broadcast::Sender::new(KEPT),
            readers: Arc::default(),
        }
    }

    pub(crate) fn read(&self) -> StatusChanges {
        self.readers.fetch_add(1, Ordering::Relaxed);
        StatusChanges {
            told: self.tell.subscribe(),
            readers: Arc::clone(&self.readers),
        }
    }

    /// Tells `change`, which is not even made where there is no reader.
    pub(super) fn tell(&self, change: impl FnOnce() -> ContenderStatus) {
        if self.readers.load(Ordering::Relaxed) > 0 {
            // All readers may have gone since.
            let _ = self.tell.send(change());
        }
    }
}

impl fmt::Debug for StatusFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusFeed").finish_non_exhaustive()
    }
}

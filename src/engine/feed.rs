//! [`StatusChanges`]: what this process holds and waits for, as it changes.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
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
    /// The other tasks that wait for a lock, in the order of the locks' names.
    pub local_waiters: Vec<LocalWaiters>,
}

/// The tasks of this process that wait for one lock behind another of them,
/// which owns it or asks the store for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LocalWaiters {
    /// The lock.
    pub mutex: MutexName,
    /// How many they are.
    pub count: usize,
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
    /// From the first reader on: it has room for all that is kept.
    tell: Arc<OnceLock<broadcast::Sender<ContenderStatus>>>,
    readers: Arc<AtomicUsize>,
}

impl StatusFeed {
    pub(crate) fn new() -> Self {
        Self {
            tell: Arc::default(),
            readers: Arc::default(),
        }
    }

    pub(crate) fn read(&self) -> StatusChanges {
        let tell = self.tell.get_or_init(|| broadcast::Sender::new(KEPT));
        let told = tell.subscribe();
        self.readers.fetch_add(1, Ordering::Relaxed);
        StatusChanges {
            told,
            readers: Arc::clone(&self.readers),
        }
    }

    /// Tells `change`, which is not even made where there is no reader.
    pub(super) fn tell(&self, change: impl FnOnce() -> ContenderStatus) {
        if self.readers.load(Ordering::Relaxed) > 0
            && let Some(tell) = self.tell.get()
        {
            // All readers may have gone since.
            let _ = tell.send(change());
        }
    }
}

impl fmt::Debug for StatusFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusFeed").finish_non_exhaustive()
    }
}

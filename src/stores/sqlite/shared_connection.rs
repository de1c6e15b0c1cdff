//! The connection has one user at a time: the thread, or a caller who need not
//! wait.
//!
//! A statement takes ten microseconds, and the way to the thread and back
//! several times as much. So a caller does by itself what can be done at once.
//! It waits neither for the thread nor for another process. What would
//! have to wait is given to the thread.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::worker::Worker;

#[derive(Debug)]
pub(super) struct SharedConnection {
    /// `None` when the file has been closed.
    worker: Mutex<Option<Worker>>,
    /// How much the thread has been given, or wants to do, and has not done:
    /// a caller that comes now comes after that.
    ahead: AtomicUsize,
    /// Wakes the thread.
    pub(super) wake: OwnedFd,
}

impl SharedConnection {
    pub(super) fn new(worker: Worker, wake: OwnedFd) -> Self {
        Self {
            worker: Mutex::new(Some(worker)),
            ahead: AtomicUsize::new(0),
            wake,
        }
    }

    /// Does `work` here and now; `None` when it must be given to the thread.
    pub(super) fn at_once<T>(&self, work: impl FnOnce(&mut Worker) -> Option<T>) -> Option<T> {
        if self.ahead.load(Ordering::Acquire) > 0 {
            return None;
        }
        // One who panicked has left it poisoned: the thread tells of it.
        let mut worker = self.worker.try_lock().ok()?;
        work(worker.as_mut()?)
    }

    /// Something is about to be given to the thread.
    pub(super) fn announce(&self) {
        self.ahead.fetch_add(1, Ordering::AcqRel);
    }

    /// Does `work` on the thread, as soon as the caller who has the connection
    /// is done; no other comes first.
    pub(super) fn on_the_thread<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        self.announce();
        self.as_announced(work)
    }

    /// The same for what was announced when it was given to the thread.
    pub(super) fn as_announced<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        let mut worker = self.worker.lock().expect("no caller has panicked");
        let done = work(worker.as_mut().expect("only the thread closes it"));
        drop(worker);
        self.ahead.fetch_sub(1, Ordering::AcqRel);
        done
    }

    /// Closes the file.
    pub(super) fn close(&self) {
        let worker = self
            .worker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(worker);
    }
}

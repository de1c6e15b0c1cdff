//! [`ReentrantLock`], for plain threads: the thread is the holder.

use std::marker::PhantomData;
use std::thread;
use std::time::Duration;

use super::background::Background;
use super::cancel::Cancel;
use super::tenure::Tenure;
use super::wrap;
use crate::error::{LeaseLost, Result};
use crate::lock::{self, Holder};
use crate::model::{FencingToken, MutexName, Owner};

thread_local! {
    /// This thread as a holder: what it kept is given back when it ends.
    static THIS_THREAD: Holder = Holder::new(thread::current().name().unwrap_or("thread"));
}

/// This thread as a holder.
pub(super) fn this_thread() -> Holder {
    // A thread that is ending has none any more: it is another then.
    let me = THIS_THREAD.try_with(Clone::clone);
    me.unwrap_or_else(|_| Holder::new("ending"))
}

wrap::lock! {
    /// A lock that the thread that holds it may take again, as
    /// [`tenure::ReentrantLock`](crate::ReentrantLock). Cheap to clone and to give
    /// to other threads, each of which holds it for itself.
    ///
    /// ```
    /// use tenure::blocking::Coordinator;
    ///
    /// let coordinator = Coordinator::connect("memory:")?;
    /// let lock = coordinator.reentrant_lock("ledger")?;
    /// let outer = lock.acquire()?;
    /// let inner = lock.acquire()?; // the same thread: at once
    /// assert_eq!(lock.hold_count(), 2);
    /// drop(inner);
    /// outer.release()?;
    /// coordinator.close()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ReentrantLock(lock::ReentrantLock) gives ReentrantGuard,
    |lock| lock.held_by(&this_thread())
}
wrap::reentrant_lock!(ReentrantLock gives ReentrantGuard);

impl ReentrantLock {
    pub(super) fn new(inner: lock::ReentrantLock, background: &Background) -> Self {
        let background = background.clone();
        Self { inner, background }
    }
}

wrap::guard! {
    /// One hold of a [`ReentrantLock`]; dropped, it is given back in the
    /// background. It stays on its thread, whose hold it is:
    ///
    /// ```compile_fail,E0277
    /// fn is_send<T: Send>() {}
    /// is_send::<tenure::blocking::ReentrantGuard>();
    /// ```
    #[must_use = "dropping a guard gives the hold back"]
    ReentrantGuard(lock::ReentrantGuard) bound by *const (), lost as std::convert::identity
}
wrap::fenced_guard!(ReentrantGuard);
wrap::hold_guard!(ReentrantGuard of ReentrantLock);

//! [`Subject`]: whom an event is about.

use crate::model::{ContenderId, MutexName, Purpose};

/// One contention, as its events and spans name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) purpose: Purpose,
    /// The scheme of the store's URLs.
    pub(crate) store: &'static str,
    pub(crate) mutex: &'a MutexName,
    pub(crate) contender: &'a ContenderId,
}

impl Subject<'_> {
    /// Whether it is told at DEBUG what is told of others at INFO: locks come
    /// and go by the thousand.
    pub(super) fn is_quiet(&self) -> bool {
        self.purpose.is_lock()
    }
}

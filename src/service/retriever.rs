//! [`Retriever`]: hears of every change of owner.

use std::sync::Arc;

use crate::model::{MutexName, MutexState};

/// Hears who owns a mutex, without contending for it.
///
/// Its callback runs on a blocking thread, never two at a time.
pub trait Retriever: Send + Sync + 'static {
    /// The mutex it wants to hear about.
    fn mutex(&self) -> &MutexName;

    /// The owner has changed.
    fn notify_owner(&self, state: &MutexState);
}

impl<T: Retriever + ?Sized> Retriever for Arc<T> {
    fn mutex(&self) -> &MutexName {
        (**self).mutex()
    }

    fn notify_owner(&self, state: &MutexState) {
        (**self).notify_owner(state);
    }
}

//! [`Contender`]: wants to own, and hears when it does and when no more.

use std::sync::Arc;

use crate::model::{ContenderId, MutexName, MutexState};

/// Wants to own a mutex.
///
/// Its callbacks run on a blocking thread, never two at a time. The mutex is
/// given to another only after `on_released` has returned (or the lease has
/// run out): end there whatever must not run twice.
pub trait Contender: Send + Sync + 'static {
    /// The mutex it wants.
    fn mutex(&self) -> &MutexName;

    /// The id it contends under; the same at every call.
    fn contender_id(&self) -> &ContenderId;

    /// It owns the mutex from now on.
    fn on_acquired(&self, state: &MutexState);

    /// It owns the mutex no more: end what only the owner may do.
    fn on_released(&self, state: &MutexState);

    /// The owner has changed, itself or another. The default
    /// [routes](route) to the two callbacks above.
    fn notify_owner(&self, state: &MutexState) {
        route(self, state);
    }
}

/// Calls `on_acquired` or `on_released` if `state` is about `contender`.
pub fn route<C: Contender + ?Sized>(contender: &C, state: &MutexState) {
    let id = contender.contender_id();
    if state.is_acquired(id) {
        contender.on_acquired(state);
    } else if state.is_released(id) {
        contender.on_released(state);
    }
}

impl<T: Contender + ?Sized> Contender for Arc<T> {
    fn mutex(&self) -> &MutexName {
        (**self).mutex()
    }

    fn contender_id(&self) -> &ContenderId {
        (**self).contender_id()
    }

    fn on_acquired(&self, state: &MutexState) {
        (**self).on_acquired(state);
    }

    fn on_released(&self, state: &MutexState) {
        (**self).on_released(state);
    }

    fn notify_owner(&self, state: &MutexState) {
        (**self).notify_owner(state);
    }
}

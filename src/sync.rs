//! [`Mutex`]: that of the standard library, without its poison.

use std::sync::{MutexGuard, PoisonError};

/// A mutex that a panic does not spoil. What panics while it has one is a mistake
/// of ours or foreign code that is caught: it ends what it was part of, and the
/// others who share the mutex go on.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

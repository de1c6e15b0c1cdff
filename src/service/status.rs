//! [`Status`]: where in its life a service is.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};

/// Where in its life a service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Status {
    /// Not started, or stopped again.
    Initial,
    /// On its way to running.
    Starting,
    /// At work.
    Running,
    /// On its way to being stopped.
    Stopping,
}

impl Status {
    /// Whether it is starting or running.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }
}

/// A status that changes only by compare-and-set.
pub(super) struct StatusCell(AtomicU8);

impl StatusCell {
    pub(super) fn new() -> Self {
        Self(AtomicU8::new(Status::Initial as u8))
    }

    pub(super) fn get(&self) -> Status {
        match self.0.load(Ordering::Acquire) {
            0 => Status::Initial,
            1 => Status::Starting,
            2 => Status::Running,
            _ => Status::Stopping,
        }
    }

    /// From `from` to `to`.
    ///
    /// # Errors
    /// [`ErrorKind::WrongState`] when it is not `from`.
    pub(super) fn change(&self, from: Status, to: Status) -> Result<()> {
        let change =
            self.0
                .compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire);
        if change.is_ok() {
            return Ok(());
        }
        Err(Error::wrong_state(format!(
            "a service goes to {to:?} from {from:?}, and this one is {:?}",
            self.get()
        )))
    }

    pub(super) fn set(&self, to: Status) {
        self.0.store(to as u8, Ordering::Release);
    }
}

impl fmt::Debug for StatusCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

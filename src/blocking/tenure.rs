//! [`Tenure`]: a period of ownership, for plain threads.

use std::time::Duration;

use super::background::Background;
use crate::engine;
use crate::error::LeaseLost;
use crate::model::{ContenderId, FencingToken, MutexName};

/// A view of one period of ownership, as [`tenure::Tenure`](crate::Tenure).
/// Cheap to clone and to give to other threads.
#[derive(Clone, Debug)]
pub struct Tenure {
    inner: engine::Tenure,
    background: Background,
}

impl Tenure {
    pub(super) fn new(inner: engine::Tenure, background: &Background) -> Self {
        let background = background.clone();
        Self { inner, background }
    }

    /// What is owned.
    #[must_use]
    pub fn mutex(&self) -> &MutexName {
        self.inner.mutex()
    }

    /// The id that owns it.
    #[must_use]
    pub fn contender(&self) -> &ContenderId {
        self.inner.contender()
    }

    /// The fencing token, if ownership has not ended at this very moment.
    ///
    /// # Errors
    /// [`LeaseLost`] when it has ended.
    pub fn token(&self) -> Result<FencingToken, LeaseLost> {
        self.inner.token()
    }

    /// How long ownership lasts if no further renewal succeeds.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.inner.remaining()
    }

    /// Whether ownership has ended.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }

    /// Whether ownership has ended, or is to end: see
    /// [`tenure::Tenure::ending`](crate::Tenure::ending).
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.inner.is_ending()
    }

    /// Waits until the program asks for the end of ownership, or it ends, for at
    /// most `timeout`; whether that is so. While it is only asked for,
    /// [`token`](Self::token) is good: do what must be done, and return.
    #[must_use]
    pub fn wait_ending(&self, timeout: Duration) -> bool {
        let tenure = self.inner.clone();
        let waiting = async move { tenure.ending().await };
        let waited = self.background.wait_within(timeout, waiting);
        matches!(waited, Ok(Some(()))) || self.is_ending()
    }

    /// Waits until ownership ends, for at most `timeout`; `None` when it has
    /// not ended by then.
    #[must_use]
    pub fn wait_lost(&self, timeout: Duration) -> Option<LeaseLost> {
        let tenure = self.inner.clone();
        let lost = self
            .background
            .wait_within(timeout, async move { tenure.lost().await });
        // Whatever became of the wait: what counts is the tenure.
        lost.ok().flatten().or_else(|| self.inner.token().err())
    }
}

//! [`Cancel`]: ends the waiting for a lock, from another thread.

use tokio_util::sync::CancellationToken;

/// Ends the waiting of [`acquire_unless`](super::Lock::acquire_unless), which every
/// lock of this module has, from any thread. Clones are the same.
///
/// ```
/// use tenure::blocking::{Cancel, Coordinator};
///
/// let coordinator = Coordinator::connect("memory:")?;
/// let lock = coordinator.lock("ledger")?;
/// let cancel = Cancel::new();
/// cancel.cancel();
/// assert!(lock.acquire_unless(&cancel)?.is_none());
/// # coordinator.close()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(CancellationToken);

impl Cancel {
    /// One that has not been used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waiting, for good.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// What `work` returns, unless this says otherwise before.
    pub(super) async fn unless<F: Future>(&self, work: F) -> Option<F::Output> {
        self.0.run_until_cancelled(work).await
    }
}

//! Something that is done at the end of a test, however it ends.

use std::fmt;

/// Does something when it is dropped, so also when the test fails: threads of a
/// scope that wait for a word would keep the failure from being told, for ever.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use tenure_testkit::AtTheEnd;
///
/// let is_over = AtomicBool::new(false);
/// drop(AtTheEnd(|| is_over.store(true, Ordering::Relaxed)));
/// assert!(is_over.into_inner());
/// ```
#[must_use = "it is done when this is dropped"]
pub struct AtTheEnd<F: Fn()>(pub F);

impl<F: Fn()> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<F: Fn()> fmt::Debug for AtTheEnd<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtTheEnd").finish_non_exhaustive()
    }
}

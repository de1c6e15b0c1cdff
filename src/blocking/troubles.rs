//! [`Troubles`], for plain threads.

use super::background::Background;
use crate::engine::{self, Trouble};

/// What fails and is tried again, as an iterator that waits; it ends when the
/// coordinator is closed. See [`tenure::Troubles`](crate::Troubles).
///
/// ```
/// # fn main() -> tenure::Result<()> {
/// use tenure::TroubleNews;
/// use tenure::blocking::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:")?;
/// let troubles = coordinator.troubles();
/// let told = std::thread::spawn(move || {
///     for trouble in troubles {
///         if let TroubleNews::Failed(error) = trouble.news {
///             eprintln!("{}: {error}", trouble.mutex);
///         }
///     }
/// });
/// coordinator.close()?;
/// told.join().unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Troubles {
    inner: Option<engine::Troubles>,
    background: Background,
}

impl Troubles {
    pub(super) fn new(inner: engine::Troubles, background: &Background) -> Self {
        Self {
            inner: Some(inner),
            background: background.clone(),
        }
    }
}

impl Iterator for Troubles {
    type Item = Trouble;

    fn next(&mut self) -> Option<Trouble> {
        self.background.next(&mut self.inner)
    }
}

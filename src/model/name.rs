//! [`MutexName`]: what is being owned.

use std::sync::Arc;

use super::text;
use crate::error::{Error, Result};

/// The name of a mutex: what a lock, a leader or a schedule is about.
///
/// At most 66 bytes (the width of the shared SQL column), no control
/// characters, no white space at either end, and not beginning with `}`
/// (Redis Cluster would see an empty hash tag and scatter the mutex's keys).
/// Names are compared byte by byte on every store.
///
/// ```
/// use tenure::model::MutexName;
///
/// assert_eq!(MutexName::new("order-settlement")?.as_str(), "order-settlement");
/// let error = MutexName::new(" padded").unwrap_err();
/// assert!(error.to_string().contains("white space"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MutexName(Arc<str>);

impl MutexName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 66;

    /// Checks and keeps `name`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), with the rule that was broken.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        text::check("mutex name", name, Self::MAX_BYTES)?;
        if name.starts_with('}') {
            return Err(Error::invalid(format!(
                "a mutex name must not begin with '}}': {name:?}"
            )));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text::text_value!(MutexName);

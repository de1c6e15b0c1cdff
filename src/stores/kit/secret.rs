//! [`Secret`]: text that is never shown.

use std::fmt;

/// Text that no message, log or `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::stores) struct Secret(String);

impl Secret {
    pub(in crate::stores) fn new(text: String) -> Self {
        Self(text)
    }

    /// Only for the call that needs it.
    pub(in crate::stores) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

//! What went wrong with a server.

use std::fmt;
use std::io;

use super::find::Missing;

/// A server that could not be started, stopped or asked, in words for the reader of the test's
/// output: the end of the server's log is part of them.
#[derive(Clone)]
pub struct ServerError(String);

impl ServerError {
    /// An error in these words.
    pub fn new(message: impl Into<String>) -> Self {
        ServerError(message.into())
    }

    /// Says what was being done when a system call failed.
    pub(super) fn doing(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| ServerError(format!("{what}: {error}"))
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// A test that unwraps must show the log with its line breaks.
impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

impl From<Missing> for ServerError {
    fn from(missing: Missing) -> Self {
        ServerError(missing.to_string())
    }
}

impl From<io::Error> for ServerError {
    fn from(error: io::Error) -> Self {
        ServerError(error.to_string())
    }
}

//! [`Origin`]: what a connection is made with, asked for anew every time.

use crate::error::{Error, Result};
use crate::stores::kit::Source;

/// What every connection is made with: the URL's place or the application's own options, and the
/// password of the moment.
pub(in crate::stores) struct Origin<O> {
    options: Source<O>,
    password: Option<Source<String>>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(in crate::stores) enum NotConnected {
    /// It was not tried: the application had not what it takes, or what must not be used.
    Before(Error),
    /// The driver's word.
    Driver(sqlx::Error),
}

impl From<Error> for NotConnected {
    fn from(error: Error) -> Self {
        Self::Before(error)
    }
}

impl From<sqlx::Error> for NotConnected {
    fn from(error: sqlx::Error) -> Self {
        Self::Driver(error)
    }
}

impl std::fmt::Display for NotConnected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Before(error) => error.fmt(f),
            Self::Driver(error) => error.fmt(f),
        }
    }
}

impl<O: Send + 'static> Origin<O> {
    pub(in crate::stores) fn new(options: Source<O>, password: Option<Source<String>>) -> Self {
        Self { options, password }
    }

    /// The present options, with the present password.
    ///
    /// # Errors
    /// What the application fails with.
    pub(in crate::stores) async fn options(
        &self,
        with_password: impl FnOnce(O, &str) -> O,
    ) -> Result<O> {
        let options = self.options.ask("connection options").await?;
        let Some(password) = &self.password else {
            return Ok(options);
        };
        let password = password.ask("password").await?;
        Ok(with_password(options, &password))
    }
}

//! [`Source`]: a value of the application's that may change, asked for when it is needed.

use std::pin::Pin;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Outcome, Result};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Answering<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// A value that the application is asked for, anew every time.
pub(in crate::stores) struct Source<T>(Arc<dyn Fn() -> Answering<T> + Send + Sync>);

impl<T> Clone for Source<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> Source<T> {
    pub(in crate::stores) fn new<F, A, E>(ask: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(move || {
            let asked = ask();
            Box::pin(async move { asked.await.map_err(Into::into) })
        }))
    }

    /// What is there without being asked for.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(in crate::stores) fn ready(value: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self::new(move || std::future::ready(Ok::<T, BoxError>(value())))
    }

    /// The present value; `what` it is, for the message.
    ///
    /// # Errors
    /// [`Unreachable`](ErrorKind::Unreachable): without it nothing was connected to, and the next
    /// attempt asks again.
    pub(in crate::stores) async fn ask(&self, what: &str) -> Result<T> {
        (self.0)().await.map_err(|error| {
            Error::new(ErrorKind::Unreachable, Outcome::DidNot)
                .with_message(format!("the application has no {what}: {error}"))
        })
    }
}

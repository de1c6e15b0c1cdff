//! [`Closing`]: whether a client has been closed.

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Whether a client of a store has been closed. Once closed, it stays so; clones
/// are of the same client.
#[derive(Clone, Debug)]
pub(in crate::stores) struct Closing {
    /// What is closed, at the beginning of a sentence.
    client: &'static str,
    token: CancellationToken,
}

// Each store uses a part of it.
#[cfg_attr(not(feature = "full"), allow(dead_code))]
impl Closing {
    /// Of a `client` that is open.
    pub(in crate::stores) fn of(client: &'static str) -> Self {
        let token = CancellationToken::new();
        Self { client, token }
    }

    pub(in crate::stores) fn close(&self) {
        self.token.cancel();
    }

    pub(in crate::stores) fn is_closed(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Fails when it has been closed.
    pub(in crate::stores) fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(self.error()),
            false => Ok(()),
        }
    }

    /// What a caller hears who comes after the close.
    pub(in crate::stores) fn error(&self) -> Error {
        Error::closed(self.client)
    }

    /// Returns when it is closed.
    pub(in crate::stores) async fn closed(&self) {
        self.token.cancelled().await;
    }

    /// What `work` returns; `None` when the client is closed before that.
    pub(in crate::stores) async fn unless_closed<F: Future>(&self, work: F) -> Option<F::Output> {
        self.token.run_until_cancelled(work).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[tokio::test]
    async fn what_is_closed_stays_closed_for_all_clones() {
        let one = Closing::of("this client");
        let other = one.clone();
        assert!(one.check_open().is_ok());
        assert_eq!(one.unless_closed(async { 7 }).await, Some(7));
        other.close();
        let error = one.check_open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(error.to_string().contains("this client has been closed"));
        let never = std::future::pending::<()>();
        assert_eq!(one.unless_closed(never).await, None);
    }
}

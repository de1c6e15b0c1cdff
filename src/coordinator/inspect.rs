//! What a person asks a store: who owns what, is it well, free that one.

use super::Coordinator;
use crate::backend::{Answer, Backend, Finding, Listing, Page, Profile};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, LeaseTerms, MutexName};

impl Coordinator {
    /// The mutexes of the store, also those of others, a page at a time in the
    /// order of their names.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::Coordinator;
    /// use tenure::backend::Page;
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let guard = coordinator.lock("nightly-report")?.acquire().await?;
    /// let mut page = Page::first(100);
    /// loop {
    ///     let listing = coordinator.list(&page).await?;
    ///     for entry in &listing.entries {
    ///         println!("{}: {:?}", entry.name, entry.owner.remaining(listing.now));
    ///     }
    ///     let Some(last) = listing.next else { break };
    ///     page = Page::first(100).after(last);
    /// }
    /// # drop(guard);
    /// # coordinator.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn list(&self, page: &Page) -> Result<Listing> {
        self.ask(self.engine.backend().list(page)).await?
    }

    /// Who owns `name`, by the store's present word and time.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a name that is not valid; when the
    /// store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn owner(&self, name: impl AsRef<str>) -> Result<Answer> {
        self.engine.open()?;
        let name = MutexName::new(name)?;
        let answer = self.engine.look(&name).await;
        answer.map_err(|error| error.with_mutex(&name))
    }

    /// Frees `name` by force, whoever owns it; with a token, only if the grant
    /// with that token still owns it. The answer is *won* when this call freed
    /// it.
    ///
    /// The owner is not asked and learns of it at its next renewal: until then
    /// there may be two who believe to own. Only their tokens tell them apart.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a name that is not valid; when the
    /// store does not answer, or with an error.
    ///
    /// # Cancel safety
    /// Dropped, it may still be carried out.
    pub async fn revoke(
        &self,
        name: impl AsRef<str>,
        token: Option<FencingToken>,
    ) -> Result<Answer> {
        let name = MutexName::new(name)?;
        let answer = self.ask(self.engine.backend().revoke(&name, token)).await;
        answer
            .and_then(std::convert::identity)
            .map_err(|error| error.with_mutex(&name))
    }

    /// What a person should know about the health and set-up of the store.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) after [`close`](Self::close),
    /// [`Timeout`](ErrorKind::Timeout) when the store does not answer.
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn check(&self) -> Result<Vec<Finding>> {
        self.ask(self.engine.backend().check()).await
    }

    /// How the store behaves.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.engine.backend().profile()
    }

    /// The lease terms in force, unless a lock has its own.
    #[must_use]
    pub fn terms(&self) -> LeaseTerms {
        self.engine.terms()
    }

    /// What `call` answers, within the usual time of a call.
    async fn ask<T>(&self, call: impl Future<Output = T>) -> Result<T> {
        self.engine.open()?;
        let limit = self.engine.terms().call_timeout();
        let clock = self.engine.clock();
        let answer = clock.limit(clock.now() + limit, call).await;
        answer.ok_or_else(|| {
            Error::new(ErrorKind::Timeout, Outcome::MayHave)
                .with_message(format!("the store did not answer within {limit:?}"))
        })
    }
}

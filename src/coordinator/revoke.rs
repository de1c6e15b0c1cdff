//! Freeing a mutex by force, and [`Revocation`]: what came of it.

use super::Coordinator;
use crate::backend::{Administration, Answer};
use crate::error::Result;
use crate::model::{FencingToken, MutexName, Owner};

/// What a revocation did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revocation {
    /// It was freed. The one who was seen to own just before, where there was
    /// one: not of a damaged mutex, and another may have come in between.
    Freed(Option<Owner>),
    /// Nothing was done: it was free.
    NobodyOwned,
    /// Nothing was done: this one owns, with another token.
    OwnedByAnother(Owner),
}

impl Revocation {
    /// Whether it was freed.
    #[must_use]
    pub fn is_freed(&self) -> bool {
        matches!(self, Self::Freed(_))
    }

    /// Of what was done to `owner`, by the store's word.
    fn told(answer: &Answer, owner: Option<Owner>) -> Self {
        match answer.present_owner() {
            _ if answer.is_won() => Self::Freed(owner),
            Some(other) => Self::OwnedByAnother(other),
            None => Self::NobodyOwned,
        }
    }
}

impl Coordinator {
    /// Frees `name` by force, from any owner; with a token, only if the grant
    /// with that token still owns it.
    ///
    /// The owner is not asked and learns of it at its next renewal: until then
    /// there may be two who believe to own. Only their tokens tell them apart.
    /// An owner of another kind may never learn of it: see
    /// [`Entry::owner_goes_on`](crate::backend::Entry::owner_goes_on).
    ///
    /// A damaged mutex, as [`list`](Self::list) tells of it, is mended by a
    /// revocation without a token: what cannot be made out is removed. Its name
    /// may be one that no contender here can have.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> tenure::Result<()> {
    /// use tenure::{Coordinator, Revocation};
    ///
    /// let coordinator = Coordinator::connect("memory:").await?;
    /// let guard = coordinator.lock("nightly-report")?.acquire().await?;
    /// match coordinator.revoke("nightly-report", None).await? {
    ///     Revocation::Freed(owner) => assert_eq!(owner.unwrap().token(), guard.token().ok()),
    ///     other => unreachable!("{other:?}"),
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
    /// Dropped, it may still be carried out.
    pub async fn revoke(
        &self,
        name: impl AsRef<str>,
        token: Option<FencingToken>,
    ) -> Result<Revocation> {
        self.revoke_found(&MutexName::found(name.as_ref()), token)
            .await
    }

    /// The same, of a name as a listing tells it: also one whose bytes are no
    /// text.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke).
    ///
    /// # Cancel safety
    /// Dropped, it may still be carried out.
    pub async fn revoke_found(
        &self,
        name: &MutexName,
        token: Option<FencingToken>,
    ) -> Result<Revocation> {
        self.engine.check_open()?;
        // A look says whom it hits, and no more: what cannot be looked at is
        // damaged, and can be freed all the same. Bytes that are no text would
        // be looked for as the text that shows them, another mutex's name.
        let seen = match name.is_text() {
            true => self.engine.look(name).await.ok(),
            false => None,
        };
        let seen = seen.and_then(|answer| answer.present_owner());
        // Without a token as it was asked for: only then a store mends.
        let answer = self.force(name, token).await?;
        let is_it = |owner: &Owner| token.is_none_or(|token| owner.has_grant_of(token));
        Ok(Revocation::told(&answer, seen.filter(is_it)))
    }

    async fn force(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        let backend = self.engine.backend();
        let revoking = async { backend.needed_administration()?.revoke(name, token).await };
        let answer = self.ask(1, revoking).await;
        answer.map_err(|error| error.with_mutex(name))
    }
}

//! [`AnyBackend`]: a backend whose type has been forgotten.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::{
    Answer, AnyHoldStore, Backend, Bid, Claim, ClaimAnswer, Finding, Held, Hints, Interest,
    LedgerEntry, Ledgers, Listing, Page, Profile, Prune, Pruned, TickEnd,
};
use crate::error::Result;
use crate::model::{FencingToken, MutexName};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a URL opens and what wrappers wrap: any backend, cheap to clone.
///
/// ```
/// use tenure::backend::{AnyBackend, Backend};
/// use tenure::stores::memory::Memory;
///
/// let any = AnyBackend::new(Memory::new());
/// assert_eq!(any.profile().scheme, "memory");
/// ```
#[derive(Clone)]
pub struct AnyBackend(Arc<dyn Erased>, Option<Arc<AnyHoldStore>>);

impl AnyBackend {
    /// Forgets the type of `backend`.
    pub fn new(backend: impl Backend) -> Self {
        Self(Arc::new(backend), None)
    }

    /// The same, whose reentrant locks lie in `holds`.
    #[must_use]
    pub fn with_holds(self, holds: AnyHoldStore) -> Self {
        Self(self.0, Some(Arc::new(holds)))
    }

    /// Where its reentrant locks lie, if they have a layout of their own.
    #[must_use]
    pub fn holds(&self) -> Option<&AnyHoldStore> {
        self.1.as_deref()
    }
}

impl fmt::Debug for AnyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// [`Backend`] with boxed futures, which a trait object can have.
trait Erased: fmt::Debug + Send + Sync {
    fn profile(&self) -> Profile;
    fn acquire<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<Answer>>;
    fn renew<'a>(&'a self, held: &'a [Held]) -> Boxed<'a, Vec<Result<Answer>>>;
    fn release<'a>(&'a self, held: &'a Held) -> Boxed<'a, Result<Answer>>;
    fn leave<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<()>>;
    fn owner<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Answer>>;
    fn changes(&self, interest: &Interest) -> Hints;
    fn list<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Listing>>;
    fn revoke<'a>(
        &'a self,
        name: &'a MutexName,
        token: Option<FencingToken>,
    ) -> Boxed<'a, Result<Answer>>;
    fn prune<'a>(&'a self, prune: &'a Prune) -> Boxed<'a, Result<Pruned>>;
    fn check(&self) -> Boxed<'_, Vec<Finding>>;
    fn read_ledger<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Option<LedgerEntry>>>;
    fn list_ledgers<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Ledgers>>;
    fn claim_tick<'a>(&'a self, held: &'a Held, claim: &'a Claim)
    -> Boxed<'a, Result<ClaimAnswer>>;
    fn finish_tick<'a>(&'a self, held: &'a Held, end: &'a TickEnd) -> Boxed<'a, Result<bool>>;
    fn close(&self) -> Boxed<'_, Result<()>>;
}

impl<B: Backend> Erased for B {
    fn profile(&self) -> Profile {
        Backend::profile(self)
    }
    fn acquire<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<Answer>> {
        Box::pin(Backend::acquire(self, bid))
    }
    fn renew<'a>(&'a self, held: &'a [Held]) -> Boxed<'a, Vec<Result<Answer>>> {
        Box::pin(Backend::renew(self, held))
    }
    fn release<'a>(&'a self, held: &'a Held) -> Boxed<'a, Result<Answer>> {
        Box::pin(Backend::release(self, held))
    }
    fn leave<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<()>> {
        Box::pin(Backend::leave(self, bid))
    }
    fn owner<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Answer>> {
        Box::pin(Backend::owner(self, name))
    }
    fn changes(&self, interest: &Interest) -> Hints {
        Backend::changes(self, interest)
    }
    fn list<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Listing>> {
        Box::pin(Backend::list(self, page))
    }
    fn revoke<'a>(
        &'a self,
        name: &'a MutexName,
        token: Option<FencingToken>,
    ) -> Boxed<'a, Result<Answer>> {
        Box::pin(Backend::revoke(self, name, token))
    }
    fn prune<'a>(&'a self, prune: &'a Prune) -> Boxed<'a, Result<Pruned>> {
        Box::pin(Backend::prune(self, prune))
    }
    fn check(&self) -> Boxed<'_, Vec<Finding>> {
        Box::pin(Backend::check(self))
    }
    fn read_ledger<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Option<LedgerEntry>>> {
        Box::pin(Backend::read_ledger(self, name))
    }
    fn list_ledgers<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Ledgers>> {
        Box::pin(Backend::list_ledgers(self, page))
    }
    fn claim_tick<'a>(
        &'a self,
        held: &'a Held,
        claim: &'a Claim,
    ) -> Boxed<'a, Result<ClaimAnswer>> {
        Box::pin(Backend::claim_tick(self, held, claim))
    }
    fn finish_tick<'a>(&'a self, held: &'a Held, end: &'a TickEnd) -> Boxed<'a, Result<bool>> {
        Box::pin(Backend::finish_tick(self, held, end))
    }
    fn close(&self) -> Boxed<'_, Result<()>> {
        Box::pin(Backend::close(self))
    }
}

impl Backend for AnyBackend {
    fn profile(&self) -> Profile {
        self.0.profile()
    }
    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.0.acquire(bid).await
    }
    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.0.renew(held).await
    }
    async fn release(&self, held: &Held) -> Result<Answer> {
        self.0.release(held).await
    }
    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.0.leave(bid).await
    }
    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.0.owner(name).await
    }
    fn changes(&self, interest: &Interest) -> Hints {
        self.0.changes(interest)
    }
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.0.list(page).await
    }
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.0.revoke(name, token).await
    }
    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.0.prune(prune).await
    }
    async fn check(&self) -> Vec<Finding> {
        self.0.check().await
    }
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.0.read_ledger(name).await
    }
    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.0.list_ledgers(page).await
    }
    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.0.claim_tick(held, claim).await
    }
    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.0.finish_tick(held, end).await
    }
    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}

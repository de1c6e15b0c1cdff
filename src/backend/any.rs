//! [`AnyBackend`]: a backend whose type has been forgotten.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::traced::{Boxed, boxed, span};
use super::{
    Answer, AnyAdministration, AnyHoldStore, AnyInventory, AnyLedger, Backend, Bid, Held, Hints,
    Interest, Profile,
};
use crate::error::{Error, Result};
use crate::model::{FencingToken, MutexName};

/// What a URL opens and what a coordinator stands on: any backend, cheap to
/// clone. Each call costs one box, and runs in a `tracing` span of level DEBUG,
/// target `tenure::store`.
///
/// ```
/// use tenure::backend::{AnyBackend, Backend};
/// use tenure::stores::memory::Memory;
///
/// let any = AnyBackend::new(Memory::new());
/// assert_eq!(any.profile().scheme, "memory");
/// assert!(any.ledger().is_some());
/// ```
#[derive(Clone)]
pub struct AnyBackend(Arc<dyn Erased>, Option<Arc<AnyHoldStore>>);

impl AnyBackend {
    /// Forgets the type of `backend`. One that is forgotten already stays as it
    /// is: its calls are boxed and traced once.
    pub fn new(backend: impl Backend) -> Self {
        match (&backend as &dyn Any).downcast_ref::<Self>() {
            Some(any) => any.clone(),
            None => Self(Arc::new(backend), None),
        }
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

    /// Its ledger, for callers that cannot do without.
    pub(crate) fn needed_ledger(&self) -> Result<AnyLedger<'_>> {
        self.0
            .ledger()
            .ok_or_else(|| self.lacks("keeps no ledger of schedules"))
    }

    /// Its inventory, for callers that cannot do without.
    pub(crate) fn needed_inventory(&self) -> Result<AnyInventory<'_>> {
        self.0.inventory().ok_or_else(|| {
            self.lacks("cannot tell its mutexes from other data, and so not list or prune them")
        })
    }

    /// Its administration, for callers that cannot do without.
    pub(crate) fn needed_administration(&self) -> Result<AnyAdministration<'_>> {
        self.0.administration().ok_or_else(|| {
            self.lacks("has no administration: nothing can be revoked or checked in it")
        })
    }

    /// [`acquire`](Backend::acquire) as a value that borrows nothing: the
    /// one that has it can go on with it.
    pub(crate) fn begin_acquire(&self, bid: Arc<Bid>) -> Boxed<'static, Result<Answer>> {
        Arc::clone(&self.0).begin_acquire(bid)
    }

    /// [`release`](Backend::release) as a value.
    pub(crate) fn begin_release(
        &self,
        bid: Arc<Bid>,
        token: FencingToken,
        is_last: bool,
    ) -> Boxed<'static, Result<Answer>> {
        Arc::clone(&self.0).begin_release(bid, token, is_last)
    }

    /// [`leave`](Backend::leave) as a value.
    pub(crate) fn begin_leave(&self, bid: Arc<Bid>) -> Boxed<'static, Result<()>> {
        Arc::clone(&self.0).begin_leave(bid)
    }

    fn lacks(&self, what: &str) -> Error {
        Error::invalid(format!("the store {:?} {what}", self.0.profile().scheme))
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
    fn begin_acquire(self: Arc<Self>, bid: Arc<Bid>) -> Boxed<'static, Result<Answer>>;
    fn begin_release(
        self: Arc<Self>,
        bid: Arc<Bid>,
        token: FencingToken,
        is_last: bool,
    ) -> Boxed<'static, Result<Answer>>;
    fn begin_leave(self: Arc<Self>, bid: Arc<Bid>) -> Boxed<'static, Result<()>>;
    fn owner<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Answer>>;
    fn changes(&self, interest: &Interest) -> Hints;
    fn close(&self) -> Boxed<'_, Result<()>>;
    fn ledger(&self) -> Option<AnyLedger<'_>>;
    fn inventory(&self) -> Option<AnyInventory<'_>>;
    fn administration(&self) -> Option<AnyAdministration<'_>>;
}

impl<B: Backend> Erased for B {
    fn profile(&self) -> Profile {
        Backend::profile(self)
    }
    fn acquire<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<Answer>> {
        let span = span!("acquire", mutex = bid.name, contender = bid.contender);
        boxed(span, Backend::acquire(self, bid))
    }
    fn renew<'a>(&'a self, held: &'a [Held]) -> Boxed<'a, Vec<Result<Answer>>> {
        let span = span!("renew", count = held.len());
        boxed(span, Backend::renew(self, held))
    }
    fn release<'a>(&'a self, held: &'a Held) -> Boxed<'a, Result<Answer>> {
        let span = span!("release", mutex = held.name, token = held.token);
        boxed(span, Backend::release(self, held))
    }
    fn leave<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<()>> {
        let span = span!("leave", mutex = bid.name, contender = bid.contender);
        boxed(span, Backend::leave(self, bid))
    }
    fn begin_acquire(self: Arc<Self>, bid: Arc<Bid>) -> Boxed<'static, Result<Answer>> {
        let span = span!("acquire", mutex = bid.name, contender = bid.contender);
        boxed(span, async move { Backend::acquire(&*self, &bid).await })
    }
    fn begin_release(
        self: Arc<Self>,
        bid: Arc<Bid>,
        token: FencingToken,
        is_last: bool,
    ) -> Boxed<'static, Result<Answer>> {
        let span = span!("release", mutex = bid.name, token = token);
        let held = Held {
            is_last,
            ..bid.held(token)
        };
        boxed(span, async move { Backend::release(&*self, &held).await })
    }
    fn begin_leave(self: Arc<Self>, bid: Arc<Bid>) -> Boxed<'static, Result<()>> {
        let span = span!("leave", mutex = bid.name, contender = bid.contender);
        boxed(span, async move { Backend::leave(&*self, &bid).await })
    }
    fn owner<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Answer>> {
        boxed(span!("owner", mutex = name), Backend::owner(self, name))
    }
    fn changes(&self, interest: &Interest) -> Hints {
        Backend::changes(self, interest)
    }
    fn close(&self) -> Boxed<'_, Result<()>> {
        boxed(span!("close"), Backend::close(self))
    }
    fn ledger(&self) -> Option<AnyLedger<'_>> {
        Backend::ledger(self)
    }
    fn inventory(&self) -> Option<AnyInventory<'_>> {
        Backend::inventory(self)
    }
    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Backend::administration(self)
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
    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
    fn ledger(&self) -> Option<AnyLedger<'_>> {
        self.0.ledger()
    }
    fn inventory(&self) -> Option<AnyInventory<'_>> {
        self.0.inventory()
    }
    fn administration(&self) -> Option<AnyAdministration<'_>> {
        self.0.administration()
    }
}

//! [`HoldStore`]: locks that their holder may take more than once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::traced::{Boxed, boxed, span};
use super::{
    Administration, Answer, AnyAdministration, AnyBackend, AnyHoldServer, Backend, Bid, Held,
};
use crate::error::Result;
use crate::model::{FencingToken, MutexName, Purpose};

/// A [`Backend`] that keeps, beside its holder, how often a lock is held: the
/// layout that Bedrock and Redisson share. Reentrancy itself is counted in the
/// process; the store only shows the count.
pub trait HoldStore: Backend + Administration {
    /// As [`acquire`](Backend::acquire), and how long the server that answered
    /// has been up: one that has just restarted may have forgotten a holder.
    /// It never waits for a wake-up's subscription to stand; the
    /// listener is told to look again when it does.
    fn take(&self, bid: &Bid) -> impl Future<Output = Result<(Answer, Duration)>> + Send;

    /// Writes how often `held` is held, and extends it; false when it is not
    /// held any more. Never takes.
    fn record(&self, held: &Held, count: u32) -> impl Future<Output = Result<bool>> + Send;

    /// Whether the store answers at all.
    fn ping(&self) -> impl Future<Output = Result<()>> + Send;

    /// As [`leave`](Backend::leave), of a bid with an id of its own, and wakes
    /// no waiter: no user relied on what ends, and each waiter waits for another.
    fn undo(&self, bid: &Bid) -> impl Future<Output = Result<()>> + Send;

    /// The one server on which its locks lie, if it is one.
    fn server(&self) -> Option<AnyHoldServer<'_>> {
        None
    }
}

/// A reentrant lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hold {
    /// Its name.
    pub name: MutexName,
    /// Who holds it.
    pub holder: Box<str>,
    /// How often.
    pub count: u64,
    /// For how long, if nothing is renewed.
    pub left: Duration,
    /// The last grant's token, where there is one.
    pub token: Option<FencingToken>,
    /// What its holder says that it is: a reentrant lock, or a combination
    /// lock's part on this server. Unknown of Redisson's and of those of earlier
    /// versions.
    pub purpose: Option<Purpose>,
}

/// Any [`HoldStore`], its type forgotten; cheap to clone.
#[derive(Clone)]
pub struct AnyHoldStore {
    backend: AnyBackend,
    holds: Arc<dyn Erased>,
}

impl AnyHoldStore {
    /// Forgets the type of `store`, whose clones are the same store.
    pub fn new(store: impl HoldStore + Clone) -> Self {
        Self {
            backend: AnyBackend::new(store.clone()),
            holds: Arc::new(store),
        }
    }

    /// The store as a backend.
    #[must_use]
    pub fn backend(&self) -> &AnyBackend {
        &self.backend
    }

    /// What a person may do to it and ask of it.
    #[must_use]
    pub fn administration(&self) -> AnyAdministration<'_> {
        self.holds.administration()
    }

    /// As [`HoldStore::take`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// Dropped, the bid may have won: [`leave`](Backend::leave) undoes it.
    pub async fn take(&self, bid: &Bid) -> Result<(Answer, Duration)> {
        self.holds.take(bid).await
    }

    /// As [`HoldStore::record`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// Dropped, the count may have been written.
    pub async fn record(&self, held: &Held, count: u32) -> Result<bool> {
        self.holds.record(held, count).await
    }

    /// As [`HoldStore::ping`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn ping(&self) -> Result<()> {
        self.holds.ping().await
    }

    /// As [`HoldStore::undo`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// Dropped, it may have been undone.
    pub async fn undo(&self, bid: &Bid) -> Result<()> {
        self.holds.undo(bid).await
    }

    /// As [`HoldStore::server`].
    #[must_use]
    pub fn server(&self) -> Option<AnyHoldServer<'_>> {
        self.holds.server()
    }
}

impl fmt::Debug for AnyHoldStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.backend.fmt(f)
    }
}

/// [`HoldStore`] with boxed futures, which a trait object can have.
trait Erased: Send + Sync {
    fn take<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<(Answer, Duration)>>;
    fn record<'a>(&'a self, held: &'a Held, count: u32) -> Boxed<'a, Result<bool>>;
    fn ping(&self) -> Boxed<'_, Result<()>>;
    fn undo<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<()>>;
    fn server(&self) -> Option<AnyHoldServer<'_>>;
    fn administration(&self) -> AnyAdministration<'_>;
}

impl<H: HoldStore> Erased for H {
    fn take<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<(Answer, Duration)>> {
        let span = span!("take", mutex = bid.name, contender = bid.contender);
        boxed(span, HoldStore::take(self, bid))
    }
    fn record<'a>(&'a self, held: &'a Held, count: u32) -> Boxed<'a, Result<bool>> {
        let span = span!("record", mutex = held.name, token = held.token);
        boxed(span, HoldStore::record(self, held, count))
    }
    fn ping(&self) -> Boxed<'_, Result<()>> {
        boxed(span!("ping"), HoldStore::ping(self))
    }
    fn undo<'a>(&'a self, bid: &'a Bid) -> Boxed<'a, Result<()>> {
        let span = span!("undo", mutex = bid.name, contender = bid.contender);
        boxed(span, HoldStore::undo(self, bid))
    }
    fn server(&self) -> Option<AnyHoldServer<'_>> {
        HoldStore::server(self)
    }
    fn administration(&self) -> AnyAdministration<'_> {
        AnyAdministration::new(self)
    }
}

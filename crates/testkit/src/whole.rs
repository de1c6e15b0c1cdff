//! [`Whole`]: a store that has everything, as a test asks it.

use tenure::Result;
use tenure::backend::{
    Administration, Answer, Backend, Claim, ClaimAnswer, Finding, Held, Inventory, Ledger,
    LedgerEntry, Ledgers, Listing, Page, Prune, Pruned, TickEnd,
};
use tenure::model::{FencingToken, MutexName};

/// The calls of all parts of a store at once, on any backend. One that lacks
/// the part panics: the test has asked the wrong store.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::backend::{AnyBackend, Page};
/// use tenure::stores::memory::Memory;
/// use tenure_testkit::Whole as _;
///
/// let store = AnyBackend::new(Memory::new());
/// assert!(store.list(&Page::first(10)).await?.entries.is_empty());
/// # Ok(())
/// # }
/// ```
pub trait Whole: Backend {
    /// As [`Inventory::list`].
    fn list(&self, page: &Page) -> impl Future<Output = Result<Listing>> + Send {
        async { inventory(self).list(page).await }
    }

    /// As [`Inventory::prune`].
    fn prune(&self, prune: &Prune) -> impl Future<Output = Result<Pruned>> + Send {
        async { inventory(self).prune(prune).await }
    }

    /// As [`Administration::revoke`].
    fn revoke(
        &self,
        name: &MutexName,
        token: Option<FencingToken>,
    ) -> impl Future<Output = Result<Answer>> + Send {
        async move { administration(self).revoke(name, token).await }
    }

    /// As [`Administration::check`].
    fn check(&self) -> impl Future<Output = Vec<Finding>> + Send {
        async { administration(self).check().await }
    }

    /// As [`Ledger::read_ledger`].
    fn read_ledger(
        &self,
        name: &MutexName,
    ) -> impl Future<Output = Result<Option<LedgerEntry>>> + Send {
        async { ledger(self).read_ledger(name).await }
    }

    /// As [`Ledger::list_ledgers`].
    fn list_ledgers(&self, page: &Page) -> impl Future<Output = Result<Ledgers>> + Send {
        async { ledger(self).list_ledgers(page).await }
    }

    /// As [`Ledger::claim_tick`].
    fn claim_tick(
        &self,
        held: &Held,
        claim: &Claim,
    ) -> impl Future<Output = Result<ClaimAnswer>> + Send {
        async { ledger(self).claim_tick(held, claim).await }
    }

    /// As [`Ledger::finish_tick`].
    fn finish_tick(&self, held: &Held, end: &TickEnd) -> impl Future<Output = Result<bool>> + Send {
        async { ledger(self).finish_tick(held, end).await }
    }
}

impl<B: Backend> Whole for B {}

fn inventory<B: Backend + ?Sized>(store: &B) -> tenure::backend::AnyInventory<'_> {
    store.inventory().expect("the store has an inventory")
}

fn administration<B: Backend + ?Sized>(store: &B) -> tenure::backend::AnyAdministration<'_> {
    let administration = store.administration();
    administration.expect("the store has an administration")
}

fn ledger<B: Backend + ?Sized>(store: &B) -> tenure::backend::AnyLedger<'_> {
    store.ledger().expect("the store has a ledger")
}

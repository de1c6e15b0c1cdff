//! A backend whose process dies at a given step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure::Result;
use tenure::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use tenure::model::{FencingToken, MutexName};
use tenure_testkit::Whole as _;
use tokio::sync::watch;

/// When a process dies. Every call to the store has two steps, before and
/// after the store has done it; a job may have steps of its own.
#[derive(Clone, Debug)]
pub(crate) struct Fate(Arc<Steps>);

#[derive(Debug)]
struct Steps {
    steps: AtomicU64,
    dies_at: u64,
    dead: watch::Sender<bool>,
}

impl Fate {
    pub(crate) fn immortal() -> Self {
        Self::dying_at(u64::MAX)
    }

    /// It does not come beyond this step.
    pub(crate) fn dying_at(dies_at: u64) -> Self {
        Self(Arc::new(Steps {
            steps: AtomicU64::new(0),
            dies_at,
            dead: watch::Sender::new(false),
        }))
    }

    /// Never returns in a process that is dead, or dies here.
    pub(crate) async fn step(&self) {
        if self.0.steps.fetch_add(1, Ordering::SeqCst) >= self.0.dies_at {
            self.kill();
        }
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn kill(&self) {
        self.0.dead.send_replace(true);
    }

    pub(crate) fn is_dead(&self) -> bool {
        *self.0.dead.borrow()
    }

    /// Returns when it has died.
    pub(crate) async fn died(&self) {
        let mut dead = self.0.dead.subscribe();
        dead.wait_for(|dead| *dead).await.unwrap();
    }
}

#[derive(Debug)]
pub(crate) struct Mortal<B> {
    inner: B,
    fate: Fate,
    has_ledger: bool,
}

impl<B: Backend> Mortal<B> {
    pub(crate) fn new(inner: B, fate: &Fate) -> Self {
        let fate = fate.clone();
        Self {
            inner,
            fate,
            has_ledger: true,
        }
    }

    /// The same, which keeps no ledger.
    pub(crate) fn without_ledger(self) -> Self {
        Self {
            has_ledger: false,
            ..self
        }
    }

    async fn around<T>(&self, call: impl Future<Output = T>) -> T {
        self.fate.step().await;
        let output = call.await;
        self.fate.step().await;
        output
    }
}

impl<B: Backend> Backend for Mortal<B> {
    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.around(self.inner.acquire(bid)).await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.around(self.inner.renew(held)).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.around(self.inner.release(held)).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.around(self.inner.leave(bid)).await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.around(self.inner.owner(name)).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        self.inner.changes(interest)
    }

    async fn close(&self) -> Result<()> {
        self.around(self.inner.close()).await
    }

    fn inventory(&self) -> Option<AnyInventory<'_>> {
        self.inner.inventory().map(|_| AnyInventory::new(self))
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        self.inner
            .administration()
            .map(|_| AnyAdministration::new(self))
    }

    fn ledger(&self) -> Option<AnyLedger<'_>> {
        self.has_ledger.then(|| AnyLedger::new(self))
    }
}

impl<B: Backend> Inventory for Mortal<B> {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.around(self.inner.list(page)).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.around(self.inner.prune(prune)).await
    }
}

impl<B: Backend> Administration for Mortal<B> {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.around(self.inner.revoke(name, token)).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.around(self.inner.check()).await
    }
}

impl<B: Backend> Ledger for Mortal<B> {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.around(self.inner.read_ledger(name)).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.around(self.inner.list_ledgers(page)).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.around(self.inner.claim_tick(held, claim)).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.around(self.inner.finish_tick(held, end)).await
    }
}

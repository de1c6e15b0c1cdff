//! The suite over a store whose leases hang on a session: grants last while
//! their client lives, whether renewed or not, and end with it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::Result;
use tenure::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use tenure::clock::Clock;
use tenure::model::{FencingToken, LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure_testkit::contract::Subject;
use tokio::task::JoinHandle;

fn terms() -> LeaseTerms {
    LeaseTerms::new(Duration::from_secs(2), Duration::from_millis(500)).unwrap()
}

/// A client with a heartbeat that keeps all it has won.
#[derive(Debug)]
struct Session {
    inner: Memory,
    grants: Arc<Mutex<Vec<Held>>>,
    heart: JoinHandle<()>,
}

impl Session {
    fn new(inner: Memory, clock: Clock) -> Self {
        let grants = Arc::<Mutex<Vec<Held>>>::default();
        let heart = tokio::spawn({
            let (inner, grants) = (inner.clone(), Arc::clone(&grants));
            async move {
                loop {
                    clock.sleep(terms().ttl() / 4).await;
                    let held = grants.lock().unwrap().clone();
                    inner.renew(&held).await;
                }
            }
        });
        Self {
            inner,
            grants,
            heart,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.heart.abort();
    }
}

impl Backend for Session {
    fn profile(&self) -> Profile {
        self.inner.profile().session(terms())
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let mut bid = bid.clone();
        bid.terms = terms();
        let answer = self.inner.acquire(&bid).await?;
        if let Some(token) = answer.token() {
            self.grants.lock().unwrap().push(bid.held(token));
        }
        Ok(answer)
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let mut held = held.to_vec();
        for held in &mut held {
            held.terms = terms();
        }
        self.inner.renew(&held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.inner.release(held).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.inner.leave(bid).await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.inner.owner(name).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        self.inner.changes(interest)
    }

    async fn close(&self) -> Result<()> {
        self.heart.abort();
        let grants = std::mem::take(&mut *self.grants.lock().unwrap());
        for held in grants {
            // A session that is closed takes its grants with it.
            self.inner.release(&held).await.ok();
        }
        self.inner.close().await
    }

    fn inventory(&self) -> Option<AnyInventory<'_>> {
        Some(AnyInventory::new(self))
    }

    fn administration(&self) -> Option<AnyAdministration<'_>> {
        Some(AnyAdministration::new(self))
    }

    fn ledger(&self) -> Option<AnyLedger<'_>> {
        Some(AnyLedger::new(self))
    }
}

impl Inventory for Session {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.inner.list(page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.inner.prune(prune).await
    }
}

impl Administration for Session {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.inner.revoke(name, token).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.inner.check().await
    }
}

impl Ledger for Session {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.inner.read_ledger(name).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.inner.list_ledgers(page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.inner.claim_tick(held, claim).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.inner.finish_tick(held, end).await
    }
}

struct Sessions(Memory, Clock);

impl Sessions {
    fn new() -> Self {
        let clock = Clock::tokio();
        Self(Memory::with_clock(clock.clone()), clock)
    }
}

impl Subject for Sessions {
    type Backend = Session;

    async fn client(&self) -> Result<Session> {
        Ok(Session::new(self.0.another_client(), self.clock()))
    }

    fn clock(&self) -> Clock {
        self.1.clone()
    }
}

tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] Sessions::new() }

//! [`Memory`]: a client of a memory store.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::table::Table;
use super::watch::Clients;
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::{Clock, Moment};
use crate::error::Result;
use crate::model::{FencingToken, MutexName, StoreTime};
use crate::stores::kit::{Closing, wall};
use crate::sync::Mutex;

/// A client of a memory store; clones are the same client.
///
/// ```
/// use tenure::backend::{Backend, Bid};
/// use tenure::model::{ContenderId, LeaseTerms, MutexName};
/// use tenure::stores::memory::Memory;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// let here = Memory::new();
/// let there = here.another_client();
/// let bid = |id| -> tenure::Result<Bid> {
///     Ok(Bid::new(MutexName::new("m")?, ContenderId::new(id)?, LeaseTerms::default()))
/// };
/// assert!(here.acquire(&bid("a")?).await?.is_won());
/// assert!(!there.acquire(&bid("b")?).await?.is_won());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Memory {
    store: Arc<Store>,
    client: Arc<Client>,
}

/// What all clients of one store share.
pub(super) struct Store {
    contents: Mutex<Contents>,
    clock: Clock,
    /// The moment at which the store's clock showed `epoch`. The wall clock is
    /// read once, to make the numbers readable; it decides nothing.
    origin: Moment,
    epoch: StoreTime,
    next_client: AtomicU64,
}

#[derive(Default)]
struct Contents {
    table: Table,
    clients: Clients,
}

struct Client {
    number: u64,
    closing: Closing,
}

impl Memory {
    /// A store of its own on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Clock::boot())
    }

    /// A store of its own on `clock`.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self::at_epoch(clock, StoreTime::ZERO + wall())
    }

    /// A store of its own whose clock shows `epoch` now: for simulations that
    /// replay, tokens and all.
    #[doc(hidden)]
    #[must_use]
    pub fn at_epoch(clock: Clock, epoch: StoreTime) -> Self {
        Self::on(Arc::new(Store {
            contents: Mutex::default(),
            origin: clock.now(),
            clock,
            epoch,
            next_client: AtomicU64::new(0),
        }))
    }

    /// Another client of the same store, as another process would have.
    #[must_use]
    pub fn another_client(&self) -> Self {
        Self::on(Arc::clone(&self.store))
    }

    pub(super) fn on(store: Arc<Store>) -> Self {
        let number = store.next_client.fetch_add(1, Ordering::Relaxed);
        Self {
            store,
            client: Arc::new(Client {
                number,
                closing: Closing::of("this client of the memory store"),
            }),
        }
    }

    pub(super) fn downgrade(&self) -> Weak<Store> {
        Arc::downgrade(&self.store)
    }

    fn now(&self) -> StoreTime {
        self.store.epoch + self.store.clock.now().since(self.store.origin)
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Contents, StoreTime) -> T) -> Result<T> {
        let mut contents = self.store.contents.lock();
        // Looked at under the lock: a stream opened while another task closes
        // the client must not outlive it.
        self.client.closing.check_open()?;
        // Read under the lock: the table must never see time run backwards.
        let now = self.now();
        Ok(work(&mut contents, now))
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("client", &self.client.number)
            .finish_non_exhaustive()
    }
}

impl Backend for Memory {
    fn profile(&self) -> Profile {
        Profile::push("memory")
            .ordered()
            .monotonic()
            .looking_every(Duration::from_secs(2))
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.locked(|contents, now| contents.table.acquire(now, bid, &mut contents.clients))?
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let answers = self.locked(|contents, now| {
            held.iter()
                .map(|held| Ok(contents.table.renew(now, held)))
                .collect()
        });
        answers.unwrap_or_else(|closed| held.iter().map(|_| Err(closed.clone())).collect())
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.locked(|contents, now| contents.table.release(now, held, &mut contents.clients))
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.locked(|contents, now| contents.table.leave(now, bid, &mut contents.clients))
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.locked(|contents, now| contents.table.owner(now, name))
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let client = self.client.number;
        match self.locked(|contents, _| contents.clients.add(client, interest)) {
            Ok(stream) => Hints::new(stream),
            Err(_closed) => Hints::ended(),
        }
    }

    async fn close(&self) -> Result<()> {
        let mut contents = self.store.contents.lock();
        self.client.closing.close();
        contents.clients.remove(self.client.number);
        Ok(())
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

impl Inventory for Memory {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.locked(|contents, now| contents.table.list(now, page))
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.locked(|contents, now| contents.table.prune(now, prune))
    }
}

impl Administration for Memory {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.locked(|contents, now| {
            contents
                .table
                .revoke(now, name, token, &mut contents.clients)
        })
    }

    async fn check(&self) -> Vec<Finding> {
        vec![Finding::good(
            "memory",
            "this process only; forgotten with it",
        )]
    }
}

impl Ledger for Memory {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.locked(|contents, _| contents.table.read_ledger(name))
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.locked(|contents, now| contents.table.list_ledgers(now, page))
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.locked(|contents, now| contents.table.claim_tick(now, held, claim))
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.locked(|contents, now| contents.table.finish_tick(now, held, end))
    }
}

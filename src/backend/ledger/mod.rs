//! [`Ledger`]: where a store keeps what schedules have done.

mod entry;
mod line;

pub use entry::{Claim, ClaimAnswer, LedgerEntry, OtherPlan, TickEnd, TickState};
pub use line::LedgerLine;

use std::fmt;

use super::traced::{Boxed, boxed, span};
use super::{Held, Listing, Page};
use crate::error::Result;
use crate::model::MutexName;

/// A page of ledgers, in the order of their names.
pub type Ledgers = Listing<LedgerLine>;

/// The run ledgers of a store, one for each schedule. A store that has them
/// says so in [`Backend::ledger`](super::Backend::ledger); without them each
/// process of a schedule knows only what it ran itself.
pub trait Ledger: Send + Sync {
    /// The ledger of the schedule `name`; `None` when nothing was ever written
    /// to it.
    fn read_ledger(
        &self,
        name: &MutexName,
    ) -> impl Future<Output = Result<Option<LedgerEntry>>> + Send;

    /// The ledgers of the store, a page at a time, in the order of their names.
    /// One that cannot be made out is a line with a fault, not an error.
    fn list_ledgers(&self, page: &Page) -> impl Future<Output = Result<Ledgers>> + Send;

    /// Claims a tick for the owner `held`, if the store still has that grant,
    /// the ledger's last tick is smaller and its token not larger; or writes
    /// the plan alone ([`Claim::only_plan`]). [`Claim::fits`] has the rules.
    fn claim_tick(
        &self,
        held: &Held,
        claim: &Claim,
    ) -> impl Future<Output = Result<ClaimAnswer>> + Send;

    /// Records how the claimed tick ended. The claim counts, not the grant: a
    /// run that ended after its tenure is still recorded if no other
    /// process has claimed since. False when one has.
    fn finish_tick(&self, held: &Held, end: &TickEnd) -> impl Future<Output = Result<bool>> + Send;
}

/// Any [`Ledger`], its type forgotten. A call costs one box and runs in a span.
#[derive(Clone, Copy)]
pub struct AnyLedger<'a>(&'a dyn Erased);

impl<'a> AnyLedger<'a> {
    /// Forgets the type of `ledger`.
    pub fn new(ledger: &'a impl Ledger) -> Self {
        Self(ledger)
    }
}

impl fmt::Debug for AnyLedger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyLedger")
    }
}

/// [`Ledger`] with boxed futures, which a trait object can have.
trait Erased: Send + Sync {
    fn read<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Option<LedgerEntry>>>;
    fn list<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Ledgers>>;
    fn claim<'a>(&'a self, held: &'a Held, claim: &'a Claim) -> Boxed<'a, Result<ClaimAnswer>>;
    fn finish<'a>(&'a self, held: &'a Held, end: &'a TickEnd) -> Boxed<'a, Result<bool>>;
}

impl<L: Ledger> Erased for L {
    fn read<'a>(&'a self, name: &'a MutexName) -> Boxed<'a, Result<Option<LedgerEntry>>> {
        boxed(span!("read_ledger", mutex = name), self.read_ledger(name))
    }
    fn list<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Ledgers>> {
        boxed(span!("list_ledgers"), self.list_ledgers(page))
    }
    fn claim<'a>(&'a self, held: &'a Held, claim: &'a Claim) -> Boxed<'a, Result<ClaimAnswer>> {
        let span = span!("claim_tick", mutex = held.name, tick = claim.tick);
        boxed(span, self.claim_tick(held, claim))
    }
    fn finish<'a>(&'a self, held: &'a Held, end: &'a TickEnd) -> Boxed<'a, Result<bool>> {
        let span = span!("finish_tick", mutex = held.name, tick = end.tick);
        boxed(span, self.finish_tick(held, end))
    }
}

impl Ledger for AnyLedger<'_> {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.0.read(name).await
    }
    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.0.list(page).await
    }
    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.0.claim(held, claim).await
    }
    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.0.finish(held, end).await
    }
}

//! The seam to the rest: every SQL store is a [`Backend`].

use super::client::Client;
use super::dialect::Dialect;
use super::question::{ClaimTick, Find, FinishTick, Free, ReadLedger};
use crate::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use crate::error::Result;
use crate::model::{FencingToken, MutexName};

impl<D: Dialect> Backend for Client<D> {
    fn profile(&self) -> Profile {
        self.dialect().profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        D::acquire(self, bid).await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.renew_all(held).await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.free(Free::Held(held.clone())).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        if !D::HAS_NONCE && !bid.unique_id {
            // What it won cannot be told from the grant of a twin with the same
            // id: its lease ends it.
            return self.pool().check_open();
        }
        self.ask(Free::Left(bid.clone())).await.map(drop)
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        let found = self.ask(Find(name.clone())).await?;
        Self::refused(name, found)
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let (hints, must_begin) = self.listeners().add(interest);
        if must_begin {
            let runtime = self.pool().runtime();
            runtime.spawn(D::watch(self.clone()));
        }
        hints
    }

    async fn close(&self) -> Result<()> {
        self.listeners().close();
        self.pool().close().await;
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

impl<D: Dialect> Inventory for Client<D> {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.list_page(page).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.prune_step(prune).await
    }
}

impl<D: Dialect> Administration for Client<D> {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.free(Free::Revoked(name.clone(), token)).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.survey().await
    }
}

impl<D: Dialect> Ledger for Client<D> {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.ask(ReadLedger(name.clone())).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.ledgers(page).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let (held, claim) = (held.clone(), claim.clone());
        self.ask(ClaimTick { held, claim }).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let (held, end) = (held.clone(), *end);
        self.ask(FinishTick { held, end }).await
    }
}

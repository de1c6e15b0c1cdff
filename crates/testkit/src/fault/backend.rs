//! [`FaultBackend`]: a backend that fails as told.

use std::sync::Arc;

use tenure::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Finding, Held, Hints, Interest, Inventory, Ledger, LedgerEntry, Ledgers, Listing,
    Page, Profile, Prune, Pruned, TickEnd,
};
use tenure::model::{FencingToken, MutexName};
use tenure::{Error, ErrorKind, Outcome, Result};

use super::hints::FaultyHints;
use super::{Call, Fault, Faults};
use crate::Whole as _;

/// Any backend, with the faults that its [`Faults`] handle tells.
#[derive(Debug)]
pub struct FaultBackend<B> {
    inner: Arc<B>,
    faults: Faults,
}

fn lost(outcome: Outcome) -> Error {
    Error::new(ErrorKind::Unreachable, outcome).with_message("an injected fault")
}

impl<B: Backend> FaultBackend<B> {
    /// Lets `faults` befall the calls of `inner`.
    pub fn new(inner: B, faults: &Faults) -> Self {
        Self {
            inner: Arc::new(inner),
            faults: faults.clone(),
        }
    }

    /// The handle.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The backend below, to look at the truth.
    pub fn inner(&self) -> &B {
        &self.inner
    }

    /// Waits out what comes before the call is applied; an error when it never
    /// is.
    async fn before(&self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Fail => return Err(lost(Outcome::DidNot)),
            Fault::LoseRequest => return Err(lost(Outcome::MayHave)),
            Fault::DelayBefore(length) => self.faults.clock().sleep(length).await,
            Fault::Hang => self.faults.healing().await,
            _ => {}
        }
        Ok(())
    }

    /// Waits out what comes after; an error when the answer is lost.
    async fn after(&self, fault: Fault) -> Result<()> {
        match fault {
            Fault::LoseAnswer => return Err(lost(Outcome::MayHave)),
            Fault::TimeOut(length) => {
                self.faults.clock().sleep(length).await;
                let late = Error::new(ErrorKind::Timeout, Outcome::MayHave);
                return Err(late.with_message("an injected fault"));
            }
            Fault::DelayAfter(length) => self.faults.clock().sleep(length).await,
            Fault::HangAfter => self.faults.healing().await,
            _ => {}
        }
        Ok(())
    }

    /// Makes one call, which `apply` does on the backend below. Owned all
    /// through: a late duplicate outlives its caller.
    async fn run<T, F, W>(&self, call: Call, names: Vec<MutexName>, apply: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(Arc<B>) -> W + Send,
        W: Future<Output = Result<T>> + Send + 'static,
    {
        let fault = self.faults.note(call, names);
        self.before(fault).await?;
        let mut output = apply(Arc::clone(&self.inner)).await;
        match fault {
            Fault::Duplicate => output = apply(Arc::clone(&self.inner)).await,
            Fault::DuplicateLate(length) => {
                let (clock, again) = (self.faults.clock().clone(), apply(Arc::clone(&self.inner)));
                tokio::spawn(async move {
                    clock.sleep(length).await;
                    again.await
                });
            }
            _ => {}
        }
        self.after(fault).await?;
        output
    }

    /// The elements of a batch, each with what befalls it alone.
    async fn batch(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let faults = held
            .iter()
            .map(|held| self.faults.element(Call::Renew, &held.name));
        let faults: Vec<_> = faults.collect();
        let mut unsent: Vec<Option<Error>> = Vec::new();
        let mut sent = Vec::new();
        for (held, fault) in held.iter().zip(&faults) {
            let error = self.before(*fault).await.err();
            if error.is_none() {
                sent.push(held.clone());
            }
            unsent.push(error);
        }
        let mut answers = self.inner.renew(&sent).await.into_iter();
        let mut all = Vec::new();
        for (fault, unsent) in faults.into_iter().zip(unsent) {
            let answer = match unsent {
                Some(error) => Err(error),
                None => answers
                    .next()
                    .unwrap_or_else(|| Err(lost(Outcome::MayHave))),
            };
            all.push(match self.after(fault).await {
                Ok(()) => answer,
                Err(error) => Err(error),
            });
        }
        all
    }
}

impl<B: Backend> Backend for FaultBackend<B> {
    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let (names, bid) = (vec![bid.name.clone()], bid.clone());
        self.run(Call::Acquire, names, move |inner| {
            let bid = bid.clone();
            async move { inner.acquire(&bid).await }
        })
        .await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let names = held.iter().map(|held| held.name.clone()).collect();
        let fault = self.faults.note(Call::Renew, names);
        let all_lost = |error: Error| held.iter().map(|_| Err(error.clone())).collect();
        if let Err(error) = self.before(fault).await {
            return all_lost(error);
        }
        let mut answers = self.batch(held).await;
        match fault {
            Fault::Duplicate => answers = self.inner.renew(held).await,
            Fault::DuplicateLate(length) => {
                let (clock, inner) = (self.faults.clock().clone(), Arc::clone(&self.inner));
                let held = held.to_vec();
                tokio::spawn(async move {
                    clock.sleep(length).await;
                    inner.renew(&held).await
                });
            }
            _ => {}
        }
        match self.after(fault).await {
            Ok(()) => answers,
            Err(error) => all_lost(error),
        }
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        let (names, held) = (vec![held.name.clone()], held.clone());
        self.run(Call::Release, names, move |inner| {
            let held = held.clone();
            async move { inner.release(&held).await }
        })
        .await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        let (names, bid) = (vec![bid.name.clone()], bid.clone());
        self.run(Call::Leave, names, move |inner| {
            let bid = bid.clone();
            async move { inner.leave(&bid).await }
        })
        .await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        let (names, name) = (vec![name.clone()], name.clone());
        let answer = self.run(Call::Owner, names, move |inner| {
            let name = name.clone();
            async move { inner.owner(&name).await }
        });
        answer.await.map_err(only_read)
    }

    fn changes(&self, interest: &Interest) -> Hints {
        let name = interest.name.clone();
        // A stream has no answer to lose: its faults are those of its hints.
        self.faults.note(Call::Changes, vec![name.clone()]);
        let inner = self.inner.changes(interest);
        Hints::new(FaultyHints::new(inner, self.faults.clone(), &name))
    }

    async fn close(&self) -> Result<()> {
        self.run(Call::Close, Vec::new(), |inner| async move {
            inner.close().await
        })
        .await
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
        self.inner.ledger().map(|_| AnyLedger::new(self))
    }
}

impl<B: Backend> Inventory for FaultBackend<B> {
    async fn list(&self, page: &Page) -> Result<Listing> {
        let page = page.clone();
        let listing = self.run(Call::List, Vec::new(), move |inner| {
            let page = page.clone();
            async move { inner.list(&page).await }
        });
        listing.await.map_err(only_read)
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        let prune = prune.clone();
        self.run(Call::Prune, Vec::new(), move |inner| {
            let prune = prune.clone();
            async move { inner.prune(&prune).await }
        })
        .await
    }
}

impl<B: Backend> Administration for FaultBackend<B> {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        let (names, name) = (vec![name.clone()], name.clone());
        self.run(Call::Revoke, names, move |inner| {
            let name = name.clone();
            async move { inner.revoke(&name, token).await }
        })
        .await
    }

    async fn check(&self) -> Vec<Finding> {
        let findings = self.run(Call::Check, Vec::new(), |inner| async move {
            Ok(inner.check().await)
        });
        findings.await.unwrap_or_else(|error| {
            vec![Finding::bad(
                "answers",
                error.to_string(),
                "heal the faults",
            )]
        })
    }
}

impl<B: Backend> Ledger for FaultBackend<B> {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        let (names, name) = (vec![name.clone()], name.clone());
        let entry = self.run(Call::ReadLedger, names, move |inner| {
            let name = name.clone();
            async move { inner.read_ledger(&name).await }
        });
        entry.await.map_err(only_read)
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        let page = page.clone();
        let ledgers = self.run(Call::ListLedgers, Vec::new(), move |inner| {
            let page = page.clone();
            async move { inner.list_ledgers(&page).await }
        });
        ledgers.await.map_err(only_read)
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let names = vec![held.name.clone()];
        let (held, claim) = (held.clone(), claim.clone());
        self.run(Call::ClaimTick, names, move |inner| {
            let (held, claim) = (held.clone(), claim.clone());
            async move { inner.claim_tick(&held, &claim).await }
        })
        .await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let names = vec![held.name.clone()];
        let (held, end) = (held.clone(), *end);
        self.run(Call::FinishTick, names, move |inner| {
            let held = held.clone();
            async move { inner.finish_tick(&held, &end).await }
        })
        .await
    }
}

/// A call that only reads has changed nothing, whatever became of it.
fn only_read(error: Error) -> Error {
    if error.outcome() == Outcome::MayHave {
        return Error::new(error.kind(), Outcome::DidNot).with_message(error.to_string());
    }
    error
}

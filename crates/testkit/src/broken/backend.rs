//! A store in memory, broken in one point.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::Result;
use tenure::backend::{
    Administration, Answer, AnyAdministration, AnyInventory, AnyLedger, Backend, Bid, Claim,
    ClaimAnswer, Entry, Finding, Held, Hint, Hints, Interest, Inventory, Ledger, LedgerEntry,
    Ledgers, Listing, Page, Profile, Prune, Pruned, TickEnd,
};
use tenure::clock::Clock;
use tenure::model::{FencingToken, LeaseTerms, MutexName, MutexOwner};
use tenure::stores::memory::Memory;

use super::Flaw;
use crate::contract::Subject;

/// The last grant of each mutex, which a flaw may take for the one named.
type Grants = Arc<Mutex<BTreeMap<MutexName, (Held, Bid)>>>;

/// A store with a flaw, whose clients are [`Broken`].
#[derive(Debug)]
pub struct Flawed {
    flaw: Flaw,
    store: Memory,
    clock: Clock,
    grants: Grants,
    queued: Arc<Mutex<Vec<Bid>>>,
    pruned: Arc<Mutex<bool>>,
}

impl Flawed {
    /// An empty one, on the time of the runtime it is used in.
    #[must_use]
    pub fn new(flaw: Flaw) -> Self {
        let clock = Clock::tokio();
        Self {
            flaw,
            store: Memory::with_clock(clock.clone()),
            clock,
            grants: Grants::default(),
            queued: Arc::default(),
            pruned: Arc::default(),
        }
    }
}

impl Subject for Flawed {
    type Backend = Broken;

    async fn client(&self) -> Result<Broken> {
        Ok(Broken {
            flaw: self.flaw,
            inner: self.store.another_client(),
            grants: Arc::clone(&self.grants),
            queued: Arc::clone(&self.queued),
            pruned: Arc::clone(&self.pruned),
        })
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

/// A client of a [`Flawed`] store.
#[derive(Debug)]
pub struct Broken {
    flaw: Flaw,
    inner: Memory,
    grants: Grants,
    queued: Arc<Mutex<Vec<Bid>>>,
    pruned: Arc<Mutex<bool>>,
}

impl Broken {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn last(&self, name: &MutexName) -> Option<(Held, Bid)> {
        self.grants
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    fn name(&self, name: &MutexName) -> MutexName {
        let text = name.as_str();
        match self.flaw {
            Flaw::CaseBlind => MutexName::new(text.to_lowercase()).expect("a name"),
            Flaw::NamesCut if text.len() > 60 && text.is_ascii() => {
                MutexName::new(&text[..60]).expect("a name")
            }
            _ => name.clone(),
        }
    }

    fn heard(&self, bid: &Bid) -> Bid {
        let mut bid = bid.clone();
        bid.name = self.name(&bid.name);
        let stretched =
            |ttl: Duration, transition| LeaseTerms::new(ttl, transition).expect("good terms");
        match self.flaw {
            Flaw::ShortLease => bid.terms = stretched(bid.terms.ttl() / 2, Duration::ZERO),
            Flaw::LongLease => bid.terms = stretched(bid.terms.ttl() * 9, Duration::ZERO),
            Flaw::OpenTransition => bid.terms = stretched(bid.terms.ttl(), Duration::ZERO),
            Flaw::ForgetsScore => bid.score = None,
            Flaw::NoQueue => bid.queue = false,
            _ => {}
        }
        bid
    }

    fn meant(&self, held: &Held, by_any: bool, by_id: bool) -> Held {
        let mut held = held.clone();
        held.name = self.name(&held.name);
        let Some((last, _)) = self.last(&held.name) else {
            return held;
        };
        let is_meant = by_any || (by_id && last.contender == held.contender);
        if is_meant || matches!(self.flaw, Flaw::SameToken | Flaw::PruneResets) {
            return last;
        }
        held
    }

    fn said(&self, answer: Answer) -> Answer {
        let token = match self.flaw {
            Flaw::SameToken => FencingToken::from_store(7).expect("a token"),
            Flaw::PruneResets if *self.pruned.lock().unwrap_or_else(PoisonError::into_inner) => {
                FencingToken::from_store(7).expect("a token")
            }
            _ => return answer,
        };
        match answer.owner().token() {
            Some(_) if answer.is_won() => {
                Answer::won(answer.owner().clone().with_token(token), answer.now())
            }
            _ => answer,
        }
    }

    /// Gets the owner, and all that stand before `bid`, out of its way.
    async fn push_aside(&self, bid: &Bid) -> Result<()> {
        if self.is(Flaw::TwoWinners) {
            return self.inner.revoke(&bid.name, None).await.map(drop);
        }
        let queued = self
            .queued
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for other in queued.iter().filter(|other| other.nonce != bid.nonce) {
            self.inner.leave(other).await?;
        }
        Ok(())
    }

    async fn renew_one(&self, held: &Held) -> Result<Answer> {
        let meant = self.meant(held, false, self.is(Flaw::RenewById));
        let before = self.inner.owner(&meant.name).await?;
        let in_ttl = before.owner().is_in_ttl(before.now());
        if self.is(Flaw::NoTransition) && !in_ttl {
            return Ok(before);
        }
        if self.is(Flaw::IdleRenewal) && before.owner().token() == Some(held.token) {
            return Ok(Answer::won(before.owner().clone(), before.now()));
        }
        let answer = self
            .inner
            .renew(std::slice::from_ref(&meant))
            .await
            .remove(0)?;
        if self.is(Flaw::RenewTakes) && !answer.is_won() {
            let (_, bid) = self.last(&meant.name).expect("it was granted once");
            return self.inner.acquire(&bid).await;
        }
        if self.is(Flaw::MovingToken) && answer.is_won() {
            let token = FencingToken::from_store(held.token.store() + 1)?;
            let owner = answer.owner().clone().with_token(token);
            return Ok(Answer::won(owner, answer.now()));
        }
        Ok(self.said(answer))
    }
}

impl Backend for Broken {
    fn profile(&self) -> Profile {
        match self.flaw {
            // Without a nonce it cannot tell twins apart, and pretends it can.
            Flaw::AdoptsById => self.inner.profile().without_nonce(),
            _ => self.inner.profile(),
        }
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let bid = self.heard(bid);
        if let Some((last, _)) = self.last(&bid.name) {
            let same_id = last.contender == bid.contender;
            let same_bid = last.nonce == bid.nonce;
            if (self.is(Flaw::AcquireRenews) && same_id)
                || (self.is(Flaw::AskingLengthens) && same_bid)
            {
                let answer = self
                    .inner
                    .renew(std::slice::from_ref(&last))
                    .await
                    .remove(0)?;
                if answer.is_won() {
                    return Ok(answer);
                }
            }
            let seen = self.inner.owner(&bid.name).await?;
            if self.is(Flaw::AdoptsById) && seen.owner().is_owner(&bid.contender) {
                return Ok(Answer::won(
                    seen.owner().clone().with_token(last.token),
                    seen.now(),
                ));
            }
            if self.is(Flaw::ForgetsNonce) && same_bid {
                self.inner.release(&last).await?;
            }
        }
        if matches!(self.flaw, Flaw::TwoWinners | Flaw::Overtaking) {
            let seen = self.inner.owner(&bid.name).await?;
            // Between the look and the take another may have taken.
            tokio::task::yield_now().await;
            if !seen.owner().has_owner(seen.now()) {
                self.push_aside(&bid).await?;
            }
        }
        let answer = self.inner.acquire(&bid).await?;
        if let Some(token) = answer.token() {
            let held = bid.held(token);
            self.grants
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(bid.name.clone(), (held, bid));
        } else if self.is(Flaw::HiddenOwner) {
            return Ok(Answer::refused(MutexOwner::NONE, answer.now()));
        } else if self.is(Flaw::Overtaking) {
            self.queued
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(bid);
        } else if self.is(Flaw::NoQueue) {
            return Ok(answer.at_place(0, "0"));
        }
        Ok(self.said(answer))
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let mut answers = Vec::new();
        for held in held {
            answers.push(self.renew_one(held).await);
        }
        match self.flaw {
            Flaw::BatchReversed => answers.reverse(),
            Flaw::BatchCut => answers.truncate(200),
            _ => {}
        }
        answers
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        let meant = self.meant(held, self.is(Flaw::ReleaseAny), false);
        let answer = self.inner.release(&meant).await?;
        if self.is(Flaw::ReleaseAlwaysWon) {
            return Ok(Answer::won(MutexOwner::NONE, answer.now()));
        }
        Ok(answer)
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        if self.is(Flaw::IdleLeave) {
            return Ok(());
        }
        if let (Flaw::LeaveById, Some((last, _))) = (self.flaw, self.last(&bid.name))
            && last.contender == bid.contender
        {
            self.inner.release(&last).await?;
        }
        self.inner.leave(&self.heard(bid)).await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.inner.owner(&self.name(name)).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        match self.flaw {
            Flaw::Silent => Hints::silent(),
            Flaw::Storm => Hints::new(Storm(tokio::time::interval(Duration::from_millis(1)))),
            _ => self.inner.changes(interest),
        }
    }

    async fn close(&self) -> Result<()> {
        if self.is(Flaw::IdleClose) {
            return Ok(());
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

impl Inventory for Broken {
    async fn list(&self, page: &Page) -> Result<Listing> {
        let named = page.names.is_some() && self.is(Flaw::ListsOthers);
        let page = if named { &Page::first(1000) } else { page };
        let mut listing = self.inner.list(page).await?;
        if self.is(Flaw::ListReversed) {
            listing.entries.reverse();
        }
        if self.is(Flaw::ListsFree) {
            let all = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
            let entries = all
                .keys()
                .map(|name| Entry::new(name.clone(), MutexOwner::NONE, None));
            listing.entries = entries.collect();
        }
        Ok(listing)
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        match self.flaw {
            Flaw::PruneResets => *self.pruned.lock().unwrap_or_else(PoisonError::into_inner) = true,
            Flaw::PruneTakesOwned => {
                let names: Vec<_> = self
                    .grants
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .keys()
                    .cloned()
                    .collect();
                for name in names {
                    self.inner.revoke(&name, None).await?;
                }
            }
            Flaw::PruneTakesLedgers => {
                return self.inner.prune(&prune.clone().with_schedules()).await;
            }
            _ => {}
        }
        self.inner.prune(prune).await
    }
}

impl Administration for Broken {
    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        let token = token.filter(|_| !self.is(Flaw::RevokeAny));
        self.inner.revoke(name, token).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.inner.check().await
    }
}

impl Ledger for Broken {
    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.inner.read_ledger(name).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        let mut ledgers = self.inner.list_ledgers(page).await?;
        if self.is(Flaw::LedgersReversed) {
            ledgers.entries.reverse();
        }
        Ok(ledgers)
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let meant = self.meant(held, self.is(Flaw::ClaimAny), false);
        if self.is(Flaw::ClaimAlways) {
            return Ok(ClaimAnswer::Claimed);
        }
        let mut claim = claim.clone();
        if self.is(Flaw::PlanClaims) {
            claim.only_plan = false;
        }
        if self.is(Flaw::ForgetsBeginnings) {
            claim.begun_at = None;
        }
        self.inner.claim_tick(&meant, &claim).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let finished = self.inner.finish_tick(held, end).await?;
        Ok(finished || self.is(Flaw::FinishAlways))
    }
}

/// A hint every millisecond, whatever happens.
struct Storm(tokio::time::Interval);

impl futures_core::Stream for Storm {
    type Item = Hint;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Hint>> {
        self.0.poll_tick(cx).map(|_| Some(Hint::Changed))
    }
}

//! [`Deadline`]: no call without an end.

use std::time::Duration;

use super::{
    Answer, Backend, Bid, Claim, ClaimAnswer, Finding, Held, Hints, Interest, LedgerEntry, Ledgers,
    Listing, Page, Profile, Prune, Pruned, TickEnd,
};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{FencingToken, MutexName};

/// A backend each of whose calls ends within a limit, whatever the driver
/// below does. A call that is cut off may have happened, except one that only
/// reads.
#[derive(Debug)]
pub struct Deadline<B> {
    inner: B,
    clock: Clock,
    limit: Duration,
}

impl<B: Backend> Deadline<B> {
    /// Ends every call of `inner` after `limit`.
    pub fn new(inner: B, clock: Clock, limit: Duration) -> Self {
        Self {
            inner,
            clock,
            limit,
        }
    }

    async fn within<T>(
        &self,
        what: &'static str,
        outcome: Outcome,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let at = self.clock.now() + self.limit;
        self.clock
            .limit(at, call)
            .await
            .unwrap_or_else(|| Err(self.late(what, outcome)))
    }

    fn late(&self, what: &'static str, outcome: Outcome) -> Error {
        Error::new(ErrorKind::Timeout, outcome).with_message(format!(
            "the store did not answer {what} within {:?}",
            self.limit
        ))
    }
}

impl<B: Backend> Backend for Deadline<B> {
    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.within("acquire", Outcome::MayHave, self.inner.acquire(bid))
            .await
            .map_err(|error| error.with_mutex(&bid.name).with_contender(&bid.contender))
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let at = self.clock.now() + self.limit;
        let answers = self.clock.limit(at, self.inner.renew(held)).await;
        answers.unwrap_or_else(|| {
            held.iter()
                .map(|held| Err(self.late("renew", Outcome::MayHave).with_mutex(&held.name)))
                .collect()
        })
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        self.within("release", Outcome::MayHave, self.inner.release(held))
            .await
            .map_err(|error| error.with_mutex(&held.name).with_contender(&held.contender))
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.within("leave", Outcome::MayHave, self.inner.leave(bid))
            .await
            .map_err(|error| error.with_mutex(&bid.name).with_contender(&bid.contender))
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.within("owner", Outcome::DidNot, self.inner.owner(name))
            .await
            .map_err(|error| error.with_mutex(name))
    }

    fn changes(&self, interest: &Interest) -> Hints {
        self.inner.changes(interest)
    }

    async fn list(&self, page: &Page) -> Result<Listing> {
        self.within("list", Outcome::DidNot, self.inner.list(page))
            .await
    }

    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        self.within("revoke", Outcome::MayHave, self.inner.revoke(name, token))
            .await
            .map_err(|error| error.with_mutex(name))
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.within("prune", Outcome::MayHave, self.inner.prune(prune))
            .await
    }

    async fn check(&self) -> Vec<Finding> {
        // Several questions in a row: each may take its time.
        let at = self.clock.now() + self.limit * 4;
        self.clock
            .limit(at, self.inner.check())
            .await
            .unwrap_or_else(|| {
                vec![Finding::bad(
                    "answers",
                    format!("the store did not answer within {:?}", self.limit * 4),
                    "see whether it is up and reachable from here",
                )]
            })
    }

    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        self.within(
            "the ledger's reading",
            Outcome::DidNot,
            self.inner.read_ledger(name),
        )
        .await
        .map_err(|error| error.with_mutex(name))
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        self.within(
            "the listing of ledgers",
            Outcome::DidNot,
            self.inner.list_ledgers(page),
        )
        .await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        self.within(
            "the claim of a tick",
            Outcome::MayHave,
            self.inner.claim_tick(held, claim),
        )
        .await
        .map_err(|error| error.with_mutex(&held.name))
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        self.within(
            "the end of a tick",
            Outcome::MayHave,
            self.inner.finish_tick(held, end),
        )
        .await
        .map_err(|error| error.with_mutex(&held.name))
    }

    async fn close(&self) -> Result<()> {
        self.within("close", Outcome::MayHave, self.inner.close())
            .await
    }
}

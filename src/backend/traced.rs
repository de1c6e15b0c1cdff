//! [`Traced`]: every call to the store leaves a trace.

use tracing::{Instrument, debug, debug_span};

use super::{
    Answer, Backend, Bid, Claim, ClaimAnswer, Finding, Held, Hints, Interest, LedgerEntry, Ledgers,
    Listing, Page, Profile, Prune, Pruned, TickEnd,
};
use crate::error::Result;
use crate::model::{FencingToken, MutexName};

/// A backend whose calls run in `tracing` spans of level DEBUG, target
/// `tenure::store`, and whose failures are logged there. No secret can appear:
/// only names, ids and tokens are recorded.
#[derive(Debug)]
pub struct Traced<B>(B);

impl<B: Backend> Traced<B> {
    /// Traces the calls of `inner`.
    pub fn new(inner: B) -> Self {
        Self(inner)
    }
}

macro_rules! span {
    ($call:literal $(, $field:ident = $value:expr)*) => {
        debug_span!(target: "tenure::store", $call $(, $field = %$value)*)
    };
}

/// Logs a failure inside the span of its call.
fn seen<T>(result: &Result<T>) {
    if let Err(error) = result {
        let source = std::error::Error::source(error).map(tracing::field::display);
        debug!(target: "tenure::store", kind = ?error.kind(), outcome = ?error.outcome(), source, "{error}");
    }
}

async fn told<T>(span: tracing::Span, call: impl Future<Output = Result<T>>) -> Result<T> {
    async {
        let result = call.await;
        seen(&result);
        result
    }
    .instrument(span)
    .await
}

impl<B: Backend> Backend for Traced<B> {
    fn profile(&self) -> Profile {
        self.0.profile()
    }

    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        let span = span!("acquire", mutex = bid.name, contender = bid.contender);
        told(span, self.0.acquire(bid)).await
    }

    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let span = span!("renew", count = held.len());
        async {
            let answers = self.0.renew(held).await;
            answers.iter().for_each(seen);
            answers
        }
        .instrument(span)
        .await
    }

    async fn release(&self, held: &Held) -> Result<Answer> {
        let span = span!("release", mutex = held.name, token = held.token);
        told(span, self.0.release(held)).await
    }

    async fn leave(&self, bid: &Bid) -> Result<()> {
        let span = span!("leave", mutex = bid.name, contender = bid.contender);
        told(span, self.0.leave(bid)).await
    }

    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        told(span!("owner", mutex = name), self.0.owner(name)).await
    }

    fn changes(&self, interest: &Interest) -> Hints {
        self.0.changes(interest)
    }

    async fn list(&self, page: &Page) -> Result<Listing> {
        told(span!("list"), self.0.list(page)).await
    }

    async fn revoke(&self, name: &MutexName, token: Option<FencingToken>) -> Result<Answer> {
        told(span!("revoke", mutex = name), self.0.revoke(name, token)).await
    }

    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        told(span!("prune"), self.0.prune(prune)).await
    }

    async fn check(&self) -> Vec<Finding> {
        self.0.check().instrument(span!("check")).await
    }

    async fn read_ledger(&self, name: &MutexName) -> Result<Option<LedgerEntry>> {
        told(span!("read_ledger", mutex = name), self.0.read_ledger(name)).await
    }

    async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        told(span!("list_ledgers"), self.0.list_ledgers(page)).await
    }

    async fn claim_tick(&self, held: &Held, claim: &Claim) -> Result<ClaimAnswer> {
        let span = span!("claim_tick", mutex = held.name, tick = claim.tick);
        told(span, self.0.claim_tick(held, claim)).await
    }

    async fn finish_tick(&self, held: &Held, end: &TickEnd) -> Result<bool> {
        let span = span!("finish_tick", mutex = held.name, tick = end.tick);
        told(span, self.0.finish_tick(held, end)).await
    }

    async fn close(&self) -> Result<()> {
        told(span!("close"), self.0.close()).await
    }
}

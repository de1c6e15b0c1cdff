#![doc = include_str!("../docs/backend.md")]

mod answer;
mod any;
mod bid;
mod finding;
mod hint;
mod hold;
mod ledger;
mod ledgers;
mod listing;
mod profile;
mod prune;
mod traced;
pub mod url;

use std::fmt;

pub use answer::{Answer, Place};
pub use any::AnyBackend;
pub use bid::{Bid, Held, Nonce};
pub use finding::{Finding, Severity};
pub use hint::{Hint, Hints, Interest};
pub use hold::{AnyHoldStore, Hold, HoldStore};
pub use ledger::{Claim, ClaimAnswer, LedgerEntry, OtherPlan, TickEnd, TickState};
pub use ledgers::{LedgerLine, Ledgers};
pub use listing::{Bookmark, Entry, Listing, Page};
pub use profile::{LeaseBound, Profile, StoreClock, Wakeup};
pub use prune::{Prune, Pruned};
pub use traced::Traced;

use crate::error::Result;
use crate::model::{FencingToken, MutexName};

/// A store of ownership. The [module](self) states the contract.
///
/// Implement the methods as `async fn`. There are no defaults: a store that
/// cannot do a thing says so in its [`Profile`] and with an error.
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    /// What this store can do and how it behaves. No I/O; may change over the
    /// life of a connection (a session's negotiated timeout).
    fn profile(&self) -> Profile;

    /// Takes the mutex for `bid` if it is free, and answers the same grant
    /// again if the bid already holds it. Never renews.
    fn acquire(&self, bid: &Bid) -> impl Future<Output = Result<Answer>> + Send;

    /// Extends each of `held` whose id, token and nonce the store still has;
    /// one answer for each, in the same order.
    fn renew(&self, held: &[Held]) -> impl Future<Output = Vec<Result<Answer>>> + Send;

    /// Frees the grant `held` and tells the next waiter.
    fn release(&self, held: &Held) -> impl Future<Output = Result<Answer>> + Send;

    /// Undoes whatever `bid` may have won or queued.
    fn leave(&self, bid: &Bid) -> impl Future<Output = Result<()>> + Send;

    /// Who owns `name`, by the store's present word.
    fn owner(&self, name: &MutexName) -> impl Future<Output = Result<Answer>> + Send;

    /// Wake-ups for `interest`, from now on.
    fn changes(&self, interest: &Interest) -> Hints;

    /// The mutexes of the store, a page at a time, in the order of their names.
    /// One that cannot be made out is an entry with a fault, not an error.
    fn list(&self, page: &Page) -> impl Future<Output = Result<Listing>> + Send;

    /// Frees `name` by force, whoever owns it; with a token, only if the grant
    /// with that token owns it. Answers *won* when this call freed it.
    fn revoke(
        &self,
        name: &MutexName,
        token: Option<FencingToken>,
    ) -> impl Future<Output = Result<Answer>> + Send;

    /// Removes what nobody has used for a time, in steps: the answer may have
    /// a bookmark, with which to ask again. Tokens rise all the same.
    fn prune(&self, prune: &Prune) -> impl Future<Output = Result<Pruned>> + Send;

    /// What a person should know about the health and set-up of the store.
    fn check(&self) -> impl Future<Output = Vec<Finding>> + Send;

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
    /// run that ended after its tenure is still recorded if nobody has claimed
    /// since. False when somebody has.
    fn finish_tick(&self, held: &Held, end: &TickEnd) -> impl Future<Output = Result<bool>> + Send;

    /// Closes connections and ends all streams. Later calls fail with
    /// [`Closed`](crate::ErrorKind::Closed).
    fn close(&self) -> impl Future<Output = Result<()>> + Send;
}

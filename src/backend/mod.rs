#![doc = include_str!("../docs/backend.md")]

mod administration;
mod answer;
mod any;
mod bid;
mod finding;
mod hint;
mod hold;
mod hold_server;
mod inventory;
mod ledger;
mod listing;
mod profile;
mod prune;
mod traced;
pub mod url;

use std::fmt;

pub use administration::{Administration, AnyAdministration};
pub use answer::{Answer, QueuePlace};
pub use any::AnyBackend;
pub use bid::{Bid, Held, Nonce};
pub use finding::{Finding, Severity};
pub use hint::{Hint, Hints, Interest};
pub use hold::{AnyHoldStore, Hold, HoldStore};
pub use hold_server::{AnyHoldServer, HoldServer};
pub use inventory::{AnyInventory, Inventory};
pub use ledger::{
    AnyLedger, Claim, ClaimAnswer, Ledger, LedgerEntry, LedgerLine, Ledgers, OtherPlan, TickEnd,
    TickState,
};
pub use listing::{Bookmark, Entry, Listed, Listing, Page};
pub use profile::{LeaseBound, Profile, StoreClock, Wakeup};
pub use prune::{Prune, Pruned};
pub(crate) use traced::Boxed;

use crate::error::Result;
use crate::model::MutexName;

/// A store of ownership. The [module](self) states the contract.
///
/// Implement the methods as `async fn`. What every store must do has no
/// default. What a store may be without is a trait of its own: one that has it
/// implements that trait and answers `Some` here, one that has not writes
/// nothing. A backend around another one passes all three on.
///
/// ```
/// # use tenure::backend::{Administration, AnyAdministration, Answer, Finding};
/// # use tenure::model::{FencingToken, MutexName};
/// # struct Mine;
/// # impl Administration for Mine {
/// #     async fn revoke(&self, _: &MutexName, _: Option<FencingToken>) -> tenure::Result<Answer> { todo!() }
/// #     async fn check(&self) -> Vec<Finding> { Vec::new() }
/// # }
/// # impl Mine {
/// // In `impl Backend for Mine`, beside `impl Administration for Mine`:
/// fn administration(&self) -> Option<AnyAdministration<'_>> {
///     Some(AnyAdministration::new(self))
/// }
/// # }
/// ```
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

    /// Closes connections and ends all streams. Later calls fail with
    /// [`Closed`](crate::ErrorKind::Closed).
    fn close(&self) -> impl Future<Output = Result<()>> + Send;

    /// Where it keeps what schedules have done, if it does.
    fn ledger(&self) -> Option<AnyLedger<'_>> {
        None
    }

    /// Its mutexes as a whole, if it can tell them from other data.
    fn inventory(&self) -> Option<AnyInventory<'_>> {
        None
    }

    /// What a person may do to it and ask of it, if anything.
    fn administration(&self) -> Option<AnyAdministration<'_>> {
        None
    }
}

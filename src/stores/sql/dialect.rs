//! [`Dialect`]: what a database has of its own.

use std::sync::Arc;
use std::time::Duration;

use super::batch::Passed;
use super::client::Client;
use super::pool::Answers;
use super::prune::Removed;
use super::question::{
    ClaimTick, Create, Find, FindMany, FinishTick, Free, Inspect, List, ListLedgers, ReadLedger,
    Survey,
};
use super::row::Row;
use super::schema::Inspected;
use crate::backend::{Answer, Bid, Held, Profile};
use crate::error::Result;
use crate::model::MutexOwner;

/// A database as the [`Client`] sees it: what it answers, and where it goes a
/// way of its own.
///
/// Acquiring and renewing are such ways. MySQL has no statement that takes a
/// row and shows it: there a take is several statements, in which a row may
/// come, go or be freed in between, and a renewal says only how many rows it
/// reached. PostgreSQL does either in one statement that says all. One flow for
/// both would hide which of these gaps each of them has to close.
pub(in crate::stores) trait Dialect:
    Sized
    + Answers<Inspect>
    + Answers<Create>
    + Answers<Survey>
    + Answers<Find>
    + Answers<FindMany>
    + Answers<Free>
    + Answers<List>
    + Answers<ReadLedger>
    + Answers<ListLedgers>
    + Answers<ClaimTick>
    + Answers<FinishTick>
{
    /// What the client is called where one looks at it.
    const NAME: &'static str;

    /// How many names one statement asks for: each is a parameter, of which a
    /// statement may have only so many.
    const TOGETHER: usize;

    /// Whether a row has the nonce of the bid that won it. Without it, a bid
    /// finds its own grant again only under an id that no other bid uses.
    const HAS_NONCE: bool;

    fn profile(&self) -> Profile;

    /// The table of mutexes and that of ledgers, as they stand in statements.
    fn tables(&self) -> [&str; 2];

    /// The statements that make the two.
    fn ddl(&self) -> [String; 2];

    /// An error when the table that was found cannot serve; otherwise what it
    /// is like may be remembered.
    fn fit(&self, found: &Inspected) -> Result<()>;

    /// Says whether the table of ledgers has room for notes.
    fn keep_notes(&self, keep: bool);

    /// Learns what else must be known of the server before the first bid.
    fn greet(client: &Client<Self>) -> impl Future<Output = Result<()>> + Send;

    /// The owner that a row shows.
    fn owner_in(row: &Row) -> Result<MutexOwner>;

    fn acquire(client: &Client<Self>, bid: &Bid) -> impl Future<Output = Result<Answer>> + Send;

    /// Renews `some`, which have the same terms, around the rows that others
    /// hold; what came of each, in the same order.
    fn renew(
        client: &Client<Self>,
        some: &Arc<[Held]>,
    ) -> impl Future<Output = Result<Vec<Passed>>> + Send;

    /// Removes rows that have been free for so long, as many as is good at a
    /// time; ledgers too, if asked. They go first: a row that is gone could not
    /// say that the schedule of a ledger is owned.
    fn remove(
        client: &Client<Self>,
        unused_for: Duration,
        ledgers: bool,
    ) -> impl Future<Output = Result<Removed>> + Send;

    /// Tells the listeners of this process, until the last has gone.
    fn watch(client: Client<Self>) -> impl Future<Output = ()> + Send;
}

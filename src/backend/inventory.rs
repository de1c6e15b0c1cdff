//! [`Inventory`]: what a store holds, to be looked through and tidied up.

use std::fmt;

use super::traced::{Boxed, boxed, span};
use super::{Listing, Page, Prune, Pruned};
use crate::error::Result;

/// The mutexes of a store as a whole. A store that can tell its mutexes from
/// other data says so in [`Backend::inventory`](super::Backend::inventory);
/// where they look like any other keys, each can be used, but not found.
pub trait Inventory: Send + Sync {
    /// The mutexes of the store, a page at a time, in the order of their names.
    /// One that cannot be made out is an entry with a fault, not an error. A
    /// page may have fewer entries than it asks for, or none, and a
    /// [next](Listing::next_page) all the same, where the store needs more than
    /// one call to find them.
    fn list(&self, page: &Page) -> impl Future<Output = Result<Listing>> + Send;

    /// Removes what no process has used for a time, in steps: the answer may have
    /// a bookmark, with which to ask again. Tokens rise all the same.
    fn prune(&self, prune: &Prune) -> impl Future<Output = Result<Pruned>> + Send;
}

/// Any [`Inventory`], its type forgotten. A call costs one box and runs in a
/// span.
#[derive(Clone, Copy)]
pub struct AnyInventory<'a>(&'a dyn Erased);

impl<'a> AnyInventory<'a> {
    /// Forgets the type of `inventory`.
    pub fn new(inventory: &'a impl Inventory) -> Self {
        Self(inventory)
    }
}

impl fmt::Debug for AnyInventory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyInventory")
    }
}

/// [`Inventory`] with boxed futures, which a trait object can have.
trait Erased: Send + Sync {
    fn list<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Listing>>;
    fn prune<'a>(&'a self, prune: &'a Prune) -> Boxed<'a, Result<Pruned>>;
}

impl<I: Inventory> Erased for I {
    fn list<'a>(&'a self, page: &'a Page) -> Boxed<'a, Result<Listing>> {
        boxed(span!("list"), Inventory::list(self, page))
    }
    fn prune<'a>(&'a self, prune: &'a Prune) -> Boxed<'a, Result<Pruned>> {
        boxed(span!("prune"), Inventory::prune(self, prune))
    }
}

impl Inventory for AnyInventory<'_> {
    async fn list(&self, page: &Page) -> Result<Listing> {
        self.0.list(page).await
    }
    async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        self.0.prune(prune).await
    }
}

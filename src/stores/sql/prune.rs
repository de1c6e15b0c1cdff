//! Removing rows that have been free for long.

use super::client::Client;
use super::dialect::Dialect;
use super::question::Inspect;
use super::schema::LedgerTable;
use crate::backend::{Bookmark, Prune, Pruned};
use crate::error::Result;

pub(in crate::stores) struct Removed {
    pub(in crate::stores) rows: u64,
    pub(in crate::stores) ledgers: u64,
    /// Whether there is more, and it is worth asking again.
    pub(in crate::stores) more: bool,
}

/// There was more to remove. Where to go on needs no note: what was removed is
/// not found again.
struct More;

impl<D: Dialect> Client<D> {
    pub(super) async fn prune_step(&self, prune: &Prune) -> Result<Pruned> {
        let ledgers = prune.schedules && self.ask(Inspect).await?.ledgers != LedgerTable::Missing;
        let removed = D::remove(self, prune.unused_for, ledgers).await?;
        let pruned = Pruned::of(removed.rows, removed.ledgers);
        if removed.more {
            return Ok(pruned.to_be_continued(Bookmark::new(More)));
        }
        Ok(pruned)
    }
}

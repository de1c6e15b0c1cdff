//! Pages of mutexes.

use std::collections::HashSet;

use super::client::Client;
use super::dialect::Dialect;
use super::question::{FindMany, List};
use super::row::Row;
use crate::backend::{Entry, Listing, Page};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};

impl<D: Dialect> Client<D> {
    pub(super) async fn list_page(&self, page: &Page) -> Result<Listing> {
        let (mut rows, mut now) = (Vec::new(), None);
        if let Some(names) = &page.names {
            for some in names.chunks(D::TOGETHER) {
                let found = self.ask(FindMany(some.to_vec())).await?;
                // Not those that the collation holds equal.
                let meant: HashSet<&str> = some.iter().map(MutexName::as_str).collect();
                let is_meant = |row: &Row| meant.contains(row.mutex.as_str());
                rows.extend(found.rows.into_iter().filter(is_meant));
                now = found.now.or(now);
            }
        } else {
            let (after, most) = (page.after.clone(), page.limit.saturating_add(1) as u64);
            let found = self.ask(List { after, most }).await?;
            (rows, now) = (found.rows, found.now);
        }
        // A free row only keeps the number of the last grant, so that tokens
        // rise: it is no mutex to show, unless it is damaged.
        let told = rows
            .iter()
            .filter(|row| !row.is_free() || row.fault().is_some());
        let entries = told.map(|row| row.entry(D::owner_in(row))).collect();
        let now = now.unwrap_or_else(|| self.about_now());
        Ok(listing(entries, page, now))
    }
}

/// A page of entries that come in the order of the server.
fn listing(entries: Vec<Entry>, page: &Page, now: StoreTime) -> Listing {
    let mut listing = Listing::of(entries, page, now);
    // One that is no text is shown, and cannot tell the server where to go on.
    if listing
        .next
        .as_ref()
        .is_some_and(|next| page.after.as_ref() >= Some(next))
    {
        listing.next = None;
    }
    listing
        .entries
        .sort_by(|left, right| left.name.cmp(&right.name));
    listing
}

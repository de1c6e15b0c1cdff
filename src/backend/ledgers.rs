//! [`Ledgers`]: the ledgers that a store holds, for people.

use super::{Bookmark, LedgerEntry, Page};
use crate::model::{MutexName, StoreTime};

/// One ledger in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerLine {
    /// Whose it is, as [found](MutexName::found).
    pub name: MutexName,
    /// What it holds, if that can be made out.
    pub ledger: Option<LedgerEntry>,
    /// What is wrong with it, and what a person can do.
    pub fault: Option<Box<str>>,
}

impl LedgerLine {
    /// A ledger as it should be.
    #[must_use]
    pub fn new(name: MutexName, ledger: LedgerEntry) -> Self {
        Self {
            name,
            ledger: Some(ledger),
            fault: None,
        }
    }

    /// A ledger that cannot be made out, and why.
    #[must_use]
    pub fn damaged(name: MutexName, fault: impl Into<Box<str>>) -> Self {
        Self {
            name,
            ledger: None,
            fault: Some(fault.into()),
        }
    }
}

/// A page of ledgers, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledgers {
    /// The ledgers.
    pub lines: Vec<LedgerLine>,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<MutexName>,
    /// The store's time, to which the ledgers' times compare.
    pub now: StoreTime,
    /// What the store keeps for the next page.
    pub bookmark: Option<Bookmark>,
}

impl Ledgers {
    /// A page; pass it one more line than `page` asks for, if there is one.
    #[must_use]
    pub fn of(mut lines: Vec<LedgerLine>, page: &Page, now: StoreTime) -> Self {
        let more = lines.len() > page.limit;
        lines.truncate(page.limit);
        let last = lines.last().filter(|_| more);
        Self {
            next: last.map(|line| line.name.clone()),
            lines,
            now,
            bookmark: None,
        }
    }

    /// The same, with what the store keeps for the next page.
    #[must_use]
    pub fn with_bookmark(self, bookmark: Bookmark) -> Self {
        Self {
            bookmark: Some(bookmark),
            ..self
        }
    }

    /// The page after this one, of the same size as `page`; `None` when this
    /// was the last.
    #[must_use]
    pub fn next_page(&self, page: &Page) -> Option<Page> {
        let next = self.next.clone()?;
        Some(Page {
            bookmark: self.bookmark.clone(),
            ..Page::first(page.limit).after(next)
        })
    }
}

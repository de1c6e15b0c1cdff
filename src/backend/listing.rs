//! [`Listing`]: what a store holds, for people.

use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, StoreTime};

/// Which part of a listing is wanted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page {
    /// Only names after this one.
    pub after: Option<MutexName>,
    /// At most this many entries.
    pub limit: usize,
}

impl Page {
    /// The first `limit` entries.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            after: None,
            limit: limit.max(1),
        }
    }

    /// The entries after `name`.
    #[must_use]
    pub fn after(self, name: MutexName) -> Self {
        Self {
            after: Some(name),
            ..self
        }
    }
}

/// One mutex in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: MutexName,
    /// Who owns it.
    pub owner: MutexOwner,
    /// The token of its last grant, where the store knows one.
    pub token: Option<FencingToken>,
    /// Who waits for it, first come first, where the store knows.
    pub waiters: Vec<ContenderId>,
}

impl Entry {
    /// A mutex without waiters.
    #[must_use]
    pub fn new(name: MutexName, owner: MutexOwner, token: Option<FencingToken>) -> Self {
        Self {
            name,
            owner,
            token,
            waiters: Vec::new(),
        }
    }

    /// The same with these waiters.
    #[must_use]
    pub fn with_waiters(self, waiters: Vec<ContenderId>) -> Self {
        Self { waiters, ..self }
    }
}

/// A page of mutexes, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The mutexes.
    pub entries: Vec<Entry>,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<MutexName>,
    /// The store's time, to which the owners' times compare.
    pub now: StoreTime,
}

impl Listing {
    /// A page; pass it one more entry than `page` asks for, if there is one.
    #[must_use]
    pub fn of(mut entries: Vec<Entry>, page: &Page, now: StoreTime) -> Self {
        let more = entries.len() > page.limit;
        entries.truncate(page.limit);
        let next = if more {
            entries.last().map(|entry| entry.name.clone())
        } else {
            None
        };
        Self { entries, next, now }
    }
}

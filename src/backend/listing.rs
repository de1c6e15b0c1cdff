//! [`Listing`]: what a store holds, for people.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::model::{ContenderId, FencingToken, MutexName, MutexOwner, Purpose, StoreTime};

/// Which part of a listing is wanted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page {
    /// Only names after this one.
    pub after: Option<MutexName>,
    /// At most this many entries.
    pub limit: usize,
    /// Only these, each looked up by itself. A page of names has no next.
    pub names: Option<Arc<[MutexName]>>,
    /// What the store kept of the page before.
    pub bookmark: Option<Bookmark>,
}

impl Page {
    /// The first `limit` entries.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            after: None,
            limit: limit.max(1),
            names: None,
            bookmark: None,
        }
    }

    /// The entries after `name`. A caller that has the listing before uses
    /// [`Listing::next_page`], which lets the store go on where it stopped.
    #[must_use]
    pub fn after(self, name: MutexName) -> Self {
        Self {
            after: Some(name),
            bookmark: None,
            ..self
        }
    }

    /// Those of `names` that are in use or damaged, without a look at others.
    #[must_use]
    pub fn of(names: impl IntoIterator<Item = MutexName>) -> Self {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        Self {
            names: Some(names.into()),
            ..Self::first(usize::MAX)
        }
    }

    /// Whether `name` can be on this page.
    #[must_use]
    pub fn wants(&self, name: &MutexName) -> bool {
        let later = self.after.as_ref().is_none_or(|after| name > after);
        later && self.names.as_ref().is_none_or(|names| names.contains(name))
    }
}

/// What a store keeps between two pages, in the caller's hands: it is gone
/// when the caller drops it, and asking without it is slower, not wrong.
#[derive(Clone)]
pub struct Bookmark(Arc<dyn Any + Send + Sync>);

impl Bookmark {
    /// Keeps `what`.
    pub fn new(what: impl Any + Send + Sync) -> Self {
        Self(Arc::new(what))
    }

    /// What was kept, if it was a `T`.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl PartialEq for Bookmark {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Bookmark {}

impl fmt::Debug for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bookmark")
    }
}

/// One mutex in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Entry {
    /// Its name, as [found](MutexName::found).
    #[cfg_attr(feature = "serde", serde(deserialize_with = "found"))]
    pub name: MutexName,
    /// Who owns it.
    pub owner: MutexOwner,
    /// The token of its last grant, where the store knows one.
    pub token: Option<FencingToken>,
    /// Who waits for it, first come first, where the store knows.
    pub waiters: Vec<ContenderId>,
    /// What it is wanted for: as its owner says, or, where that says nothing,
    /// the first waiter that does. Unknown of contenders of other programs and
    /// of earlier versions, and where the store has no room for it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub purpose: Option<Purpose>,
    /// Whether its owner would go on after a revocation: a program of another
    /// kind that never looks at its grant again. Then two believe to own, until
    /// that program is ended.
    #[cfg_attr(feature = "serde", serde(default))]
    pub owner_goes_on: bool,
    /// What is wrong with what the store has of it, and what a person can do.
    /// Who owns it may be unknown then.
    #[cfg_attr(feature = "serde", serde(default))]
    pub fault: Option<Box<str>>,
}

impl Entry {
    /// A mutex without waiters. A name that no contender can have is
    /// its fault.
    #[must_use]
    pub fn new(name: MutexName, owner: MutexOwner, token: Option<FencingToken>) -> Self {
        let fault = name.fault().map(|fault| {
            format!("nobody here can contend for it: {fault}; revoking it frees it").into()
        });
        Self {
            name,
            owner,
            token,
            waiters: Vec::new(),
            purpose: None,
            owner_goes_on: false,
            fault,
        }
    }

    /// A mutex that cannot be made out, and why.
    #[must_use]
    pub fn damaged(name: MutexName, fault: impl Into<Box<str>>) -> Self {
        let entry = Self::new(name, MutexOwner::NONE, None);
        Self {
            fault: Some(fault.into()),
            ..entry
        }
    }

    /// The same with these waiters.
    #[must_use]
    pub fn with_waiters(self, waiters: Vec<ContenderId>) -> Self {
        Self { waiters, ..self }
    }

    /// The same, wanted for this.
    #[must_use]
    pub fn wanted_for(self, purpose: Option<Purpose>) -> Self {
        Self { purpose, ..self }
    }
}

#[cfg(feature = "serde")]
fn found<'de, D: serde::Deserializer<'de>>(from: D) -> Result<MutexName, D::Error> {
    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(from)?;
    Ok(MutexName::found(text.as_bytes()))
}

impl Listed for Entry {
    fn name(&self) -> &MutexName {
        &self.name
    }
}

/// What can stand in a [`Listing`].
pub trait Listed {
    /// By which it is ordered.
    fn name(&self) -> &MutexName;
}

/// A page of mutexes, or of [ledgers](super::LedgerLine), in the order of their
/// names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing<T = Entry> {
    /// What is on it.
    pub entries: Vec<T>,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<MutexName>,
    /// The store's time, to which the times of the entries compare.
    pub now: StoreTime,
    /// What the store keeps for the next page.
    pub bookmark: Option<Bookmark>,
}

impl<T: Listed> Listing<T> {
    /// A page; pass it one more entry than `page` asks for, if there is one.
    #[must_use]
    pub fn of(mut entries: Vec<T>, page: &Page, now: StoreTime) -> Self {
        let more = entries.len() > page.limit;
        entries.truncate(page.limit);
        let last = entries.last().filter(|_| more);
        Self {
            next: last.map(|entry| entry.name().clone()),
            entries,
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

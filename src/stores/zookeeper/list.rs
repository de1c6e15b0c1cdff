//! All mutexes, a page at a time.
//!
//! The names are listed once, for the first page, and kept by the caller for
//! the pages after it. What is wrong with one node is told beside the others.

use std::sync::Arc;

use futures_util::future::join_all;
use zookeeper_client::Error as Fault;

use super::client::Store;
use super::owner::{fault_of, id, sorted};
use super::session::Session;
use super::{error, path};
use crate::backend::{Bookmark, Entry, Listing, Page};
use crate::error::{Error, ErrorKind, Result};
use crate::model::MutexName;

/// How many mutexes are read at a time: their requests go out together, and
/// their answers come together.
const TOGETHER: usize = 500;

/// How many waiters of a mutex are told.
const WAITERS: usize = 1000;

impl Store {
    pub(super) async fn list(&self, page: &Page) -> Result<Listing> {
        let session = self.session()?;
        let kept = page.bookmark.as_ref();
        let kept = kept.and_then(|kept| kept.get::<Arc<Vec<MutexName>>>());
        let names: Arc<Vec<MutexName>> = match (&page.names, kept) {
            (Some(names), _) => {
                let root = self.config.paths.latches();
                let synced = session.client().sync(root).await;
                match synced {
                    Ok(()) | Err(Fault::NoNode) => Arc::new(names.to_vec()),
                    Err(error) => return Err(error::read(error)),
                }
            }
            (None, Some(kept)) => Arc::clone(kept),
            (None, None) => Arc::new(self.names(&session).await?),
        };
        let from = match &page.after {
            Some(after) => names.partition_point(|name| name <= after),
            None => 0,
        };
        let mut entries = Vec::new();
        for some in names[from..].chunks(TOGETHER) {
            let found = join_all(some.iter().map(|name| self.entry(&session, name))).await;
            for entry in found {
                entries.extend(entry?);
            }
            if entries.len() > page.limit {
                break;
            }
        }
        let listing = Listing::of(entries, page, self.now());
        Ok(listing.with_bookmark(Bookmark::new(names)))
    }

    /// The names of all mutexes, in order.
    pub(super) async fn names(&self, session: &Session) -> Result<Vec<MutexName>> {
        let components = self.synced(session, self.config.paths.latches()).await?;
        let paths = &self.config.paths;
        let mut names: Vec<_> = components.iter().map(|part| paths.name(part)).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The mutex `name` with all who wait; `None` when it has no contenders.
    async fn entry(&self, session: &Session, name: &MutexName) -> Result<Option<Entry>> {
        if !path::is_stray(name) && self.config.paths.check(name).is_err() {
            // It has no path here, so it has no contenders.
            return Ok(None);
        }
        let dir = self.config.paths.mutex(name);
        let damaged = |fault: String| Ok(Some(Entry::damaged(name.clone(), fault)));
        let client = session.client();
        let children = match sorted(client.list_children(&dir).await, error::read) {
            Ok(children) => children,
            Err(error) if is_its_own(&error) => return damaged(error.to_string()),
            Err(error) => return Err(error),
        };
        if children.is_empty() {
            return Ok(None);
        }
        if path::is_stray(name) {
            return damaged(format!(
                "the node {dir} is not how the name of a mutex is written, and has {} children; \
                 revoke it",
                children.len()
            ));
        }
        let first = children.iter().take(WAITERS + 1);
        let paths: Vec<_> = first.map(|child| format!("{dir}/{child}")).collect();
        let read = join_all(paths.iter().map(|path| client.get_data(path))).await;
        let mut entry: Option<Entry> = None;
        let mut waiters = Vec::new();
        let mut trouble = None;
        let mut purpose = None;
        for (child, read) in children.iter().zip(read) {
            let (data, stat) = match read {
                Ok(read) => read,
                Err(Fault::NoNode) => continue,
                Err(error) => {
                    let error = error::read(error);
                    if is_its_own(&error) {
                        return damaged(format!("the node {child:?}: {error}"));
                    }
                    return Err(error);
                }
            };
            let known = self.known_owner(session, name, child);
            if known.is_none()
                && let Some(fault) = fault_of(child, &data, &stat)
            {
                let fault = format!("{fault}; revoke it");
                if entry.is_none() {
                    return damaged(fault);
                }
                trouble = trouble.or(Some(fault));
                continue;
            }
            purpose = purpose.or_else(|| path::nonce_of(child)?.purpose());
            if entry.is_some() {
                waiters.extend(id(&data, child));
                continue;
            }
            let owner = match known {
                Some(owner) => owner,
                None => self.remember(name, child, &data, &stat)?,
            };
            let token = owner.token();
            let mut first = Entry::new(name.clone(), owner, token);
            first.owner_goes_on = !path::is_ours(child);
            entry = Some(first);
        }
        Ok(entry.map(|entry| {
            let mut entry = entry.with_waiters(waiters).wanted_for(purpose);
            if let Some(trouble) = trouble {
                entry.fault = Some(trouble.into());
            }
            entry
        }))
    }
}

/// Whether the trouble is that of one node, and not of the connection.
fn is_its_own(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Denied | ErrorKind::Invalid | ErrorKind::Conflict
    )
}

//! The ledgers of the store, a page at a time: the children of
//! `/tenure/schedule`, listed once and kept by the caller for the pages after.

use std::sync::Arc;

use futures_util::future::join_all;
use zookeeper_client::Error as Fault;

use super::client::Store;
use super::ledger::parse;
use super::session::Session;
use super::{clock, error, path};
use crate::backend::{Bookmark, LedgerLine, Ledgers, Page};
use crate::error::{ErrorKind, Result};
use crate::model::MutexName;

/// How many nodes are read at a time: their requests go out together.
const TOGETHER: usize = 500;

impl Store {
    pub(super) async fn list_ledgers(&self, page: &Page) -> Result<Ledgers> {
        let session = self.session()?;
        let kept = page.bookmark.as_ref();
        let kept = kept.and_then(|kept| kept.get::<Arc<Vec<MutexName>>>());
        let names: Arc<Vec<MutexName>> = match (&page.names, kept) {
            (None, Some(kept)) => Arc::clone(kept),
            (wanted, _) => {
                // Listed also when some are wanted: it brings their latest.
                let found = self.synced(&session, self.config.paths.schedules()).await?;
                let mut names: Vec<_> = found.iter().map(|part| path::found(part)).collect();
                names.sort_unstable();
                if let Some(wanted) = wanted {
                    names.retain(|name| wanted.contains(name));
                }
                Arc::new(names)
            }
        };
        let from = match &page.after {
            Some(after) => names.partition_point(|name| name <= after),
            None => 0,
        };
        let mut lines = Vec::new();
        for some in names[from..].chunks(TOGETHER) {
            let read = some.iter().map(|name| self.ledger_line(&session, name));
            for line in join_all(read).await {
                lines.extend(line?);
            }
            if lines.len() > page.limit {
                break;
            }
        }
        let ledgers = Ledgers::of(lines, page, self.now());
        Ok(ledgers.with_bookmark(Bookmark::new(names)))
    }

    /// The ledger of `name`, whatever its node holds; `None` when it has gone.
    async fn ledger_line(&self, session: &Session, name: &MutexName) -> Result<Option<LedgerLine>> {
        let path = self.config.paths.schedule(name);
        let damaged = |fault: String| Ok(Some(LedgerLine::damaged(name.clone(), fault)));
        if path::is_stray(name) {
            return damaged(format!(
                "the node {path} is not how the name of a schedule is written: delete it"
            ));
        }
        match session.client().get_data(&path).await {
            Ok((data, stat)) => {
                self.saw(clock::time(stat.mtime));
                match parse(&data) {
                    Some(entry) => Ok(Some(LedgerLine::new(name.clone(), entry))),
                    None => damaged(format!(
                        "the node {path} does not hold a schedule's ledger: delete it, and the \
                         schedule begins anew"
                    )),
                }
            }
            Err(Fault::NoNode) => Ok(None),
            Err(error) => {
                let error = error::read(error);
                if error.kind() == ErrorKind::Denied {
                    return damaged(format!("the node {path} may not be read: {error}"));
                }
                Err(error)
            }
        }
    }
}

//! Removing nodes that no process has used for long: ledgers of schedules, and
//! parents without contenders.
//!
//! Most parents are container nodes, which the server itself removes. Tokens
//! are transaction numbers of the ensemble: they rise whatever is removed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use zookeeper_client::{Error as Fault, Stat};

use super::client::Store;
use super::owner::sorted;
use super::session::Session;
use super::{clock, error, path};
use crate::backend::{Bookmark, Prune, Pruned};
use crate::error::Result;
use crate::model::MutexName;

/// How many nodes one call looks at, together.
const TOGETHER: usize = 500;

/// What is still to be looked at.
struct Rest {
    mutexes: Vec<MutexName>,
    schedules: Vec<MutexName>,
    done: usize,
}

impl Store {
    pub(super) async fn prune(&self, prune: &Prune) -> Result<Pruned> {
        let session = self.session()?;
        let kept = prune.bookmark.as_ref();
        let rest = match kept.and_then(|kept| kept.get::<Arc<Rest>>()) {
            Some(rest) => Arc::clone(rest),
            None => Arc::new(self.rest(&session, prune).await?),
        };
        let (unused, session) = (prune.unused_for, &*session);
        let all = rest.schedules.len() + rest.mutexes.len();
        let end = all.min(rest.done + TOGETHER);
        // Ledgers first: a parent that is gone says nothing of its contenders.
        let schedules = rest.schedules.iter().skip(rest.done).take(end - rest.done);
        let ledgers = schedules.map(|name| self.prune_ledger(session, name, unused));
        let ledgers = count(join_all(ledgers).await)?;
        let from = rest.done.max(rest.schedules.len()) - rest.schedules.len();
        let to = end.max(rest.schedules.len()) - rest.schedules.len();
        let parents = rest.mutexes[from..to].iter();
        let parents = parents.map(|name| self.prune_parent(session, name, unused));
        let pruned = Pruned::of(count(join_all(parents).await)?, ledgers);
        if end == all {
            return Ok(pruned);
        }
        let rest = Rest {
            mutexes: rest.mutexes.clone(),
            schedules: rest.schedules.clone(),
            done: end,
        };
        Ok(pruned.to_be_continued(Bookmark::new(Arc::new(rest))))
    }

    async fn rest(&self, session: &Session, prune: &Prune) -> Result<Rest> {
        let schedules = match prune.schedules {
            true => {
                let found = self.synced(session, self.config.paths.schedules()).await?;
                found.iter().map(|part| path::found(part)).collect()
            }
            false => Vec::new(),
        };
        Ok(Rest {
            mutexes: self.names(session).await?,
            schedules,
            done: 0,
        })
    }

    fn is_old(&self, at: i64, unused: Duration) -> bool {
        clock::time(at) + unused < self.now()
    }

    /// True when this call deleted the ledger of `name`.
    async fn prune_ledger(
        &self,
        session: &Session,
        name: &MutexName,
        unused: Duration,
    ) -> Result<bool> {
        let node = self.config.paths.schedule(name);
        let Some(stat) = self.stat(session, &node).await? else {
            return Ok(false);
        };
        // Every claim and every end of a run writes it.
        if path::is_stray(name) || !self.is_old(stat.mtime, unused) {
            return Ok(false);
        }
        // Ledgers are encoded whatever the URL says of names, so its contenders
        // may stand at either path.
        for dir in self.config.paths.everywhere(name) {
            let contenders = session.client().list_children(&dir).await;
            if !sorted(contenders, error::read)?.is_empty() {
                return Ok(false);
            }
        }
        self.delete_unless(session, &node, Some(stat.version)).await
    }

    /// True when this call deleted the parent of a mutex without contenders.
    async fn prune_parent(
        &self,
        session: &Session,
        name: &MutexName,
        unused: Duration,
    ) -> Result<bool> {
        let dir = self.config.paths.mutex(name);
        match self.stat(session, &dir).await? {
            Some(stat) if stat.num_children == 0 && self.is_old(stat.ctime, unused) => {
                self.delete_unless(session, &dir, None).await
            }
            _ => Ok(false),
        }
    }

    async fn stat(&self, session: &Session, path: &str) -> Result<Option<Stat>> {
        let read = session.client().check_stat(path).await;
        read.map_err(error::read)
    }

    /// False when a contender has used it meanwhile, or we may not.
    async fn delete_unless(
        &self,
        session: &Session,
        path: &str,
        version: Option<i32>,
    ) -> Result<bool> {
        match session.client().delete(path, version).await {
            Ok(()) => Ok(true),
            Err(Fault::NoNode | Fault::BadVersion | Fault::NotEmpty | Fault::NoAuth) => Ok(false),
            Err(error) => Err(error::write(error)),
        }
    }
}

fn count(done: Vec<Result<bool>>) -> Result<u64> {
    let mut sum = 0;
    for done in done {
        sum += u64::from(done?);
    }
    Ok(sum)
}

//! The database file itself, whatever it is called: held open by this process,
//! and locked for as long as one of its clients uses it.
//!
//! Two rules make this a file of its own:
//!
//! - **A descriptor of a database is never closed while somebody in this
//!   process may use that database.** Closing any descriptor of a file drops
//!   all POSIX locks that the process has on it, SQLite's among them. So there
//!   is one per file, kept until the file is deleted.
//! - **Everybody who uses the file holds a shared `flock` on it.** It is how
//!   one who opens it learns whether somebody who lives has it in use. It
//!   cannot be deleted apart from the database, ends with the process whatever
//!   kills it, is seen through every name, mount and container, and does not
//!   touch SQLite's locks, which are of another kind.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::io_failed;
use super::file::{Identity, identity, identity_of};
use super::open;
use crate::error::Result;

/// All that this process has ever opened and that is still there.
static ALL: Mutex<Vec<Arc<Inode>>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub(super) struct Inode {
    pub(super) file: File,
    pub(super) identity: Identity,
    /// Opened twice by a race of names: not to be closed either.
    spare: Mutex<Vec<File>>,
    users: Mutex<Users>,
}

/// The clients of this process.
#[derive(Debug, Default)]
struct Users {
    count: usize,
    /// Whether the shared lock is ours.
    locked: bool,
}

impl Inode {
    /// What lies at `path`.
    pub(super) fn at(path: &Path) -> io::Result<Arc<Self>> {
        let mut all = lock(&ALL);
        all.retain(Inode::is_needed);
        if let Ok(identity) = identity_of(path)
            && let Some(known) = find(&all, identity)
        {
            return Ok(known);
        }
        let file = open::existing(path)?;
        let identity = identity(&file)?;
        if let Some(known) = find(&all, identity) {
            lock(&known.spare).push(file);
            return Ok(known);
        }
        Ok(keep(&mut all, file, identity))
    }

    /// A new file at `path`.
    pub(super) fn create(path: &Path, mode: u32) -> io::Result<Arc<Self>> {
        let mut all = lock(&ALL);
        let file = open::create_new(path, mode)?;
        let identity = identity(&file)?;
        Ok(keep(&mut all, file, identity))
    }

    fn is_needed(self: &Arc<Self>) -> bool {
        use std::os::unix::fs::MetadataExt;
        let is_deleted = self.file.metadata().is_ok_and(|found| found.nlink() == 0);
        !is_deleted || Arc::strong_count(self) > 1
    }

    /// Enters the users of the file. Who finds nobody else there does `alone`
    /// before anybody can come in; `limit` is how long to wait for one who
    /// does.
    pub(super) fn enter(
        self: &Arc<Self>,
        path: &Path,
        limit: Duration,
        alone: impl FnOnce() -> Result<()>,
    ) -> Result<InUse> {
        let mut users = lock(&self.users);
        if !users.locked {
            match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if users.count == 0 => {
                    if let Err(error) = alone() {
                        let _ = flock(&self.file, FlockOperation::Unlock);
                        return Err(error);
                    }
                }
                Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(io_failed("lock", path, error.into())),
            }
            // From exclusive to shared is no single step: another may have been
            // alone in between. So nobody relies on what it did there.
            let end = Instant::now() + limit;
            users.locked = self.share();
            while !users.locked && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
                users.locked = self.share();
            }
            if !users.locked {
                tracing::warn!(
                    target: "tenure::store",
                    file = %path.display(),
                    "a program that is not Tenure holds an exclusive lock (flock) on the SQLite file"
                );
            }
        }
        users.count += 1;
        Ok(InUse(Arc::clone(self)))
    }

    fn share(&self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok()
    }
}

/// Counts as a living user of the file until it is dropped.
#[derive(Debug)]
pub(super) struct InUse(Arc<Inode>);

impl InUse {
    /// Takes the lock that a stranger kept from us, if it is free now.
    pub(super) fn insist(&self) {
        let mut users = lock(&self.0.users);
        if !users.locked {
            users.locked = self.0.share();
        }
    }

    pub(super) fn identity(&self) -> Identity {
        self.0.identity
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut users = lock(&self.0.users);
        users.count -= 1;
        if users.count == 0 {
            users.locked = false;
            let _ = flock(&self.0.file, FlockOperation::Unlock);
        }
    }
}

fn find(all: &[Arc<Inode>], identity: Identity) -> Option<Arc<Inode>> {
    all.iter().find(|known| known.identity == identity).cloned()
}

fn keep(all: &mut Vec<Arc<Inode>>, file: File, identity: Identity) -> Arc<Inode> {
    let inode = Arc::new(Inode {
        file,
        identity,
        spare: Mutex::default(),
        users: Mutex::default(),
    });
    all.push(Arc::clone(&inode));
    inode
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The database file itself, whatever it is called: held open by this process,
//! and locked from its first use until the process ends.
//!
//! Two rules make this a file of its own:
//!
//! - **A descriptor of a database is never closed while a client in this
//!   process may use that database.** Closing any descriptor of a file drops
//!   all POSIX locks that the process has on it, SQLite's among them. So there
//!   is one per file, kept until the file is deleted.
//! - **Every process that uses the file has its lock, shared** (`presence`). It is
//!   how one that opens it learns whether a process that lives has it in use. It
//!   cannot be deleted apart from the database, ends with the process whatever
//!   kills it, is seen through every name, mount and container, and does not
//!   touch SQLite's locks, which are on other bytes. It outlasts the clients:
//!   what they own may be used by a callback that has not returned, until the
//!   lease runs out.
//!
//! An earlier version had a shared `flock` and nothing else. So every client
//! holds that too, and a process that holds one counts as alive. Any program that can
//! read the file may keep it from us, so nothing else rests on it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::audience::{Attention, Audience};
use super::error::io_failed;
use super::file::{Identity, identity, identity_of};
use super::open;
use super::presence::{self, Byte};
use super::wake_file::Listening;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::sync::Mutex;

/// All that this process has ever opened and that is still there.
static ALL: Mutex<Vec<Arc<Inode>>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub(super) struct Inode {
    pub(super) file: File,
    pub(super) identity: Identity,
    /// Opened twice by a race of names: not to be closed either.
    spare: Mutex<Vec<File>>,
    users: Mutex<Users>,
    audience: Audience,
}

/// The clients of this process.
#[derive(Debug, Default)]
struct Users {
    count: usize,
    /// Whether the lock of earlier versions is ours too.
    has_flock: bool,
    /// Whether one of them has got so far that it may have owned something.
    is_settled: bool,
}

impl Inode {
    /// What lies at `path`.
    pub(super) fn at(path: &Path) -> io::Result<Arc<Self>> {
        let mut all = ALL.lock();
        all.retain(Inode::is_needed);
        if let Ok(identity) = identity_of(path)
            && let Some(known) = find(&all, identity)
        {
            return Ok(known);
        }
        let file = open::existing(path)?;
        let identity = identity(&file)?;
        if let Some(known) = find(&all, identity) {
            known.spare.lock().push(file);
            return Ok(known);
        }
        Ok(keep(&mut all, file, identity))
    }

    /// A new file at `path`.
    pub(super) fn create(path: &Path, mode: u32) -> io::Result<Arc<Self>> {
        let mut all = ALL.lock();
        let file = open::create_new(path, mode)?;
        let identity = identity(&file)?;
        Ok(keep(&mut all, file, identity))
    }

    fn is_needed(self: &Arc<Self>) -> bool {
        use std::os::unix::fs::MetadataExt;
        let is_deleted = self.file.metadata().is_ok_and(|found| found.nlink() == 0);
        !is_deleted || Arc::strong_count(self) > 1
    }

    /// Enters the users of the file. A process that finds no other there does
    /// `alone` before another can come in; `limit` is how long to wait for one
    /// that does.
    pub(super) fn enter(
        self: &Arc<Self>,
        path: &Path,
        limit: Duration,
        alone: impl FnOnce() -> Result<()>,
    ) -> Result<InUse> {
        let mut users = self.users.lock();
        if users.count == 0 {
            let entered = self.enter_first(path, limit, alone);
            match entered {
                Ok(has_flock) => users.has_flock = has_flock,
                Err(error) => {
                    self.leave(&mut users);
                    return Err(error);
                }
            }
        }
        users.count += 1;
        Ok(InUse {
            inode: Arc::clone(self),
            attention: Attention::default(),
        })
    }

    /// Returns whether it has the lock of earlier versions as well.
    fn enter_first(
        &self,
        path: &Path,
        limit: Duration,
        alone: impl FnOnce() -> Result<()>,
    ) -> Result<bool> {
        let fail = |error| io_failed("lock", path, error);
        let is_alone = presence::take_alone(&self.file, Byte::Lives).map_err(fail)?
            && self.flock(FlockOperation::NonBlockingLockExclusive);
        let done = if is_alone { alone() } else { Ok(()) };
        // From exclusive to shared is no single step with this one: another
        // may have been alone in between. So no process relies on what it did
        // there.
        let has_flock = self.flock(FlockOperation::NonBlockingLockShared);
        self.stay(path, limit)?;
        done.map(|()| has_flock)
    }

    /// The last client has gone, or the first has not come in. The lock that
    /// says who lives stays if any of them may have owned something. A process
    /// whose every opening failed never did: it must not pass for one who lives,
    /// or it would bar all others for as long as it tries again.
    fn leave(&self, users: &mut Users) {
        users.has_flock = false;
        self.flock(FlockOperation::Unlock);
        if !users.is_settled {
            // Nothing can be done about it, and the end of the process does it.
            let _ = presence::leave(&self.file, Byte::Lives);
        }
    }

    /// Becomes one of those who use the file, whatever it was before.
    fn stay(&self, path: &Path, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        while !presence::share(&self.file, Byte::Lives)
            .map_err(|error| io_failed("lock", path, error))?
        {
            if Instant::now() >= end {
                return Err(
                    Error::new(ErrorKind::Timeout, Outcome::DidNot).with_message(format!(
                        "another process that may write {path:?} has had it locked for longer than \
                         {limit:?} (see lslocks)"
                    )),
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn flock(&self, how: FlockOperation) -> bool {
        flock(&self.file, how).is_ok()
    }
}

/// A client that uses the file.
#[derive(Debug)]
pub(super) struct InUse {
    inode: Arc<Inode>,
    attention: Attention,
}

impl InUse {
    /// Lets earlier versions see that we live, if a stranger kept us from it.
    pub(super) fn show(&self) {
        let mut users = self.inode.users.lock();
        if !users.has_flock {
            users.has_flock = self.inode.flock(FlockOperation::NonBlockingLockShared);
        }
    }

    /// The opening has succeeded: from now on something may be owned.
    pub(super) fn settle(&self) {
        self.inode.users.lock().is_settled = true;
    }

    pub(super) fn identity(&self) -> Identity {
        self.inode.identity
    }

    /// Whether a client, of this process or another, listens to `what`.
    pub(super) fn is_heard(&self, what: Listening) -> bool {
        self.inode.audience.listens(&self.inode.file, what)
    }

    /// Shows to all who use the file what this client listens to.
    pub(super) fn listen_to(&mut self, what: Listening) {
        let inode = &self.inode;
        self.attention.show(&inode.audience, &inode.file, what);
    }

    pub(super) fn attention(&self) -> &Attention {
        &self.attention
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.listen_to(Listening::Not);
        let mut users = self.inode.users.lock();
        users.count -= 1;
        if users.count == 0 {
            self.inode.leave(&mut users);
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
        audience: Audience::default(),
    });
    all.push(Arc::clone(&inode));
    inode
}

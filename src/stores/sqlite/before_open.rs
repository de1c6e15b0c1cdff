//! What lies at the path before SQLite opens it, and whether it may.
//!
//! SQLite finds a log by its name alone: a log that was written for one file
//! is played into whatever file has that name now. The wake file remembers which
//! file the log beside it belongs to, so that also one who comes later notices
//! that another was moved over it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::error::{conflict, io_failed};
use super::file::{Files, Identity};
use super::inode::Inode;
use super::{header, open};
use crate::error::Result;

/// SQLite's files beside the database.
const SIDES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// From a file that is deleted to one that is created in its place.
const CREATION: Duration = Duration::from_millis(20);

/// In a wake file: eight bytes that change when it is written, then the mark.
const MARK_AT: u64 = 8;
const MAGIC: [u8; 8] = *b"tenrbell";

/// A file for ever: no other has both this number and this time of birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    /// Nanoseconds since 1970; 0 where the file system does not know.
    born: u64,
}

/// What was found at the path.
#[derive(Debug)]
struct Found {
    database: Option<Arc<Inode>>,
    /// Of SQLite's files, those that are there.
    sides: Vec<PathBuf>,
}

impl Files {
    /// Looks at everything and touches nothing. `before` is the file that this
    /// process has used under this name.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when SQLite must not open what
    /// lies there.
    pub(super) fn survey(&self, before: Option<Identity>) -> Result<()> {
        let looked = self.look(before).or_else(|_| {
            // Another may be creating it anew: then this is over soon.
            std::thread::sleep(CREATION);
            self.look(before)
        });
        looked.map(drop)
    }

    /// The database, created if it is not there. Only under the opening lock.
    pub(super) fn take(&self, before: Option<Identity>) -> Result<Arc<Inode>> {
        let found = self.look(before)?;
        let fail = |error| io_failed("create", &self.database, error);
        let database = match found.database {
            Some(database) if !is_empty(&database.file).map_err(fail)? => database,
            empty => {
                // What lies beside a database that is gone belongs to none,
                // and would be taken for the new one's.
                for side in &found.sides {
                    match std::fs::remove_file(side) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(io_failed("remove", side, error));
                        }
                        _ => {}
                    }
                }
                match empty {
                    Some(empty) => empty,
                    None => Inode::create(&self.database, self.mode).map_err(fail)?,
                }
            }
        };
        let mark = Mark::of(&database.file).map_err(fail)?;
        let wake_file = self.open_wake_file()?;
        // Before SQLite makes a log.
        wake_file
            .write_all_at(&mark.bytes(), MARK_AT)
            .map_err(|error| io_failed("write", &self.wake_file, error))?;
        Ok(database)
    }

    fn look(&self, before: Option<Identity>) -> Result<Found> {
        let database = match Inode::at(&self.database) {
            Ok(database) => Some(database),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Err(crate::error::Error::invalid(format!(
                    "{:?} is not a file: give the path of a file",
                    self.database
                )));
            }
            Err(error) => return Err(open::refused(&self.database, error)),
        };
        if let Some(database) = &database {
            self.examine(&database.file)?;
            match self.encrypted {
                true => header::examine_encrypted(&database.file, &self.database)?,
                false => header::examine(&database.file, &self.database, &self.beside("-wal"))?,
            }
        }
        let found = Found {
            database,
            sides: self.sides()?,
        };
        let (is_known, mark) = self.read_wake_file()?;
        self.examine_log(&found, is_known, mark, before)?;
        Ok(found)
    }

    /// Refuses a log that belongs to another database.
    fn examine_log(
        &self,
        found: &Found,
        is_known: bool,
        mark: Option<Mark>,
        before: Option<Identity>,
    ) -> Result<()> {
        let Some(side) = found.sides.first() else {
            return Ok(());
        };
        let fail = |error| io_failed("look at", &self.database, error);
        let path = &self.database;
        match &found.database {
            Some(database) if !is_empty(&database.file).map_err(fail)? => {
                let now = Mark::of(&database.file).map_err(fail)?;
                let other = match (mark, before) {
                    (Some(mark), _) if mark == now => None,
                    (Some(mark), _) => Some(mark.inode),
                    (None, Some(before)) if before != database.identity => Some(before.inode),
                    (None, _) => None,
                };
                let Some(other) = other else { return Ok(()) };
                Err(conflict(format!(
                    "{path:?} is another file (inode {}) than the one that {side:?} was written \
                     for (inode {other}), and would be destroyed by it: nothing was touched. Stop \
                     all users, then put the old file back, or remove {} to go on with the new \
                     one; if they were copied together, remove {:?} instead",
                    now.inode,
                    shown(&found.sides),
                    self.wake_file
                )))
            }
            // A database of ours that was deleted.
            _ if is_known || before.is_some() => Ok(()),
            _ if found.sides.iter().all(|side| is_worthless(side)) => Ok(()),
            _ => Err(conflict(format!(
                "{path:?} is not there, but {side:?} is, which belongs to another database that \
                 was moved away: nothing was touched. Put that database back, or remove {}, or \
                 use another path",
                shown(&found.sides)
            ))),
        }
    }

    /// SQLite's files that are there, if they are what SQLite makes.
    fn sides(&self) -> Result<Vec<PathBuf>> {
        let mut sides = Vec::new();
        for side in SIDES.map(|end| self.beside(end)) {
            match side.symlink_metadata() {
                Ok(found) => {
                    open::examine(&side, &found)?;
                    sides.push(side);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_failed("look at", &side, error)),
            }
        }
        Ok(sides)
    }

    /// Whether there is a wake file of ours, and which file it says it is for.
    fn read_wake_file(&self) -> Result<(bool, Option<Mark>)> {
        let wake_file = match open::existing(&self.wake_file) {
            Ok(wake_file) => wake_file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((false, None)),
            Err(error) => return Err(open::refused(&self.wake_file, error)),
        };
        self.examine_beside(&self.wake_file, &wake_file)?;
        let read = || {
            let length = wake_file.metadata()?.len();
            let mut bytes = [0; 24];
            let has_mark = length == MARK_AT + bytes.len() as u64;
            if has_mark {
                wake_file.read_exact_at(&mut bytes, MARK_AT)?;
            }
            Ok((length, has_mark.then(|| Mark::read(&bytes)).flatten()))
        };
        match read().map_err(|error| io_failed("read", &self.wake_file, error))? {
            (_, Some(mark)) => Ok((true, Some(mark))),
            // As made in the last moment, or by an earlier version.
            (0 | MARK_AT, None) => Ok((true, None)),
            _ => Err(conflict(format!(
                "{:?} is a file of another program: nothing was touched; remove it, or use \
                 another path",
                self.wake_file
            ))),
        }
    }
}

impl Mark {
    fn of(database: &File) -> io::Result<Self> {
        let found = database.metadata()?;
        let born = found.created().ok();
        let since = born.and_then(|born| born.duration_since(SystemTime::UNIX_EPOCH).ok());
        Ok(Self {
            inode: found.ino(),
            born: since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0)),
        })
    }

    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.inode.to_le_bytes());
        bytes[16..].copy_from_slice(&self.born.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8; 24]) -> Option<Self> {
        let number = |at: usize| {
            let eight = bytes[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(eight)
        };
        (bytes[..8] == MAGIC).then(|| Self {
            inode: number(8),
            born: number(16),
        })
    }
}

fn is_empty(file: &File) -> io::Result<bool> {
    file.metadata().map(|found| found.len() == 0)
}

/// Nothing that was committed is in it.
fn is_worthless(side: &std::path::Path) -> bool {
    let is_index = side.to_string_lossy().ends_with("-shm");
    is_index || side.metadata().is_ok_and(|found| found.len() == 0)
}

fn shown(sides: &[PathBuf]) -> String {
    let shown: Vec<_> = sides.iter().map(|side| format!("{side:?}")).collect();
    shown.join(" and ")
}

//! The files: where they lie, who made them, whether they are still there.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, Stat, StatxAttributes, StatxFlags, flock, fstat, stat, statx,
};

use super::config::Config;
use super::error::io_failed;
use super::open;
use crate::error::{Error, ErrorKind, Outcome, Result};

/// The database, and the files beside it.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) database: PathBuf,
    pub(super) wake_file: PathBuf,
    /// Locked while a process opens, creates or repairs the files.
    lock: PathBuf,
    pub(super) mode: u32,
    /// Whether the database is encrypted: its bytes say nothing.
    pub(super) encrypted: bool,
}

/// Which file a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    pub(super) inode: u64,
}

impl Files {
    /// Finds the place of the files, and refuses one where they cannot work.
    pub(super) fn locate(config: &Config) -> Result<Self> {
        let path = &config.path;
        // Links are followed, so that all who mean the same file write to the same
        // wake file.
        let database = match path.canonicalize() {
            Ok(found) => {
                examine_link(path, &found)?;
                found
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = match path.parent() {
                    Some(folder) if !folder.as_os_str().is_empty() => folder,
                    _ => Path::new("."),
                };
                let name = path.file_name().expect("the URL was checked");
                let found = folder.canonicalize();
                found
                    .map_err(|error| io_failed("find the directory", folder, error))?
                    .join(name)
            }
            Err(error) => return Err(io_failed("open", path, error)),
        };
        let folder = database.parent().unwrap_or(Path::new("/"));
        let kind = rustix::fs::statfs(folder)
            .map_err(|error| io_failed("look at", folder, error.into()))?;
        refuse_shared(&database, i128::from(kind.f_type) as u32)?;
        Ok(Self {
            wake_file: beside(&database, "-bell"),
            lock: beside(&database, "-lock"),
            database,
            mode: config.mode,
            encrypted: config.key.is_some(),
        })
    }

    /// Refuses what is no file of one name and one place, on a local disk.
    pub(super) fn examine(&self, database: &File) -> Result<()> {
        let shown = &self.database;
        let fail = |error| io_failed("look at", shown, error);
        let found = database.metadata().map_err(fail)?;
        if !found.is_file() {
            return Err(Error::invalid(format!(
                "{shown:?} is not a file: give the path of a file"
            )));
        }
        if found.nlink() > 1 {
            return Err(Error::invalid(format!(
                "{shown:?} has {} hard links: under another name its users would not see each \
                 other's writes; give it one name",
                found.nlink()
            )));
        }
        // The file's own: its folder may be on another file system.
        let kind = rustix::fs::fstatfs(database).map_err(|error| fail(error.into()))?;
        refuse_shared(shown, i128::from(kind.f_type) as u32)?;
        let stat = statx(database, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
        if stat.is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)) {
            return Err(Error::invalid(format!(
                "{shown:?} is mounted by itself: the log that belongs to it lies beside it under \
                 its other name, and its users would not see each other's writes; mount its \
                 folder instead"
            )));
        }
        Ok(())
    }

    /// Only one process opens, creates or repairs the files at a time. Ends
    /// with the returned file.
    pub(super) fn lock_for_opening(&self, limit: Duration) -> Result<File> {
        let end = Instant::now() + limit;
        loop {
            let lock = self.open_lock()?;
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if identity(&lock).ok() == identity_of(&self.lock).ok() => return Ok(lock),
                // Removed while we waited for it: lock the new one.
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io_failed("lock", &self.lock, error.into())),
            }
            if Instant::now() >= end {
                return Err(
                    Error::new(ErrorKind::Timeout, Outcome::DidNot).with_message(format!(
                        "another process has been opening {:?} for longer than {limit:?}",
                        self.database
                    )),
                );
            }
            std::thread::sleep(Duration::from_micros(fastrand::u64(500..3000)));
        }
    }

    /// A program that can open a file can lock it. So this one cannot be opened by
    /// who may only read.
    fn open_lock(&self) -> Result<File> {
        use std::os::unix::fs::PermissionsExt;
        let lock = self.open_beside(&self.lock, writers_only(self.mode))?;
        let mode = lock.metadata().map_or(0, |found| found.mode() & 0o777);
        if mode != writers_only(mode) {
            // Not possible for who does not own it; `doctor` tells them.
            let strict = std::fs::Permissions::from_mode(writers_only(mode));
            let _ = lock.set_permissions(strict);
        }
        Ok(lock)
    }

    /// Opens the wake file, creating it.
    pub(super) fn open_wake_file(&self) -> Result<File> {
        self.open_beside(&self.wake_file, self.mode)
    }

    fn open_beside(&self, path: &Path, mode: u32) -> Result<File> {
        let is = |error: &io::Error, kind| error.kind() == kind;
        let opened = match open::existing(path) {
            Err(error) if is(&error, io::ErrorKind::NotFound) => {
                match open::create_new(path, mode) {
                    // Another was faster.
                    Err(error) if is(&error, io::ErrorKind::AlreadyExists) => open::existing(path),
                    made => made,
                }
            }
            opened => opened,
        };
        let file = opened.map_err(|error| open::refused(path, error))?;
        self.examine_beside(path, &file)?;
        Ok(file)
    }

    /// Refuses a file beside the database that we would not have made.
    pub(super) fn examine_beside(&self, path: &Path, file: &File) -> Result<()> {
        let found = file
            .metadata()
            .map_err(|error| io_failed("look at", path, error))?;
        open::examine(path, &found)?;
        // Our own needs no further look: the wake file is opened at each write.
        if open::is_own(found.uid()) {
            return Ok(());
        }
        let folder = self.database.parent().unwrap_or(Path::new("/"));
        let owners = [&self.database, folder].map(Path::symlink_metadata);
        let trusted: Vec<_> = owners.into_iter().flatten().map(|m| m.uid()).collect();
        // Writable for others as well: shared on purpose.
        if found.mode() & 0o022 != 0 {
            return Ok(());
        }
        open::examine_owner(path, found.uid(), &trusted)
    }

    /// The file whose name goes on with `end`.
    pub(super) fn beside(&self, end: &str) -> PathBuf {
        beside(&self.database, end)
    }
}

/// A link to a file of ours that another user has made is a trap.
fn examine_link(path: &Path, target: &Path) -> Result<()> {
    let (Ok(link), Ok(target)) = (path.symlink_metadata(), target.metadata()) else {
        return Ok(());
    };
    if link.is_symlink() {
        open::examine_owner(path, link.uid(), &[target.uid()])?;
    }
    Ok(())
}

/// Read only for those who may write.
fn writers_only(mode: u32) -> u32 {
    let writers = mode & 0o222;
    writers | writers << 1
}

/// `path` with `end` behind its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Which file `path` leads to now. Asked before and after each statement: `stat` takes
/// two thirds of the time of `statx`, which the standard library uses.
pub(super) fn identity_of(path: &Path) -> io::Result<Identity> {
    Ok(of(&stat(path)?))
}

pub(super) fn identity(file: &File) -> io::Result<Identity> {
    Ok(of(&fstat(file)?))
}

fn of(found: &Stat) -> Identity {
    Identity {
        device: found.st_dev,
        inode: found.st_ino,
    }
}

fn refuse_shared(path: &Path, magic: u32) -> Result<()> {
    match shared_between_hosts(magic) {
        None => Ok(()),
        Some(kind) => Err(Error::invalid(format!(
            "{path:?} lies on {kind}, which other hosts may share: the SQLite store is for the \
             processes of one host; choose a path on a local disk, or another store"
        ))),
    }
}

/// The name of a kind of file system that hosts can share, by its magic number.
fn shared_between_hosts(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => "SMB",
        0x0102_1997 => "9P",
        0x6573_5546 => "FUSE",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x0116_1970 => "GFS2",
        0x7461_636F => "OCFS2",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x564C => "NCP",
        0x1983_0326 => "BeeGFS",
        0x786F_4256 => "a folder of VirtualBox's host",
        0x7C7C_6673 => "a folder of Parallels' host",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        // As in linux/magic.h; SMB's has the sign bit of an i32.
        assert_eq!(shared_between_hosts(0x6969), Some("NFS"));
        assert_eq!(
            shared_between_hosts(i128::from(-11_317_950_i32) as u32),
            Some("SMB")
        );
        for local in [0xEF53, 0x0102_1994, 0x5846_5342, 0x9123_683E, 0x794C_7630] {
            assert_eq!(shared_between_hosts(local), None, "{local:#x}");
        }
    }
}

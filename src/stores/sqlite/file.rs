//! The files: where they lie, who made them, whether they are still there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::config::Config;
use super::trouble::io_failed;
use crate::error::{Error, ErrorKind, Outcome, Result};

/// The database, and the files beside it.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) database: PathBuf,
    pub(super) bell: PathBuf,
    mode: u32,
}

/// Which file a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Files {
    /// Finds the place of the files, and refuses one where they cannot work.
    pub(super) fn locate(config: &Config) -> Result<Self> {
        let path = &config.path;
        // Links are followed, so that all who mean the same file ring the same
        // bell.
        let database = match path.canonicalize() {
            Ok(path) => path,
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
        if let Some(kind) = shared_between_hosts(i128::from(kind.f_type) as u32) {
            return Err(Error::invalid(format!(
                "{database:?} lies on {kind}, which other hosts may share: the SQLite store is \
                 for the processes of one host; choose a path on a local disk, or another store"
            )));
        }
        let files = Self {
            bell: beside(&database, "-bell"),
            database,
            mode: config.mode,
        };
        files.examine()?;
        Ok(files)
    }

    /// Refuses what is no file of one name.
    fn examine(&self) -> Result<()> {
        let Ok(found) = self.database.metadata() else {
            return Ok(());
        };
        let shown = &self.database;
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
        Ok(())
    }

    /// Only one process opens, creates or repairs the files at a time. Ends
    /// with the returned file.
    pub(super) fn lock_for_opening(&self, limit: Duration) -> Result<File> {
        let end = Instant::now() + limit;
        loop {
            let bell = self.open_bell()?;
            match flock(&bell, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if identity(&bell).ok() == identity_of(&self.bell).ok() => return Ok(bell),
                // Removed while we waited for it: lock the new one.
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io_failed("lock", &self.bell, error.into())),
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

    /// Opens the bell, creating it.
    pub(super) fn open_bell(&self) -> Result<File> {
        let made = self.create_new(&self.bell);
        let opened = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                OpenOptions::new().read(true).write(true).open(&self.bell)
            }
            made => made,
        };
        opened.map_err(|error| io_failed("open", &self.bell, error))
    }

    /// Creates the database if it is not there. Only under the opening lock.
    pub(super) fn create_database(&self) -> Result<()> {
        let fail = |error| io_failed("create", &self.database, error);
        match self.database.metadata() {
            Ok(found) if found.len() > 0 => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        // What lies beside a database that is gone belongs to nobody, and would
        // be taken for the new one's.
        for end in ["-wal", "-shm", "-journal"] {
            match std::fs::remove_file(beside(&self.database, end)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
                _ => {}
            }
        }
        // Only ever a file that nobody has open: closing another would drop
        // every lock that this process has on it.
        match self.create_new(&self.database) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(fail(error)),
            _ => Ok(()),
        }
    }

    fn create_new(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.mode(self.mode).open(path)?;
        // The umask may have taken something away.
        file.set_permissions(std::fs::Permissions::from_mode(self.mode))?;
        Ok(file)
    }
}

/// `path` with `end` behind its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Which file `path` leads to now.
pub(super) fn identity_of(path: &Path) -> io::Result<Identity> {
    path.metadata().map(|found| of(&found))
}

fn identity(file: &File) -> io::Result<Identity> {
    file.metadata().map(|found| of(&found))
}

fn of(found: &std::fs::Metadata) -> Identity {
    Identity {
        device: found.dev(),
        inode: found.ino(),
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

//! The lock that says who lives: shared by all who use a file, exclusive for
//! one who finds no other there.
//!
//! It is a lock of the *open file description* on one byte of the file, and
//! not a `flock`, for two reasons:
//!
//! - To exclude others takes a descriptor that can write. Who may only read
//!   the file can share this lock, and so pass for a user who lives, which
//!   costs no owner its tenure; it can keep no process from sharing it.
//! - From exclusive to shared is one step, and an attempt that fails takes
//!   nothing away.
//!
//! Like a `flock`, and unlike SQLite's locks, it belongs to the descriptor:
//! closing another one does not end it.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{F_RDLCK, F_UNLCK, F_WRLCK, SEEK_SET, c_int, flock, off_t};

/// Which byte: not one of SQLite's, which are the 512 from 2³⁰ on.
const BYTE: off_t = 0x7e4e_0000;

/// Excludes all others; false when another process is there.
pub(super) fn take_alone(file: &File) -> io::Result<bool> {
    set(file, F_WRLCK)
}

/// Shares it, whatever was held before; false when another process excludes us.
pub(super) fn share(file: &File) -> io::Result<bool> {
    set(file, F_RDLCK)
}

/// Gives it up.
pub(super) fn leave(file: &File) -> io::Result<()> {
    set(file, F_UNLCK).map(drop)
}

fn set(file: &File, kind: c_int) -> io::Result<bool> {
    let lock = flock {
        l_type: kind as _,
        l_whence: SEEK_SET as _,
        l_start: BYTE,
        l_len: 1,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptors() -> (tempfile::TempDir, File, File, File) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let writer = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).unwrap()
        };
        let (one, other) = (writer(), writer());
        let reader = File::open(&path).unwrap();
        (folder, one, other, reader)
    }

    #[test]
    fn one_is_alone_or_several_share() {
        let (_folder, one, other, _) = descriptors();
        assert!(take_alone(&one).unwrap());
        assert!(!share(&other).unwrap() && !take_alone(&other).unwrap());
        assert!(share(&one).unwrap(), "in one step");
        assert!(share(&other).unwrap());
        // An attempt that fails takes nothing away.
        assert!(!take_alone(&one).unwrap());
        assert!(!take_alone(&other).unwrap());
        leave(&other).unwrap();
        assert!(take_alone(&one).unwrap());
    }

    #[test]
    fn who_may_only_read_keeps_nobody_out() {
        let (_folder, one, _, reader) = descriptors();
        assert!(take_alone(&reader).is_err());
        assert!(share(&reader).unwrap());
        assert!(share(&one).unwrap());
        assert!(!take_alone(&one).unwrap(), "somebody may live");
    }

    #[test]
    fn another_descriptor_that_is_closed_takes_no_lock_along() {
        let (_folder, one, other, reader) = descriptors();
        assert!(share(&one).unwrap());
        drop(reader);
        assert!(!take_alone(&other).unwrap());
    }
}

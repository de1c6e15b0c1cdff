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
//!
//! Two more bytes are locked in the same way by those who listen to the wake file: who
//! writes to it asks whether a process hears it (`audience`).

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{F_RDLCK, F_UNLCK, F_WRLCK, SEEK_SET, c_int, flock, off_t};

/// What a process says of itself by sharing the lock on a byte. None of SQLite's, which are
/// the 512 from 2³⁰ on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Byte {
    Lives = 0x7e4e_0000,
    /// It hears when something becomes free.
    HearsWrites = 0x7e4e_0001,
    /// It hears when something is granted.
    HearsGrants = 0x7e4e_0002,
}

/// Excludes all others; false when another process is there.
pub(super) fn take_alone(file: &File, byte: Byte) -> io::Result<bool> {
    set(file, F_WRLCK, byte)
}

/// Shares it, whatever was held before; false when another process excludes us.
pub(super) fn share(file: &File, byte: Byte) -> io::Result<bool> {
    set(file, F_RDLCK, byte)
}

/// Gives it up.
pub(super) fn leave(file: &File, byte: Byte) -> io::Result<()> {
    set(file, F_UNLCK, byte).map(drop)
}

/// Whether another process has it, shared or not.
pub(super) fn is_taken(file: &File, byte: Byte) -> io::Result<bool> {
    let mut lock = lock(F_WRLCK, byte);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
    Ok(c_int::from(lock.l_type) != F_UNLCK)
}

fn set(file: &File, kind: c_int, byte: Byte) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&lock(kind, byte))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn lock(kind: c_int, byte: Byte) -> flock {
    flock {
        l_type: kind as _,
        l_whence: SEEK_SET as _,
        l_start: byte as u32 as off_t,
        l_len: 1,
        l_pid: 0,
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
        assert!(take_alone(&one, Byte::Lives).unwrap());
        assert!(!share(&other, Byte::Lives).unwrap() && !take_alone(&other, Byte::Lives).unwrap());
        assert!(share(&one, Byte::Lives).unwrap(), "in one step");
        assert!(share(&other, Byte::Lives).unwrap());
        // An attempt that fails takes nothing away.
        assert!(!take_alone(&one, Byte::Lives).unwrap());
        assert!(!take_alone(&other, Byte::Lives).unwrap());
        leave(&other, Byte::Lives).unwrap();
        assert!(take_alone(&one, Byte::Lives).unwrap());
    }

    #[test]
    fn who_may_only_read_keeps_nobody_out() {
        let (_folder, one, _, reader) = descriptors();
        assert!(take_alone(&reader, Byte::Lives).is_err());
        assert!(share(&reader, Byte::Lives).unwrap());
        assert!(share(&one, Byte::Lives).unwrap());
        assert!(!take_alone(&one, Byte::Lives).unwrap(), "somebody may live");
    }

    #[test]
    fn another_descriptor_that_is_closed_takes_no_lock_along() {
        let (_folder, one, other, reader) = descriptors();
        assert!(share(&one, Byte::Lives).unwrap());
        drop(reader);
        assert!(!take_alone(&other, Byte::Lives).unwrap());
    }

    #[test]
    fn who_asks_hears_of_others_and_not_of_itself() {
        let (_folder, one, other, reader) = descriptors();
        for byte in [Byte::HearsWrites, Byte::HearsGrants] {
            assert!(share(&one, byte).unwrap());
            assert!(!is_taken(&one, byte).unwrap());
            assert!(is_taken(&other, byte).unwrap() && is_taken(&reader, byte).unwrap());
            assert!(!is_taken(&other, Byte::Lives).unwrap());
            leave(&one, byte).unwrap();
            assert!(!is_taken(&other, byte).unwrap());
        }
    }
}

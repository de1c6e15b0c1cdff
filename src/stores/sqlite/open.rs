//! Opening a file by name in a folder that others may write.
//!
//! The folder's owner may have put a link there, to a file that only we
//! may write. So no link is followed, and what was opened is looked at before
//! it is used.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use super::error::{conflict, io_failed};
use crate::error::Result;

/// Never waits for the other end of a pipe, never passes to a command.
const ALWAYS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens what is there, to read and write.
pub(super) fn existing(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDWR, 0)
}

/// Opens what is there, to read.
pub(super) fn to_read(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY, 0)
}

/// Creates what is not there, with these permissions whatever the umask.
pub(super) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let file = open_with(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(file)
}

fn open_with(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let flags = flags | ALWAYS;
    let mode = Mode::from_raw_mode(mode);
    // Not through a link in the middle either: the path has none, or had none
    // when it was looked up.
    let opened = match openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open(path, flags, mode),
        opened => opened,
    };
    Ok(File::from(opened?))
}

/// Why a file beside the database could not be opened.
pub(super) fn refused(path: &Path, error: io::Error) -> crate::error::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => conflict(format!(
            "{path:?} is a symbolic link, or is reached through one: nothing is written through \
             it; remove it, or use another folder"
        )),
        Some(Errno::ISDIR | Errno::NXIO) => not_a_file(path),
        _ => io_failed("open", path, error),
    }
}

/// Refuses what is no file of one name.
pub(super) fn examine(path: &Path, found: &Metadata) -> Result<()> {
    if found.file_type().is_symlink() {
        return Err(refused(path, Errno::LOOP.into()));
    }
    if !found.is_file() {
        return Err(not_a_file(path));
    }
    // None: it was removed in this moment.
    if found.nlink() > 1 {
        return Err(conflict(format!(
            "{path:?} has {} hard links: nothing is written to a file that has another name; \
             remove it, or use another folder",
            found.nlink()
        )));
    }
    Ok(())
}

/// Refuses what another user has put there. `trusted` may: they own the
/// database, or its folder.
pub(super) fn examine_owner(path: &Path, owner: u32, trusted: &[u32]) -> Result<()> {
    let me = rustix::process::geteuid().as_raw();
    if owner == me || owner == 0 || trusted.contains(&owner) {
        return Ok(());
    }
    Err(conflict(format!(
        "{path:?} belongs to another user (uid {owner}), who owns neither the database nor its \
         folder: remove it, or use another folder"
    )))
}

fn not_a_file(path: &Path) -> crate::error::Error {
    conflict(format!(
        "{path:?} is not a file: remove it, or use another path"
    ))
}

//! From SQLite's errors to ours.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::{Error, ErrorKind, Outcome, Retry};

/// An error of a statement that was rolled back or only read.
pub(super) fn failed(error: rusqlite::Error) -> Error {
    translate(error, Outcome::DidNot)
}

/// An error of a commit. One that ran out of disk was rolled back; after
/// another the pages may be in the file for the process that recovers it.
pub(super) fn commit_failed(error: rusqlite::Error) -> Error {
    let outcome = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy) => Outcome::DidNot,
        _ => Outcome::MayHave,
    };
    translate(error, outcome)
}

fn translate(error: rusqlite::Error, outcome: Outcome) -> Error {
    use ErrorKind::{Conflict, Denied, Store, Timeout, Unreachable};
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            Timeout,
            "the file stayed locked by another process for longer than busy_timeout",
        ),
        Some(ErrorCode::DiskFull) => (
            Store,
            "the disk of the SQLite file is full: free some space, it goes on by itself",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            Denied,
            "this process may not write the SQLite file, its directory, or the -wal and -shm \
             files beside it",
        ),
        Some(ErrorCode::CannotOpen) => (Unreachable, "the SQLite file cannot be opened"),
        Some(ErrorCode::NotADatabase) => (
            Conflict,
            "the file is not a SQLite database, or is encrypted with another key: give its key, or the \
             path of another file or of none",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            Store,
            "the SQLite file is damaged: stop all its users, move it away, and let it be created \
             anew",
        ),
        Some(ErrorCode::SystemIoFailure) => (Store, "reading or writing the SQLite file failed"),
        _ => (Store, "SQLite answered with an error"),
    };
    let damaged = error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt);
    let is_passing = is_passing(&error);
    let translated = Error::new(kind, outcome)
        .with_message(message)
        .with_source(error);
    match kind {
        Store if damaged => translated.with_retry(Retry::Never),
        // It goes with the state of the file, not with our permissions.
        Denied if is_passing => translated.with_retry(Retry::Later),
        _ => translated,
    }
}

/// Whether a refusal to write is of the moment: the file was moved away, or
/// another process is putting it in order.
fn is_passing(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{
        SQLITE_READONLY_CANTLOCK, SQLITE_READONLY_DBMOVED, SQLITE_READONLY_RECOVERY,
        SQLITE_READONLY_ROLLBACK,
    };
    error.sqlite_error().is_some_and(|error| {
        matches!(
            error.extended_code,
            SQLITE_READONLY_CANTLOCK
                | SQLITE_READONLY_DBMOVED
                | SQLITE_READONLY_RECOVERY
                | SQLITE_READONLY_ROLLBACK
        )
    })
}

/// Whether a new connection may do better than this one.
pub(super) fn wants_reopening(error: &Error) -> bool {
    matches!(
        sqlite_code(error),
        Some(
            ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::NotADatabase
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::ReadOnly
        )
    )
}

/// Whether another process was in the way.
pub(super) fn is_busy(error: &Error) -> bool {
    sqlite_code(error) == Some(ErrorCode::DatabaseBusy)
}

/// Whether the disk has no room. Nothing was written then.
pub(super) fn is_full(error: &Error) -> bool {
    sqlite_code(error) == Some(ErrorCode::DiskFull)
}

/// SQLite's own word, if the error is from there.
pub(super) fn sqlite_code(error: &Error) -> Option<ErrorCode> {
    let source = std::error::Error::source(error)?;
    source
        .downcast_ref::<rusqlite::Error>()?
        .sqlite_error_code()
}

/// What lies there is not what it should be; nothing was touched.
pub(super) fn conflict(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::conflict(message)
}

/// `what` could not be done to the file at `path`.
pub(super) fn io_failed(what: &str, path: &Path, error: io::Error) -> Error {
    use io::ErrorKind as Io;
    let shown = path.display();
    let (kind, hint) = match error.kind() {
        Io::PermissionDenied => (
            ErrorKind::Denied,
            "; this process needs to read and write it and its directory",
        ),
        Io::ReadOnlyFilesystem => (
            ErrorKind::Denied,
            "; its file system is read-only, choose a path that can be written",
        ),
        Io::NotFound | Io::NotADirectory => (ErrorKind::NotFound, "; create its directory first"),
        Io::StorageFull | Io::QuotaExceeded => (ErrorKind::Store, "; the disk is full"),
        _ => (ErrorKind::Unreachable, ""),
    };
    Error::new(kind, Outcome::DidNot)
        .with_message(format!("cannot {what} {shown:?}: {error}{hint}"))
        .with_source(error)
}

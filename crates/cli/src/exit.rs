//! How the program ends: codes that a script can tell apart.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use tenure::{Error, ErrorKind};

/// Something that was expected did not hold.
pub(crate) const FAILED: u8 = 1;
/// The arguments are wrong.
pub(crate) const USAGE: u8 = 2;
/// Something in the store is damaged (`EX_DATAERR`).
pub(crate) const DAMAGED: u8 = 65;
/// The store cannot be reached or used (`EX_UNAVAILABLE`).
pub(crate) const UNAVAILABLE: u8 = 69;
/// Something is wrong with this program or host (`EX_OSERR`).
pub(crate) const SYSTEM: u8 = 71;
/// Another owns it (`EX_TEMPFAIL`).
pub(crate) const NOT_ACQUIRED: u8 = 75;
/// Ownership ended while the command ran.
pub(crate) const LOST: u8 = 76;
/// The command is there and cannot be run, as in a shell.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// There is no such command, as in a shell.
pub(crate) const NOT_FOUND: u8 = 127;

/// Why the program ends, when not with what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    /// What the library calls it, when it was the library's.
    pub(crate) kind: Option<ErrorKind>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            kind: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// The host would not do what was needed.
    pub(crate) fn system(what: &str, error: &std::io::Error) -> Self {
        Self::new(SYSTEM, format!("cannot {what}: {error}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Invalid => USAGE,
            ErrorKind::Lost | ErrorKind::Unconfirmed => LOST,
            ErrorKind::Closed | ErrorKind::WrongState => SYSTEM,
            _ => UNAVAILABLE,
        };
        Self {
            kind: Some(error.kind()),
            ..Self::new(code, told(&error))
        }
    }
}

/// The error and what caused it, each once.
pub(crate) fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// The code of a command that ended, as a shell would give it.
pub(crate) fn code_of(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(255) & 0xff).unwrap_or(255)
}

/// The code of a program that a signal ends.
pub(crate) fn by_signal(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(255))
}

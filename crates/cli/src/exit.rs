//! How the program ends: codes that a script can tell apart.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::process::{Resource, Rlimit, Signal, kill_current_process_group, setrlimit};
use tenure::backend::OtherPlan;
use tenure::{Error, ErrorKind, Retry};

use crate::supervise::End;

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
/// The name has another plan in the store (`EX_CANTCREAT`).
pub(crate) const OTHER_PLAN: u8 = 73;
/// Another owns it (`EX_TEMPFAIL`).
pub(crate) const NOT_ACQUIRED: u8 = 75;
/// Ownership ended while the command ran.
pub(crate) const LOST: u8 = 76;
/// Something that the command started could not be ended (`EX_NOPERM`).
pub(crate) const STILL_RUNNING: u8 = 77;
/// Waiting cannot help: a person has to change something (`EX_CONFIG`).
pub(crate) const CONFIG: u8 = 78;
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
            _ if other_plan(&error).is_some() => OTHER_PLAN,
            ErrorKind::Invalid => USAGE,
            ErrorKind::Lost | ErrorKind::Unconfirmed => LOST,
            ErrorKind::Closed | ErrorKind::WrongState => SYSTEM,
            _ if error.retry() == Retry::Never => CONFIG,
            _ => UNAVAILABLE,
        };
        let mut message = told(&error);
        if code == CONFIG {
            message.push_str(". Waiting cannot mend that: change it, then start this again");
        }
        Self {
            kind: Some(error.kind()),
            ..Self::new(code, message)
        }
    }
}

/// The plans that meet, if that is what went wrong.
pub(crate) fn other_plan(error: &Error) -> Option<&OtherPlan> {
    std::error::Error::source(error)?.downcast_ref()
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

/// The signal that this program is to die of, once it has tidied up.
static DYING_OF: AtomicI32 = AtomicI32::new(0);
/// Whether those around it are to hear of it first.
static WITH_GROUP: AtomicBool = AtomicBool::new(false);

/// How a program ends that the signal `signal` ended. Of a terminal's signal
/// it dies itself, so that a shell ends its loop; other signals are a code.
pub(crate) fn by_signal(signal: i32) -> ExitCode {
    if [Signal::INT, Signal::QUIT]
        .map(Signal::as_raw)
        .contains(&signal)
    {
        DYING_OF.store(signal, Ordering::Relaxed);
    }
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(255))
}

/// How a program ends whose command ended like this.
pub(crate) fn as_command(end: &End) -> ExitCode {
    // The terminal sends its signals to the group that has it, and that was only the
    // command: the script around us waits for a signal of its own.
    WITH_GROUP.store(end.had_terminal, Ordering::Relaxed);
    match end.status.signal() {
        Some(signal) => by_signal(signal),
        None => ExitCode::from(code_of(end.status)),
    }
}

/// Dies of the signal that it is to die of, if there is one. As the first
/// process of a container it cannot, and returns.
pub(crate) fn die() {
    let signal = DYING_OF.load(Ordering::Relaxed);
    if signal != 0 {
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        // Our memory must not go to the disk.
        let _ = setrlimit(Resource::Core, none);
        if WITH_GROUP.load(Ordering::Relaxed)
            && let Some(signal) = Signal::from_named_raw(signal)
        {
            let _ = kill_current_process_group(signal);
        }
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

//! The arguments of `tenure hold` and `tenure release`.

use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{ARGUMENTS, LOCK, WAITING, WHAT, duration, examples};

/// Take a lock for the rest of a shell script, or a part of it
///
/// Prints assignments for the shell: TENURE_NAME, TENURE_TOKEN (give it to
/// whatever the lock protects, and let that refuse smaller ones), what tenure
/// release needs and, in a script that names no store, TENURE_URL. A process in the background renews the lock until
/// tenure release, or until the shell ends, however it ends. When the lock is
/// lost, the shell and all that it has started since are ended in time, as
/// with tenure run. Not acquired, it prints exit 75.
#[derive(Args, Debug, Deserialize, Serialize)]
#[command(after_help = examples::HOLD, next_help_heading = LOCK)]
pub(crate) struct Hold {
    /// What is locked
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) name: String,
    /// Wait at most this long for it; otherwise for ever
    #[arg(long, value_name = "DUR", value_parser = duration, conflicts_with = "no_wait")]
    #[arg(help_heading = WAITING)]
    pub(crate) wait: Option<Duration>,
    /// Do not wait at all
    #[arg(long, short = 'n', help_heading = WAITING)]
    pub(crate) no_wait: bool,
    /// The shell whose lock it is, as in --pid $$; otherwise the one that reads
    /// what is printed
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<i32>,
    /// What becomes of the shell when the lock is lost; end unless given, and to
    /// be given in an interactive shell
    #[arg(long, value_enum)]
    pub(crate) on_loss: Option<OnLoss>,
    /// SIGTERM comes this long before SIGKILL when ownership cannot be renewed;
    /// less than the transition, half of it unless given
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) grace: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Deserialize, Serialize)]
pub(crate) enum OnLoss {
    /// It is ended, with all that it has started since
    End,
    /// It is told on stderr, and goes on without the lock
    Warn,
}

/// Free a lock that tenure hold has taken
///
/// Waits until it is free. Exits with 0 if it was held until now, and with 76
/// if it was lost before, or is not held any more.
#[derive(Args, Debug)]
#[command(after_help = examples::RELEASE, next_help_heading = WHAT)]
pub(crate) struct Release {
    /// Which, where a script holds several
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) name: Option<String>,
}

//! The terminal belongs to one process group at a time: the command's, while
//! it runs, or reading from it would stop the command.

use nix::sys::signal::{SigSet, Signal};
use rustix::process::Pid;
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use crate::{signals, tree};

/// A terminal that has been lent to the command's group. Dropped, it is taken
/// back.
#[derive(Debug)]
pub(crate) struct Terminal {
    ours: Pid,
}

impl Terminal {
    /// Lends the terminal on stdin to `group`, if there is one, it is ours to
    /// lend, and nobody beside us needs it: in `tenure run … | less` the
    /// terminal is for `less`.
    pub(crate) fn lend(group: Pid) -> Option<Self> {
        // Looking for neighbours is a walk through all processes.
        if !Self::is_there() || tree::has_neighbours(our_group()?) {
            return None;
        }
        Self::lend_anyway(group)
    }

    /// The same for a command that asks for the terminal, whoever else may.
    pub(crate) fn lend_anyway(group: Pid) -> Option<Self> {
        let ours = our_group()?;
        let holder = tcgetpgrp(std::io::stdin()).ok()?;
        // Made only when it was lent: dropped, it takes the terminal.
        (holder == ours && hand(group)).then(|| Self { ours })
    }

    /// The same for a command that was stopped for want of the terminal while
    /// the job is in the background: the job stops until the shell gives it the
    /// terminal. The kernel sees to that. Who looks first and stops then stays
    /// stopped when the shell gave it in between.
    pub(crate) fn wait_and_lend(group: Pid) -> Option<Self> {
        let ours = our_group()?;
        if signals::is_ignored(rustix::process::Signal::TTOU) {
            // Then the kernel would let us take what belongs to another job.
            let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
            return Self::lend_anyway(group);
        }
        tcsetpgrp(std::io::stdin(), group).ok()?;
        Some(Self { ours })
    }

    /// Whether stdin is a terminal of ours at all.
    pub(crate) fn is_there() -> bool {
        tcgetpgrp(std::io::stdin()).is_ok()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        hand(self.ours);
    }
}

/// `None` for the first process of a container, whose group lies outside.
fn our_group() -> Option<Pid> {
    // Not rustix's, which cannot say "none".
    let raw = nix::unistd::getpgrp().as_raw();
    (raw > 0).then(|| Pid::from_raw(raw))?
}

fn hand(group: Pid) -> bool {
    // To a group in the background that changes it the terminal sends SIGTTOU,
    // which stops the group unless it is blocked.
    let mut stopping = SigSet::empty();
    stopping.add(Signal::SIGTTOU);
    let blocked = stopping.thread_block().is_ok();
    let handed = tcsetpgrp(std::io::stdin(), group).is_ok();
    if blocked {
        let _ = stopping.thread_unblock();
    }
    handed
}

//! The terminal belongs to one process group at a time: the command's, while
//! it runs, or reading from it would stop the command.

use std::fs::File;
use std::io::stdin;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use crate::{signals, tree};

/// A terminal that has been lent to the command's group. Dropped, it is taken
/// back.
#[derive(Debug)]
pub(crate) struct Terminal {
    ours: Pid,
    device: OwnedFd,
}

/// What becomes of a command that waits for the terminal.
#[derive(Debug)]
pub(crate) enum Lending {
    Lent(Terminal),
    /// The shell goes on without giving it.
    NotYet,
    /// There is no shell that could.
    Never,
}

impl Terminal {
    /// Lends the terminal on stdin to `group`, if there is one, it is ours to
    /// lend, and no program beside us needs it: in `tenure run … | less` the
    /// terminal is for `less`.
    pub(crate) fn lend(group: Pid) -> Option<Self> {
        // Looking for neighbours is a walk through all processes.
        if tcgetpgrp(stdin()).is_err() || tree::has_neighbours(our_group()?) {
            return None;
        }
        Self::lend_anyway(group)
    }

    /// The same for a command that asks for the terminal, also when others may, and
    /// wherever our stdin comes from.
    pub(crate) fn lend_anyway(group: Pid) -> Option<Self> {
        let (ours, device) = (our_group()?, device()?);
        let holder = tcgetpgrp(&device).ok()?;
        // Made only when it was lent: dropped, it takes the terminal.
        (holder == ours && hand(&device, group)).then(|| Self { ours, device })
    }

    /// The same for a command that was stopped for want of the terminal while
    /// the job is in the background: the job stops until the shell gives it the
    /// terminal. The kernel sees to that. Who looks first and stops then stays
    /// stopped when the shell gave it in between.
    pub(crate) fn wait_and_lend(group: Pid) -> Lending {
        let (Some(ours), Some(device)) = (our_group(), device()) else {
            return Lending::Never;
        };
        if signals::is_ignored(rustix::process::Signal::TTOU) {
            // Then the kernel would let us take what belongs to another job.
            if tree::is_orphaned(ours) {
                return Lending::Never;
            }
            let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
            return Self::lend_anyway(group).map_or(Lending::NotYet, Lending::Lent);
        }
        match tcsetpgrp(&device, group) {
            Ok(()) => Lending::Lent(Self { ours, device }),
            Err(Errno::INTR) => Lending::NotYet,
            // The kernel says so when no shell could wake us.
            Err(_) => Lending::Never,
        }
    }

    /// Whether we have a terminal at all.
    pub(crate) fn is_there() -> bool {
        device().is_some()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        hand(&self.device, self.ours);
    }
}

/// `None` for the first process of a container, whose group lies outside.
fn our_group() -> Option<Pid> {
    // Not rustix's, which cannot say "none".
    let raw = nix::unistd::getpgrp().as_raw();
    (raw > 0).then(|| Pid::from_raw(raw))?
}

/// The terminal on stdin, or the one of our session: a command asks for that by
/// its name, also when its stdin is a file.
fn device() -> Option<OwnedFd> {
    if tcgetpgrp(stdin()).is_ok() {
        return stdin().as_fd().try_clone_to_owned().ok();
    }
    File::open("/dev/tty").ok().map(OwnedFd::from)
}

fn hand(device: impl AsFd, group: Pid) -> bool {
    // To a group in the background that changes it the terminal sends SIGTTOU,
    // which stops the group unless it is blocked.
    let mut stopping = SigSet::empty();
    stopping.add(Signal::SIGTTOU);
    let blocked = stopping.thread_block().is_ok();
    let handed = tcsetpgrp(device, group).is_ok();
    if blocked {
        let _ = stopping.thread_unblock();
    }
    handed
}

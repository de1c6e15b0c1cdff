//! The terminal belongs to one process group at a time: the command's, while
//! it runs, or reading from it would stop the command.

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// A terminal that has been lent to the command's group.
#[derive(Debug)]
pub(crate) struct Terminal {
    ours: Pid,
}

impl Terminal {
    /// Lends the terminal on stdin to `group`, if there is one and it is ours
    /// to lend.
    pub(crate) fn lend(group: Pid) -> Option<Self> {
        let ours = getpgrp();
        let holder = tcgetpgrp(std::io::stdin()).ok()?;
        // Made only when it was lent: dropped, it takes the terminal.
        (holder == ours && hand(group)).then(|| Self { ours })
    }

    /// Takes it back.
    pub(crate) fn take_back(self) {}
}

impl Drop for Terminal {
    fn drop(&mut self) {
        hand(self.ours);
    }
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

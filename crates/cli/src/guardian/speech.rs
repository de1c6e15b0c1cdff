//! Speaking without waiting for a reader who does not listen.

use std::fmt::Display;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::Voice;

/// How long those who do not read are waited for.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Whether a line can be written to stderr at once, or within the patience.
pub(crate) fn is_heard(patience: Timespec) -> bool {
    let stderr = std::io::stderr();
    let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
    let ready = poll(&mut fds, Some(&patience));
    // A pipe without readers is an error, and never waits.
    ready.is_ok_and(|ready| ready > 0) && !fds[0].revents().contains(PollFlags::ERR)
}

/// Says it, if there is a reader.
pub(super) fn say(message: &dyn Display) {
    if is_heard(PATIENCE) {
        Voice::new(true, 0).error(message);
    }
}

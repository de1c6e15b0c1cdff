//! The guardian's own process: nothing but poll, a timer and kill.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, chdir, setsid};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::watch::{Act, Watch};
use crate::child::signal_group;
use crate::{exit, moment};

/// Reads `group PID NANOS` and then `until NANOS` from its stdin, a socket;
/// answers `ready`, `stopping` and `killed`. It is killed when it is not needed
/// any more.
pub(crate) fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let _ = rustix::thread::set_name(c"tenure-guardian");
    // Out of reach of the terminal's signals and of the caller's directory.
    let _ = setsid();
    let _ = chdir("/");
    let grace = words.next().and_then(|word| word.to_str()?.parse().ok());
    let line = std::io::stdin().as_fd().try_clone_to_owned();
    let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC);
    let (Some(grace), Ok(line), Ok(timer)) = (grace, line, timer) else {
        return ExitCode::from(exit::SYSTEM);
    };
    let guardian = Guardian {
        line: UnixStream::from(line),
        timer,
        grace,
        charge: None,
    };
    guardian.run()
}

struct Guardian {
    line: UnixStream,
    timer: OwnedFd,
    grace: u64,
    charge: Option<(Pid, Watch)>,
}

impl Guardian {
    fn run(mut self) -> ExitCode {
        let mut text = Vec::new();
        loop {
            self.act();
            if !self.set_timer() {
                return self.abandon();
            }
            let (line, timer) = (self.line.as_fd(), self.timer.as_fd());
            let mut fds = [
                PollFd::from_borrowed_fd(line, PollFlags::IN),
                PollFd::from_borrowed_fd(timer, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return self.abandon(),
            }
            if fds[0].revents().is_empty() {
                continue; // The timer: setting it again makes it quiet.
            }
            let mut piece = [0; 256];
            match self.line.read(&mut piece) {
                Ok(0) => return self.abandon(),
                Ok(length) => text.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return self.abandon(),
            }
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                // Whoever speaks nonsense is not to be trusted to renew.
                if self
                    .hear(str::from_utf8(&line).unwrap_or_default())
                    .is_none()
                {
                    return self.abandon();
                }
            }
        }
    }

    fn hear(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        match words.next()? {
            "group" => {
                let group = Pid::from_raw(words.next()?.parse().ok()?)?;
                let until = words.next()?.parse().ok()?;
                self.charge = Some((group, Watch::new(until, self.grace)));
                self.say("ready");
            }
            "until" => {
                let until = words.next()?.parse().ok()?;
                self.charge.as_mut()?.1.move_to(until);
            }
            _ => return None,
        }
        Some(())
    }

    fn act(&mut self) {
        let Some((group, watch)) = &mut self.charge else {
            return;
        };
        let group = *group;
        // Said first: when the group has heard of it, so can this program.
        match watch.act(moment::now()) {
            Some(Act::Terminate) => {
                self.say("stopping");
                signal_group(group, Signal::TERM);
            }
            Some(Act::Kill) => {
                self.say("killed");
                signal_group(group, Signal::KILL);
            }
            None => {}
        }
    }

    /// False when there is no timer to be had.
    fn set_timer(&self) -> bool {
        let due = self.charge.as_ref().and_then(|(_, watch)| watch.due());
        let billion = 1_000_000_000;
        // All zero disarms; a due time that has passed rings at once.
        let due = due.map_or(0, |due| due.max(1));
        let at = Timespec {
            tv_sec: i64::try_from(due / billion).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(due % billion).unwrap_or(0),
        };
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let alarm = Itimerspec {
            it_interval: zero,
            it_value: at,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &alarm).is_ok()
    }

    /// Nobody renews any more, or nobody can be told: the group must end now.
    fn abandon(&mut self) -> ExitCode {
        if let Some((group, _)) = self.charge {
            signal_group(group, Signal::KILL);
        }
        ExitCode::from(exit::LOST)
    }

    fn say(&mut self, word: &str) {
        // A program that is stopped does not read, one that is dead cannot.
        let _ = self.line.set_nonblocking(true);
        let _ = self.line.write_all(format!("{word}\n").as_bytes());
        let _ = self.line.set_nonblocking(false);
    }
}

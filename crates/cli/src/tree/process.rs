//! One process of the host, as `/proc` shows it.

use std::fs::{self, File};
use std::io::Read;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Signs;

/// What is known of a process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(super) parent: Option<Pid>,
    pub(super) group: Option<Pid>,
    /// Whether it can still do anything.
    pub(super) is_alive: bool,
    /// When it was started: with the number, no other process's.
    pub(super) start: u64,
    /// Where its program lies in memory, if that may be known.
    pub(super) image: Option<Image>,
    /// Whether a signal has stopped it.
    pub(super) is_stopped: bool,
    pub(super) session: Option<Pid>,
    /// Whether it is in the command's cgroup; only a tree knows that.
    pub(super) is_inside: bool,
}

/// The addresses of a program's code, stack, arguments and environment. The
/// kernel draws them at every `exec`: who has the same was forked, and has
/// been no other program since.
pub(crate) type Image = [u64; 4];

impl Process {
    pub(super) fn read(pid: Pid) -> Option<Self> {
        let mut stat = File::open(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
        // A whole line is at most half as long, and comes in one piece. Every run of a command
        // reads those of all processes several times, so one call counts.
        let mut line = [0; 2048];
        let length = stat.read(&mut line).ok()?;
        Self::parse(pid, &line[..length])
    }

    /// From a line such as `17 (a name) S 1 17 17 …`.
    pub(super) fn parse(pid: Pid, stat: &[u8]) -> Option<Self> {
        // The name may hold anything, brackets too; nothing after it does.
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = str::from_utf8(stat.get(end + 2..)?).ok()?;
        let fields: Vec<&str> = rest.trim_end().split(' ').collect();
        let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
        // Of one that is just being collected the group is -1.
        let pid_at = |index| {
            let raw = i32::try_from(number(index)?).ok()?;
            (raw > 0).then(|| Pid::from_raw(raw))?
        };
        let (state, threads) = (*fields.first()?, number(17)?);
        Some(Self {
            pid,
            parent: pid_at(1),
            group: pid_at(2),
            // The first thread may have ended before the others.
            is_alive: state != "X" && (state != "Z" || threads > 1),
            start: fields.get(19)?.parse().ok()?,
            image: image(&fields),
            is_stopped: state == "T",
            session: pid_at(3),
            is_inside: false,
        })
    }

    /// Sends it `signal`, and no other process that has its number by now.
    ///
    /// # Errors
    /// When it is there and may not be signalled.
    pub(super) fn send(&self, signal: Signal) -> Result<(), Errno> {
        let sent = match pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(process) if start_of(self.pid) == Some(self.start) => {
                pidfd_send_signal(&process, signal)
            }
            Ok(_) => Ok(()),
            // Before Linux 5.3, or under a filter that does not know it.
            Err(Errno::NOSYS | Errno::PERM) => rustix::process::kill_process(self.pid, signal),
            Err(error) => Err(error),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => sent,
        }
    }

    /// Whether it may be sent signals.
    pub(super) fn may_be_told(&self) -> bool {
        rustix::process::test_kill_process(self.pid) != Err(Errno::PERM)
    }

    /// Whether it is one of the command's by its group or its environment.
    pub(super) fn bears(&self, signs: &Signs) -> bool {
        if signs.command.is_some() && self.group == signs.command {
            return true;
        }
        let path = format!("/proc/{}/environ", self.pid.as_raw_pid());
        let environment = fs::read(path).unwrap_or_default();
        let mut entries = environment.split(|byte| *byte == 0);
        let marks = entries.find_map(|entry| entry.strip_prefix(signs.variable.as_bytes()));
        // Inside another run it has that one's mark as well.
        let mut marks = marks.unwrap_or_default().split(|byte| *byte == b' ');
        marks.any(|mark| mark == signs.mark.as_bytes())
    }
}

/// From the fields behind the name; of another user's process they are hidden.
fn image(fields: &[&str]) -> Option<Image> {
    let number = |index: usize| -> Option<u64> {
        let number = fields.get(index)?.parse().ok()?;
        (number > 1).then_some(number)
    };
    Some([number(23)?, number(25)?, number(45)?, number(47)?])
}

/// Whether a signal has stopped the process `pid`.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    Process::read(pid).is_some_and(|process| process.is_stopped)
}

/// When the process `pid` was started, in ticks since the machine was.
pub(crate) fn start_of(pid: Pid) -> Option<u64> {
    Process::read(pid).map(|process| process.start)
}

/// The parents of the process `pid`, the nearest first.
pub(crate) fn ancestors(pid: Pid) -> Vec<Pid> {
    let mut line = Vec::new();
    let mut next = Process::read(pid).and_then(|process| process.parent);
    while let Some(parent) = next
        && !line.contains(&parent)
    {
        line.push(parent);
        next = Process::read(parent).and_then(|process| process.parent);
    }
    line
}

/// Every process that can be seen.
pub(super) fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(Pid::from_raw)
        .filter_map(Process::read)
        .collect()
}

/// Our own children, each with its start.
pub(crate) fn children() -> Vec<super::Stranger> {
    let us = Some(rustix::process::getpid());
    let all = all().into_iter();
    all.filter(|process| process.parent == us)
        .map(|process| (process.pid, process.start))
        .collect()
}

/// Our own children that have died and are not collected.
pub(crate) fn dead_children() -> Vec<Pid> {
    let us = Some(rustix::process::getpid());
    let all = all().into_iter();
    all.filter(|process| process.parent == us && !process.is_alive)
        .map(|process| process.pid)
        .collect()
}

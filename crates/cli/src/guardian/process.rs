//! A guardian's own process: nothing but poll, a timer and kill.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, Signal as Number};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, chdir, getpid, kill_process_group, set_child_subreaper,
    waitid,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::deadline::{Act, Deadline};
use super::orders::Order;
use super::{Role, speech};
use crate::tree::{Cgroup, MARK, Script, Signs, Step, Sweep, Tree, start_of};
use crate::{exit, gate, moment};

/// What a guardian cannot or must not be deaf to. Nothing else ends it; the
/// command hears everything again when its gate opens.
const HEARD: [Number; 8] = [
    Number::SIGKILL,
    Number::SIGSTOP,
    Number::SIGSEGV,
    Number::SIGBUS,
    Number::SIGFPE,
    Number::SIGILL,
    Number::SIGABRT,
    Number::SIGSYS,
];

/// Its stdin, a socket, tells it `until NANOS`, and the witness before that
/// `among ANCESTOR COMMAND STRANGER…`, both of them `apart PID…`, who is never ended, and `cgroup` and which one that is, a script's `script` and who that is, and `grace NANOS` when it is alone; the word
/// that opens the gate brings a file along. It confirms every line, and tells `ready`, `stopping`, `killed`,
/// `stopped SIGNAL`, `refused PID` and `ended`. It is killed when it is not needed any more.
pub(crate) fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let role = match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("parent") => Role::Parent,
        Some("script") => Role::Script,
        _ => Role::Witness,
    };
    let name = match role {
        Role::Parent | Role::Script => c"tenure-guardian",
        Role::Witness => c"tenure-witness",
    };
    let _ = rustix::thread::set_name(name);
    let grace = words.next().and_then(|word| word.to_str()?.parse().ok());
    let made = grace.and_then(|grace| Guardian::new(role, grace).ok());
    let Some(mut guardian) = made else {
        return ExitCode::from(exit::SYSTEM);
    };
    if role == Role::Parent {
        let command: Vec<OsString> = words.collect();
        // A process that is orphaned below it becomes its child.
        let is_set = set_child_subreaper(Some(getpid())).is_ok();
        if !is_set || guardian.start(&command).is_err() {
            return ExitCode::from(exit::SYSTEM);
        }
    }
    // Out of the way of an unmount of the caller's directory.
    let _ = chdir("/");
    guardian.run()
}

struct Guardian {
    role: Role,
    line: UnixStream,
    timer: OwnedFd,
    children: SignalFd,
    /// The signals that it is deaf to and its caller was not.
    deaf_to: SigSet,
    grace: u64,
    command: Option<Pid>,
    /// When the command was started, as the witness has seen it.
    started: Option<u64>,
    gate: Option<UnixStream>,
    has_ended: bool,
    tree: Tree,
    deadline: Option<Deadline>,
}

impl Guardian {
    fn new(role: Role, grace: u64) -> std::io::Result<Self> {
        let deaf_to = Number::iterator().filter(|signal| !HEARD.contains(signal));
        let mut deaf_to: SigSet = deaf_to.collect();
        let before = deaf_to.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        for signal in before.iter() {
            deaf_to.remove(signal);
        }
        let mut child_signal = SigSet::empty();
        child_signal.add(Number::SIGCHLD);
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        // A program that is stopped does not read: telling it must not keep the
        // guardian from its work.
        let line = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        line.set_nonblocking(true)?;
        Ok(Self {
            role,
            line,
            timer: timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?,
            children: SignalFd::with_flags(&child_signal, flags)?,
            deaf_to,
            grace,
            command: None,
            started: None,
            gate: None,
            has_ended: false,
            tree: Tree::default(),
            deadline: None,
        })
    }

    fn start(&mut self, command: &[OsString]) -> std::io::Result<()> {
        let (gate, process) = gate::close(command, &self.deaf_to)?;
        self.command = Some(Pid::from_child(&process));
        self.gate = Some(gate);
        self.tree = Tree::below(getpid(), &[], &[]);
        Ok(())
    }

    fn run(mut self) -> ExitCode {
        let mut text = Vec::new();
        loop {
            // What was told last counts: after a stop there may be much to
            // hear, and the oldest deadline is long past.
            if !self.listen(&mut text) {
                return self.abandon();
            }
            self.look_after_children();
            self.act();
            if !self.set_timer() {
                return self.abandon();
            }
            let mut fds = [
                PollFd::from_borrowed_fd(self.line.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.timer.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.children.as_fd(), PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                // The timer is quiet when it is set again.
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return self.abandon(),
            }
        }
    }

    /// Hears all that has been said; false when the other end is closed.
    fn listen(&mut self, text: &mut Vec<u8>) -> bool {
        let mut is_open = true;
        loop {
            let mut piece = [0; 256];
            match gate::receive(&self.line, &mut piece) {
                Ok((0, _)) => is_open = false,
                Ok((length, stdin)) => {
                    text.extend_from_slice(&piece[..length]);
                    if let Some(stdin) = stdin
                        && let Some(gate) = self.gate.take()
                    {
                        let _ = gate::hand_on(&gate, &stdin);
                    }
                    continue;
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(_) => is_open = false,
            }
            break;
        }
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            // A program that speaks nonsense is not to be trusted to renew.
            let line = str::from_utf8(&line).unwrap_or_default();
            if self.hear(line).is_none() {
                return false;
            }
            self.say("heard");
        }
        is_open
    }

    fn hear(&mut self, line: &str) -> Option<()> {
        match Order::parse(line)? {
            Order::Among {
                ancestor,
                command,
                strangers,
            } => {
                let strangers = strangers.into_iter();
                let strangers: Vec<_> = strangers
                    .filter_map(|pid| Some((pid, start_of(pid)?)))
                    .collect();
                let marks = std::env::var(MARK).unwrap_or_default();
                let signs = Signs {
                    command: Some(command),
                    image: None,
                    variable: format!("{MARK}="),
                    // The last is this run's own.
                    mark: marks.rsplit(' ').next().unwrap_or_default().to_owned(),
                };
                let before = std::mem::take(&mut self.tree);
                self.tree = Tree::of(Some(ancestor), &strangers, signs).in_place_of(before);
                self.command = Some(command);
                self.started = start_of(command);
            }
            Order::Apart(pids) => {
                for pid in pids {
                    self.tree.keep_apart(pid);
                }
            }
            Order::Cgroup(words) => {
                let cgroup = Cgroup::parse(&words).map(Arc::new);
                self.tree = std::mem::take(&mut self.tree).with_cgroup(cgroup);
            }
            Order::Script(words) => {
                let script = Script::parse(words.split_whitespace())?;
                self.tree = script.tree();
                self.command = Some(script.shell());
            }
            Order::Until(until) => {
                if let Some(deadline) = &mut self.deadline {
                    deadline.move_to(until);
                } else {
                    self.deadline = Some(Deadline::new(until, self.grace));
                    let command = self.command.map_or(0, Pid::as_raw_pid);
                    self.say(&format!("ready {command}"));
                }
            }
            Order::Grace(grace) => {
                self.grace = grace;
                self.deadline.as_mut()?.ask_before(grace);
            }
            Order::Go => {}
        }
        Some(())
    }

    /// Tells what became of the command, and reaps the others that have died.
    fn look_after_children(&mut self) {
        while let Ok(Some(_)) = self.children.read_signal() {}
        if self.role != Role::Parent {
            return;
        }
        if let Some(command) = self.command.filter(|_| !self.has_ended) {
            // Left unreaped, so that its number is not given to another for as long
            // as this program may signal its group.
            let wanted = WaitIdOptions::EXITED | WaitIdOptions::STOPPED;
            let quietly = WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(command), wanted | quietly) {
                Ok(Some(status)) if status.stopped() => {
                    // Said before it is consumed: one that is killed in between
                    // has told it, or leaves it to be found.
                    self.say_stopped(status.stopping_signal());
                    let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
                    if let Ok(Some(status)) = waitid(WaitId::Pid(command), stopped) {
                        // What was consumed may be another stop, after the
                        // first had been dealt with. Who has dealt with this one
                        // sees that it is over.
                        self.say_stopped(status.stopping_signal());
                    }
                }
                Ok(Some(_)) => {
                    self.has_ended = true;
                    self.say("ended");
                }
                _ => {}
            }
        }
        crate::reaper::reap(self.command);
    }

    fn act(&mut self) {
        let Some(deadline) = &mut self.deadline else {
            return;
        };
        // Said first: when the command has heard of it, so can this program.
        match deadline.act(moment::now()) {
            Some(Act::Terminate) => {
                self.say("stopping");
                let (_, refused) = self.tree.signal(Signal::TERM);
                self.tree.signal(Signal::CONT);
                for pid in refused {
                    self.say(&format!("refused {}", pid.as_raw_pid()));
                }
            }
            Some(Act::Kill) => {
                self.say("killed");
                self.end();
            }
            None => {}
        }
    }

    /// Ends the whole tree by force.
    fn end(&mut self) -> Step {
        // Most, and often all, are in the command's group. They are killed now,
        // and not after a walk over all processes of a busy host. The number is
        // the command's while the guardian that is its parent has not reaped it;
        // another one goes by the start.
        let is_its = |command: &Pid| match self.role {
            Role::Parent => true,
            Role::Witness => self.started.is_some() && start_of(*command) == self.started,
            Role::Script => false,
        };
        if let Some(command) = self.command.filter(is_its) {
            let _ = kill_process_group(command, Signal::KILL);
        }
        let mut sweep = Sweep::new(moment::now(), 0);
        loop {
            match sweep.step(&self.tree, moment::now()) {
                Step::Again(nanos) => std::thread::sleep(Duration::from_nanos(nanos)),
                step => return step,
            }
        }
    }

    /// False when there is no timer to be had.
    fn set_timer(&self) -> bool {
        let due = self.deadline.as_ref().and_then(Deadline::due);
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

    /// The program renews no more, or cannot be told: the tree must end now.
    fn abandon(mut self) -> ExitCode {
        let shell = self.command.filter(|_| self.role == Role::Script);
        let is_script_there = shell.is_some_and(|shell| start_of(shell).is_some());
        // There is no program to tell, and none to wait for.
        let end = self.end();
        self.tree.remove_cgroup();
        if is_script_there {
            speech::say(&"the holder of the lock has died: the script was ended");
        }
        if let Step::Left(left) = end {
            speech::say(&crate::supervise::still_running(&left, self.command));
        }
        ExitCode::from(exit::LOST)
    }

    fn say_stopped(&mut self, signal: Option<i32>) {
        self.say(&format!("stopped {}", signal.unwrap_or(0)));
    }

    fn say(&mut self, word: &str) {
        // A program that is stopped does not read, one that is dead cannot.
        let _ = (&self.line).write_all(format!("{word}\n").as_bytes());
    }
}

//! Running a command under a tenure: begun after its guardian is ready, told
//! every signal, ended with its whole tree before ownership is.

use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tenure::{LeaseLost, Tenure};

use crate::exit::Failure;
use crate::guardian::{Post, Report};
use crate::moment;
use crate::output::{Voice, brief};
use crate::signals::Signals;
use crate::terminal::{Lending, Terminal};
use crate::tree::{self, Step, Sweep};

/// Who holds what around a command, one contender a line: a program inside the
/// command that waits for one of them waits for ever.
pub(crate) const HOLDERS: &str = "TENURE_HOLDERS";

/// A variable of the command's, and its value if it is to have one.
pub(crate) type Variable = (&'static str, Option<String>);

/// What is run, and how it is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) command: &'a [std::ffi::OsString],
    /// Further variables for the command; those without a value are taken away.
    pub(crate) environment: &'a [Variable],
    pub(crate) grace: Duration,
    /// How long it may run.
    pub(crate) limit: Option<Duration>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    /// Why ownership ended before the command did.
    pub(crate) lost: Option<LeaseLost>,
    /// Whether it was told to end because ownership was about to.
    pub(crate) was_stopped: bool,
    /// Whether it was ended because it ran too long.
    pub(crate) was_too_long: bool,
    /// The last signal that asked this program to end.
    pub(crate) asked: Option<Signal>,
    /// Whether the terminal was lent to it.
    pub(crate) had_terminal: bool,
    /// Those of its tree that could not be ended.
    pub(crate) left: Vec<Pid>,
}

impl End {
    /// Asked to end before the command began, as if the signal had ended it.
    fn before_it_began(asked: Signal) -> Self {
        Self {
            status: ExitStatus::from_raw(asked.as_raw()),
            lost: None,
            was_stopped: false,
            was_too_long: false,
            asked: Some(asked),
            had_terminal: false,
            left: Vec::new(),
        }
    }

    /// Whether it ended for want of ownership.
    pub(crate) fn is_loss(&self) -> bool {
        self.lost.is_some() || self.was_stopped
    }
}

/// Runs the command to its end, and the end of all that descends from it.
pub(crate) async fn supervise(
    task: Task<'_>,
    tenure: &Tenure,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<End, Failure> {
    let failed = |what: &'static str| move |error| Failure::system(what, &error);
    let Ok(token) = tenure.token() else {
        return Err(tenure::Error::from(tenure.lost().await).into());
    };
    let environment = environment(task, tenure, token);
    let until = moment::last_of(tenure);
    let mut post = Post::start(task.command, environment, task.grace, until)
        .map_err(failed("start the guardian"))?;
    let command = loop {
        let report = tokio::select! {
            biased;
            report = tenure.protect(post.report()) => report,
            // The guardians go with `post`, and with them what waits behind the gate. A command that
            // has not begun has nothing to read again (SIGHUP).
            signal = signals.end() => return Ok(End::before_it_began(signal)),
        };
        match report {
            Ok(Report::Ready(command)) => break command,
            Ok(Report::Replaced | Report::Missing) => {}
            Ok(_) => return Err(Failure::new(crate::exit::SYSTEM, "the guardian has died")),
            Err(lost) => return Err(tenure::Error::from(lost).into()),
        }
    };
    let terminal = Terminal::lend(command);
    post.go().map_err(failed("start the command"))?;
    voice.detail(&format_args!(
        "running with token {token} as process group {}",
        command.as_raw_pid()
    ));
    match post.cgroup() {
        Ok(path) => voice.detail(&format_args!(
            "the command has a cgroup of its own: {}",
            path.display()
        )),
        Err(why) => voice.detail(&format_args!(
            "the command has no cgroup of its own, so its processes are found through /proc: {why}"
        )),
    }
    let guarded = Guarded {
        task,
        tenure,
        voice,
        command,
        post,
        terminal,
        refusals: 0,
    };
    guarded.run(signals).await
}

fn environment(
    task: Task<'_>,
    tenure: &Tenure,
    token: tenure::model::FencingToken,
) -> Vec<Variable> {
    let contender = tenure.contender().to_string();
    let around = std::env::var(HOLDERS).unwrap_or_default();
    let holders = format!("{around}\n{contender}").trim().to_owned();
    let mut environment = vec![
        ("TENURE_NAME", Some(tenure.mutex().to_string())),
        ("TENURE_TOKEN", Some(token.to_string())),
        ("TENURE_CONTENDER", Some(contender)),
        (HOLDERS, Some(holders)),
    ];
    environment.extend_from_slice(task.environment);
    environment
}

struct Guarded<'a> {
    task: Task<'a>,
    tenure: &'a Tenure,
    voice: &'a Voice,
    command: Pid,
    post: Post,
    terminal: Option<Terminal>,
    /// How often it has asked for a terminal that it cannot be given.
    refusals: u32,
}

impl Guarded<'_> {
    async fn run(mut self, signals: &mut Signals) -> Result<End, Failure> {
        let (mut lost, mut was_stopped, mut asked) = (None, false, None);
        let (mut limit, mut was_too_long) = (pin!(sleep(self.task.limit)), false);
        let mut renewed = Box::pin(self.tenure.renewed());
        self.post.until(moment::last_of(self.tenure));
        loop {
            tokio::select! {
                biased;
                report = self.post.report() => match report {
                    Report::Ended => break,
                    // Told more than once, it may be over.
                    Report::Stopped(signal) if tree::is_stopped(self.command) => {
                        self.pause(signal);
                    }
                    Report::Stopping => {
                        was_stopped = true;
                        self.voice.warn(&format_args!(
                            "ownership was not renewed in time: the command is told to end, and has {}",
                            brief(self.tenure.remaining())
                        ));
                    }
                    Report::Killed => was_stopped = true,
                    Report::Replaced => self.voice.warn(
                        &"a guardian has died or fallen silent; another one has taken its place",
                    ),
                    Report::Missing => self.voice.warn(
                        &"a guardian has died, and no other can be started for now",
                    ),
                    Report::Refused(pid) => self.voice.warn(&cannot_be_told(pid)),
                    Report::Ready(_) | Report::Stopped(_) | Report::Failed => {}
                },
                moved = &mut renewed => match moved {
                    Ok(()) => {
                        renewed = Box::pin(self.tenure.renewed());
                        self.post.until(moment::last_of(self.tenure));
                    }
                    Err(loss) => {
                        // The guardians do the same; they may be stopped.
                        lost = Some(loss);
                        break;
                    }
                },
                () = &mut limit => {
                    // Asked first, and made to when the grace is over.
                    let signal = if was_too_long { Signal::KILL } else { Signal::TERM };
                    self.signal(signal);
                    limit.set(sleep((!was_too_long).then_some(self.task.grace)));
                    was_too_long = true;
                }
                signal = signals.next() => {
                    self.signal(signal);
                    if signals.is_end(signal) {
                        asked = Some(signal);
                    }
                }
            }
        }
        let had_terminal = self.terminal.take().is_some();
        // What the guardians do from here on is done to what is left behind.
        let (has_acted, refused) = self.post.acts();
        was_stopped |= has_acted;
        for pid in refused {
            self.voice.warn(&cannot_be_told(pid));
        }
        let mut left = self.sweep(lost.is_some()).await;
        // The guardian may have died meanwhile and left some of them to us.
        self.post.take_over();
        for pid in self.sweep(true).await {
            if !left.contains(&pid) {
                left.push(pid);
            }
        }
        if !left.is_empty() {
            self.voice.warn(&still_running(&left, Some(self.command)));
        }
        let status = self
            .post
            .dismiss()
            .map_err(|error| Failure::system("wait for the command", &error))?;
        Ok(End {
            // One that cannot be ended has no other end.
            status: status.unwrap_or(ExitStatus::from_raw(Signal::KILL.as_raw())),
            lost: lost.or_else(|| self.tenure.token().err()),
            was_stopped,
            was_too_long,
            asked,
            had_terminal,
            left,
        })
    }

    /// Sends `signal` to the command's group, and wakes it if it is stopped.
    fn signal(&self, signal: Signal) {
        // It keeps its number until the guardians are dismissed.
        if kill_process_group(self.command, signal) == Err(Errno::PERM) {
            self.voice.warn(&format_args!(
                "the command belongs to another user and cannot be sent signal {}",
                signal.as_raw()
            ));
        }
        if matches!(signal, Signal::TERM | Signal::INT | Signal::HUP) {
            let _ = kill_process_group(self.command, Signal::CONT);
        }
    }

    /// Ends all that is left of the command's tree; at once when ownership is
    /// lost, also meanwhile. Returns those who cannot be ended.
    async fn sweep(&mut self, is_lost: bool) -> Vec<Pid> {
        let grace = match is_lost {
            true => Duration::ZERO,
            false => self.task.grace.min(self.tenure.remaining()),
        };
        let tree = self.post.tree();
        let mut sweep = Sweep::new(moment::now(), moment::nanos(grace));
        let mut told = moment::last_of(self.tenure);
        loop {
            if self.tenure.is_lost() {
                sweep.force(moment::now());
            }
            match sweep.step(&tree, moment::now()) {
                Step::Done => return Vec::new(),
                Step::Again(nanos) => {
                    tokio::time::sleep(Duration::from_nanos(nanos)).await;
                    // It may be renewed meanwhile, and the grace not be over.
                    let until = moment::last_of(self.tenure);
                    if until > told.saturating_add(moment::nanos(grace) / 4) {
                        self.post.until(until);
                        told = until;
                    }
                }
                Step::Left(left) => return left,
            }
        }
    }

    /// Something has stopped the command. On a terminal this program's job
    /// stops as well, so that the shell takes over. The lease goes on running
    /// out; the guardian sees to that.
    fn pause(&mut self, signal: i32) {
        let wants_terminal = [Signal::TTIN, Signal::TTOU]
            .map(Signal::as_raw)
            .contains(&signal);
        if wants_terminal && self.terminal.is_none() {
            // In the foreground it can have the terminal, if it was not lent
            // before (`fg` after `bg`, or others in the pipeline).
            self.terminal = Terminal::lend_anyway(self.command);
            // Without a terminal a person has sent the signal by hand.
            if self.terminal.is_some() || !Terminal::is_there() {
                let _ = kill_process_group(self.command, Signal::CONT);
                return;
            }
        } else if self.terminal.is_none() {
            return;
        }
        drop(self.terminal.take());
        self.voice.warn(&format_args!(
            "suspended: ownership ends in {} unless it goes on",
            brief(self.tenure.remaining())
        ));
        if wants_terminal {
            match Terminal::wait_and_lend(self.command) {
                Lending::Lent(terminal) => self.terminal = Some(terminal),
                Lending::NotYet => {}
                Lending::Never if !self.tenure.is_lost() => return self.refuse_terminal(),
                Lending::Never => return,
            }
        } else {
            // Without a shell that could wake it the kernel drops this signal.
            let _ = rustix::process::kill_current_process_group(Signal::TSTP);
            self.terminal = Terminal::lend(self.command);
        }
        // The lease may have run out meanwhile, and then it must not go on.
        if !self.tenure.is_lost() {
            let _ = kill_process_group(self.command, Signal::CONT);
        }
    }

    /// The command waits for a terminal that it cannot be given. The kernel
    /// hangs up on groups that no shell looks after; the command's has a parent
    /// in the guardian, so it is done here. One that asks again is ended, for it
    /// would ask for ever.
    fn refuse_terminal(&mut self) {
        let signal = match self.refusals {
            0 => Signal::HUP,
            1 => Signal::TERM,
            _ => Signal::KILL,
        };
        self.refusals += 1;
        self.voice.warn(&format_args!(
            "the command wants the terminal, and no shell is left that could give it: it is sent \
             signal {}",
            signal.as_raw()
        ));
        self.signal(signal);
    }
}

/// Says who was not told to end.
pub(crate) fn cannot_be_told(pid: Pid) -> String {
    format!(
        "process {} belongs to another user and cannot be told to end",
        described(pid)
    )
}

/// Says who works on without the lock, and why.
pub(crate) fn still_running(left: &[Pid], command: Option<Pid>) -> String {
    let list: Vec<String> = left.iter().copied().map(described).collect();
    let whose = match command {
        Some(command) if left.contains(&command) => "the command itself",
        _ => "what the command started",
    };
    format!(
        "{whose} could not be ended and may work on without the lock: process {}. It belongs to \
         another user, or the kernel does not let it go",
        list.join(", ")
    )
}

/// The number and the name of a process.
fn described(pid: Pid) -> String {
    let raw = pid.as_raw_pid();
    let name = std::fs::read_to_string(format!("/proc/{raw}/comm")).unwrap_or_default();
    format!("{raw} ({})", name.trim_end())
}

/// Returns after `length`, or never.
async fn sleep(length: Option<Duration>) {
    match length {
        Some(length) => tokio::time::sleep(length).await,
        None => std::future::pending().await,
    }
}

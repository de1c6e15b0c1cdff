//! This program's side: both guardians, and what they tell of the command.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};
use tokio::sync::mpsc;

use super::line::{Line, Word};
use super::{MARK, Role};
use crate::reaper;
use crate::tree::Tree;

/// What is to be known of the command and its guardians.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command is guarded, and waits behind its gate.
    Ready(Pid),
    /// The deadline is near: it was sent SIGTERM.
    Stopping,
    /// The deadline has come: it was sent SIGKILL.
    Killed,
    /// A signal has stopped it: Ctrl-Z, perhaps.
    Stopped(i32),
    /// It has ended.
    Ended,
    /// A guardian died or fell silent, and another one has its place.
    Replaced,
    /// The guardian died before the command began.
    Failed,
}

/// The guardians at their posts. Dropped without [`dismiss`](Self::dismiss),
/// the lines close, and they kill the whole tree.
#[derive(Debug)]
pub(crate) struct Post {
    /// `None` when the command is our own child.
    parent: Option<Line>,
    witness: Line,
    grace: Duration,
    environment: Vec<(&'static str, String)>,
    command: Option<Pid>,
    until: u64,
    /// What becomes of a command that is our own child.
    fates: mpsc::UnboundedReceiver<Report>,
    tell_fate: mpsc::UnboundedSender<Report>,
    has_acted: bool,
}

impl Post {
    /// Starts the guardians, and the command behind its gate.
    pub(crate) fn start(
        command: &[OsString],
        mut environment: Vec<(&'static str, String)>,
        grace: Duration,
        until: u64,
    ) -> io::Result<Self> {
        environment.push((MARK, format!("{:032x}", fastrand::u128(..))));
        let mut parent = Line::start(Role::Parent, grace, command, &environment)?;
        // While there is a guardian, only that one asks before it kills.
        let witness = Line::start(Role::Witness, Duration::ZERO, &[], &environment)?;
        parent.tell(&format!("until {until}"));
        let (tell_fate, fates) = mpsc::unbounded_channel();
        Ok(Self {
            parent: Some(parent),
            witness,
            grace,
            environment,
            command: None,
            until,
            fates,
            tell_fate,
            has_acted: false,
        })
    }

    /// Lets the command begin.
    pub(crate) fn go(&mut self) -> io::Result<()> {
        self.parent.as_mut().map_or(Ok(()), Line::open_gate)
    }

    /// Moves the deadline.
    pub(crate) fn until(&mut self, until: u64) {
        self.until = until;
        let line = format!("until {until}");
        self.witness.tell(&line);
        if let Some(parent) = &mut self.parent {
            parent.tell(&line);
        }
    }

    /// Who belongs to the command, as seen from here.
    pub(crate) fn tree(&self) -> Tree {
        let parent = self.parent.as_ref().map(Line::pid);
        let guardians: Vec<Pid> = parent.into_iter().chain([self.witness.pid()]).collect();
        Tree::below(getpid(), &guardians)
    }

    /// What happens next.
    pub(crate) async fn report(&mut self) -> Report {
        loop {
            let from_parent = async {
                match &mut self.parent {
                    Some(parent) => parent.word().await,
                    None => std::future::pending().await,
                }
            };
            let (role, word) = tokio::select! {
                biased;
                word = from_parent => (Role::Parent, word),
                word = self.witness.word() => (Role::Witness, word),
                Some(fate) = self.fates.recv() => return fate,
            };
            match (role, word) {
                (Role::Parent, Word::Ready(Some(command))) => {
                    self.command = Some(command);
                    // When the guardian dies, it becomes our child.
                    reaper::leave(command);
                    self.instruct_witness(command);
                    return Report::Ready(command);
                }
                (_, Word::Stopping) => {
                    self.has_acted = true;
                    return Report::Stopping;
                }
                (_, Word::Killed) => {
                    self.has_acted = true;
                    return Report::Killed;
                }
                (Role::Parent, Word::Stopped(signal)) => return Report::Stopped(signal),
                (Role::Parent, Word::Ended) => return Report::Ended,
                (Role::Parent, Word::Gone) => return self.adopt(),
                (Role::Witness, Word::Gone) => return self.replace_witness().await,
                _ => {}
            }
        }
    }

    fn instruct_witness(&mut self, command: Pid) {
        let guardian = self.parent.as_ref().map_or(command, Line::pid);
        let [us, guardian, command] = [getpid(), guardian, command].map(Pid::as_raw_pid);
        self.witness
            .tell(&format!("among {us} {guardian} {command}"));
        self.witness.tell(&format!("until {}", self.until));
    }

    /// The guardian is dead, so the command is our child now.
    fn adopt(&mut self) -> Report {
        if let Some(mut parent) = self.parent.take() {
            self.has_acted |= parent.has_acted();
            parent.dismiss();
        }
        let Some(command) = self.command else {
            return Report::Failed;
        };
        watch(command, self.tell_fate.clone());
        let grace = crate::moment::nanos(self.grace);
        self.witness.tell(&format!("grace {grace}"));
        Report::Replaced
    }

    async fn replace_witness(&mut self) -> Report {
        self.has_acted |= self.witness.has_acted();
        self.witness.dismiss();
        // If it dies again and again, this keeps the caller from spinning.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let is_alone = self.parent.is_none();
        let grace = if is_alone { self.grace } else { Duration::ZERO };
        match Line::start(Role::Witness, grace, &[], &self.environment) {
            Ok(witness) => self.witness = witness,
            // Tried again when it is found gone; the guardian is still there.
            Err(_) => return Report::Replaced,
        }
        if let Some(command) = self.command {
            self.instruct_witness(command);
        }
        Report::Replaced
    }

    /// Whether a guardian has told the command to end.
    pub(crate) fn has_acted(&mut self) -> bool {
        let parent = self.parent.as_mut().is_some_and(Line::has_acted);
        self.has_acted |= self.witness.has_acted() || parent;
        self.has_acted
    }

    /// Lets the guardians go, for nothing is left to guard. Returns how the
    /// command ended.
    pub(crate) fn dismiss(mut self) -> io::Result<ExitStatus> {
        if let Some(mut parent) = self.parent.take() {
            parent.dismiss();
        }
        self.witness.dismiss();
        let Some(command) = self.command else {
            return Err(io::ErrorKind::NotFound.into());
        };
        // The guardian left it unreaped, and is dead: it is our child.
        let status = reap(command);
        reaper::take(command);
        status
    }
}

fn reap(command: Pid) -> io::Result<ExitStatus> {
    loop {
        match waitid(WaitId::Pid(command), WaitIdOptions::EXITED) {
            Ok(Some(status)) => {
                let code = status.exit_status().map(|code| (code & 0xff) << 8);
                let raw = code.or(status.terminating_signal()).unwrap_or(0xff00);
                return Ok(ExitStatus::from_raw(raw));
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for what happens to the process, without reaping it: a number that
/// may still be signalled must not become another's.
fn watch(process: Pid, tell: mpsc::UnboundedSender<Report>) {
    std::thread::spawn(move || {
        let wait = |options| waitid(WaitId::Pid(process), options);
        let (ended, stopped) = (WaitIdOptions::EXITED, WaitIdOptions::STOPPED);
        loop {
            match wait(ended | stopped | WaitIdOptions::NOWAIT) {
                Ok(Some(status)) if status.stopped() => {
                    let _ = wait(stopped | WaitIdOptions::NOHANG);
                    let signal = status.stopping_signal().unwrap_or(0);
                    if tell.send(Report::Stopped(signal)).is_err() {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                _ => {
                    let _ = tell.send(Report::Ended);
                    return;
                }
            }
        }
    });
}

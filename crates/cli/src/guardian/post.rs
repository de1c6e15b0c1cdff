//! This program's side: both guardians, and what they tell of the command.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};
use tenure::model::{ContenderIdGenerator as _, Uuid};
use tokio::sync::mpsc;

use super::Role;
use super::enclosure::Enclosure;
use super::handle::GuardianHandle;
use super::orders::Word;
use crate::supervise::Variable;
use crate::tree::{self, Cgroup, MARK, Step, Stranger, Sweep, Tree};
use crate::{moment, reaper};

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
    /// This one of its tree may not be told to end.
    Refused(Pid),
    /// It has ended.
    Ended,
    /// A guardian died or fell silent, and another one has its place.
    Replaced,
    /// A guardian died or fell silent, and no other can be started for now.
    Missing,
    /// The guardian died before the command began.
    Failed,
}

/// The guardians at their posts. Dropped without [`dismiss`](Self::dismiss),
/// the lines close, and they kill the whole tree.
#[derive(Debug)]
pub(crate) struct Post {
    /// `None` when the command is our own child.
    parent: Option<GuardianHandle>,
    witness: GuardianHandle,
    grace: Duration,
    environment: Vec<Variable>,
    command: Option<Pid>,
    until: u64,
    /// What becomes of a command that is our own child.
    fates: mpsc::UnboundedReceiver<Report>,
    tell_fate: mpsc::UnboundedSender<Report>,
    has_acted: bool,
    /// Our children before, and those that came from elsewhere: they have
    /// nothing to do with the command.
    strangers: Vec<Stranger>,
    /// The command's own, or why it has none.
    cgroup: Result<Arc<Cgroup>, String>,
    /// Who makes it.
    enclosure: Option<Enclosure>,
    /// How long to wait before the next try to start a witness.
    pause: Duration,
    is_dismissed: bool,
}

/// If it dies again and again, this keeps the caller from spinning.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Post {
    /// Starts the guardians, and the command behind its gate.
    pub(crate) fn start(
        command: &[OsString],
        mut environment: Vec<Variable>,
        grace: Duration,
        until: u64,
    ) -> io::Result<Self> {
        let strangers = tree::children();
        let around = std::env::var(MARK).unwrap_or_default();
        // Who bears the mark of a command is ended with it: no other may.
        let mark = Uuid.generate().map_err(io::Error::other)?;
        let marks = format!("{around} {mark}");
        environment.push((MARK, Some(marks.trim().to_owned())));
        // Meanwhile the others begin.
        let (enclosure, cgroup) = match Enclosure::begin() {
            Ok(enclosure) => (Some(enclosure), Err("the command has not begun".to_owned())),
            Err(error) => (None, Err(error.to_string())),
        };
        let mut parent = GuardianHandle::start(Role::Parent, grace, command, &environment)?;
        // While there is a guardian, only that one asks before it kills.
        let witness = GuardianHandle::start(Role::Witness, Duration::ZERO, &[], &environment)?;
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
            strangers,
            cgroup,
            enclosure,
            pause: PAUSE,
            is_dismissed: false,
        })
    }

    /// Lets the command begin.
    pub(crate) fn go(&mut self) -> io::Result<()> {
        match &mut self.parent {
            Some(parent) => parent.open_gate(),
            None => Ok(()),
        }
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
        let tree = match &self.parent {
            Some(guardian) => {
                let apart = [getpid(), self.witness.pid()];
                Tree::below(guardian.pid(), &apart, &[])
            }
            None => Tree::below(getpid(), &[self.witness.pid()], &self.strangers),
        };
        tree.with_cgroup(self.cgroup.clone().ok())
    }

    /// The command's own cgroup, or why it has none.
    pub(crate) fn cgroup(&self) -> Result<&Path, &str> {
        match &self.cgroup {
            Ok(cgroup) => Ok(cgroup.path()),
            Err(why) => Err(why),
        }
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
                    self.enclose(command).await;
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
                (_, Word::Refused(pid)) => return Report::Refused(pid),
                (Role::Parent, Word::Ended) => return Report::Ended,
                (Role::Parent, Word::Gone) => return self.adopt(),
                (Role::Witness, Word::Gone) => return self.replace_witness().await,
                _ => {}
            }
        }
    }

    /// Puts the command, which waits behind its gate, into its cgroup.
    async fn enclose(&mut self, command: Pid) {
        let (Some(enclosure), Some(parent)) = (&mut self.enclosure, &mut self.parent) else {
            return;
        };
        self.cgroup = enclosure.take_in(command, parent.pid()).await;
        if let Some(words) = self.cgroup.as_ref().ok().and_then(|it| it.words()) {
            parent.tell(&format!("cgroup {words}"));
        }
    }

    fn instruct_witness(&mut self, command: Pid) {
        // Without a guardian its tree is below this program.
        let ancestor = self
            .parent
            .as_ref()
            .map_or_else(getpid, GuardianHandle::pid);
        let known = [ancestor, command].into_iter();
        let known = known.chain(self.strangers.iter().map(|(stranger, _)| *stranger));
        let known: Vec<String> = known.map(|pid| pid.as_raw_pid().to_string()).collect();
        self.witness.tell(&format!("among {}", known.join(" ")));
        // Both are told of each other: neither ends the other, nor this program,
        // should one be moved into the command's cgroup.
        let apart = [getpid(), ancestor, self.witness.pid()];
        let apart = apart.map(|pid| pid.as_raw_pid().to_string());
        let apart = format!("apart {}", apart.join(" "));
        self.witness.tell(&apart);
        if let Some(parent) = &mut self.parent {
            parent.tell(&apart);
        }
        if let Some(words) = self.cgroup.as_ref().ok().and_then(|it| it.words()) {
            self.witness.tell(&format!("cgroup {words}"));
        }
        self.witness.tell(&format!("until {}", self.until));
    }

    /// The guardian is dead, so the command is our child now.
    fn adopt(&mut self) -> Report {
        for word in self.dismiss_guardian() {
            self.has_acted |= word.is_act();
            if let Word::Stopped(signal) = word {
                let _ = self.tell_fate.send(Report::Stopped(signal));
            }
        }
        let Some(command) = self.command else {
            return Report::Failed;
        };
        // Also tells of a stop that the guardian came to know of and could not
        // tell any more.
        watch(command, self.tell_fate.clone());
        self.instruct_witness(command);
        let grace = moment::nanos(self.grace);
        self.witness.tell(&format!("grace {grace}"));
        Report::Replaced
    }

    async fn replace_witness(&mut self) -> Report {
        self.witness.dismiss();
        self.has_acted |= self.witness.last_words().iter().any(Word::is_act);
        tokio::time::sleep(self.pause).await;
        let is_alone = self.parent.is_none();
        let grace = if is_alone { self.grace } else { Duration::ZERO };
        match GuardianHandle::start(Role::Witness, grace, &[], &self.environment) {
            Ok(witness) => self.witness = witness,
            // Tried again, because the one that is gone is found gone again.
            Err(_) => {
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                return Report::Missing;
            }
        }
        self.pause = PAUSE;
        if let Some(command) = self.command {
            self.instruct_witness(command);
        }
        Report::Replaced
    }

    /// Whether a guardian has told the command to end, and whom it could not
    /// tell, as far as it has not been read yet.
    pub(crate) fn acts(&mut self) -> (bool, Vec<Pid>) {
        let mut words = self.witness.last_words();
        words.extend(self.parent.iter_mut().flat_map(GuardianHandle::last_words));
        self.has_acted |= words.iter().any(Word::is_act);
        let refused = words.into_iter().filter_map(|word| match word {
            Word::Refused(pid) => Some(pid),
            _ => None,
        });
        (self.has_acted, refused.collect())
    }

    /// Lets the guardian go: what it left behind is our child then. Returns
    /// what it had to say to its end.
    fn dismiss_guardian(&mut self) -> Vec<Word> {
        let Some(mut parent) = self.parent.take() else {
            return Vec::new();
        };
        // While it lives, an orphan of the command's becomes its child and not
        // ours: who is ours now comes from elsewhere. Asked after the look, for
        // one that was dead before has left its children to us.
        let ours = tree::children();
        if parent.is_alive() {
            let others = ours.into_iter().filter(|(pid, _)| *pid != parent.pid());
            self.strangers.extend(others);
        }
        parent.dismiss();
        parent.last_words()
    }

    /// Takes over what the guardian has left behind, for the command has ended.
    pub(crate) fn take_over(&mut self) {
        self.dismiss_guardian();
    }

    /// Lets the witness go, too, for nothing is left to guard. Returns how the
    /// command ended; `None` if it has not.
    pub(crate) fn dismiss(mut self) -> io::Result<Option<ExitStatus>> {
        self.end()
    }

    fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.is_dismissed = true;
        self.dismiss_guardian();
        self.witness.dismiss();
        let mut enclosure = self.enclosure.take();
        let is_done = enclosure.as_mut().is_none_or(Enclosure::finish);
        if is_done && let Some(enclosure) = enclosure.take() {
            enclosure.wait();
        }
        let Some(command) = self.command else {
            return Ok(None);
        };
        // The guardian left it unreaped, and is dead: it is our child.
        let Some(enclosure) = enclosure else {
            let status = reap(command, WaitIdOptions::empty());
            reaper::take(command);
            return status;
        };
        // Still to be put into its cgroup: until then the number stays its own.
        let status = reap(command, WaitIdOptions::NOWAIT);
        std::thread::spawn(move || {
            enclosure.wait();
            let _ = reap(command, WaitIdOptions::empty());
            reaper::take(command);
        });
        status
    }
}

impl Drop for Post {
    /// Given up in the middle of a run: what owns nothing any more must end
    /// before the lock goes to another.
    fn drop(&mut self) {
        if self.is_dismissed {
            return;
        }
        self.dismiss_guardian();
        let (tree, mut sweep) = (self.tree(), Sweep::new(moment::now(), 0));
        while let Step::Again(nanos) = sweep.step(&tree, moment::now()) {
            std::thread::sleep(Duration::from_nanos(nanos));
        }
        let _ = self.end();
        reaper::reap(None);
    }
}

fn reap(command: Pid, how: WaitIdOptions) -> io::Result<Option<ExitStatus>> {
    loop {
        match waitid(
            WaitId::Pid(command),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG | how,
        ) {
            Ok(Some(status)) => {
                let code = status.exit_status().map(|code| (code & 0xff) << 8);
                let raw = code.or(status.terminating_signal()).unwrap_or(0xff00);
                return Ok(Some(ExitStatus::from_raw(raw)));
            }
            Ok(None) => return Ok(None),
            Err(Errno::INTR) => {}
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

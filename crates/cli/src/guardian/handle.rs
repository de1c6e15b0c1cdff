//! The line to one guardian.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::time::Instant;

use super::orders::Word;
use super::{Role, WORD};
use crate::gate;
use crate::moment;
use crate::reaper;
use crate::supervise::Variable;

/// One that has not answered for so long is stopped, or as good as dead.
const SILENCE: Duration = Duration::from_secs(2);
/// One that has not yet confirmed what it was told at first may have to wait for
/// a busy machine, and another in its place would have to wait as well. The
/// command waits behind its gate meanwhile, or has the other guardian.
const LONGEST_START: Duration = Duration::from_secs(30);

/// A guardian and the line to it. Dropped without [`dismiss`](Self::dismiss),
/// the line closes, and the guardian ends the command.
#[derive(Debug)]
pub(super) struct GuardianHandle {
    process: Option<std::process::Child>,
    pid: Pid,
    to: UnixStream,
    from: tokio::net::UnixStream,
    heard: Vec<u8>,
    /// How many lines it has not yet confirmed, and since when.
    unheard: usize,
    since: Instant,
    /// Whether it has not yet confirmed all that it was told at first.
    is_starting: bool,
    /// Whether the command's gate, which is this one's to open, is closed.
    is_gate_closed: bool,
}

impl GuardianHandle {
    /// Starts a guardian; the parent starts `command`, behind its gate.
    pub(super) fn start(
        role: Role,
        grace: Duration,
        command: &[OsString],
        environment: &[Variable],
    ) -> io::Result<Self> {
        let (to, theirs) = UnixStream::pair()?;
        let mut guardian = crate::ourselves();
        for (name, value) in environment {
            match value {
                Some(value) => guardian.env(name, value),
                None => guardian.env_remove(name),
            };
        }
        guardian
            .args([WORD, role.word(), &moment::nanos(grace).to_string()])
            .args(command)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // Out of reach of the terminal's signals, in its session all the
            // same: the command needs that.
            .process_group(0);
        if role != Role::Parent {
            // It must not keep a pipe open that others wait to be closed.
            guardian.stdout(Stdio::null());
        }
        if role == Role::Witness {
            guardian.stderr(Stdio::null());
        }
        // Before there is a process that could be left behind.
        to.set_nonblocking(true)?;
        let from = tokio::net::UnixStream::from_std(to.try_clone()?)?;
        let process = guardian.spawn()?;
        let pid = Pid::from_child(&process);
        reaper::leave(pid);
        Ok(Self {
            process: Some(process),
            pid,
            to,
            from,
            heard: Vec::new(),
            unheard: 0,
            since: Instant::now(),
            is_starting: true,
            is_gate_closed: role == Role::Parent,
        })
    }

    /// How long it may be silent.
    fn patience(&self) -> Duration {
        match self.is_starting {
            true => LONGEST_START,
            false => SILENCE,
        }
    }

    /// It has heard one more line.
    fn confirm(&mut self) {
        self.unheard = self.unheard.saturating_sub(1);
        self.since = Instant::now();
        if self.unheard == 0 && !self.is_gate_closed {
            self.is_starting = false;
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn is_alive(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_some_and(|process| matches!(process.try_wait(), Ok(None)))
    }

    /// Tells it a line, which it will confirm.
    pub(super) fn tell(&mut self, line: &str) {
        self.expect_answer();
        // One that has not read for so long that the line is full is as good
        // as gone; its end shows in the next word.
        if self.to.write_all(format!("{line}\n").as_bytes()).is_err() {
            self.dismiss();
        }
    }

    fn expect_answer(&mut self) {
        if self.unheard == 0 {
            self.since = Instant::now();
        }
        self.unheard += 1;
    }

    /// Lets the command begin, with our stdin.
    pub(super) fn open_gate(&mut self) -> io::Result<()> {
        self.expect_answer();
        self.is_gate_closed = false;
        match gate::hand_on(&self.to, std::io::stdin()) {
            // Its end shows in the next word.
            Err(error) if !gate::is_gone(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// What it says next. One that is silent is killed.
    pub(super) async fn word(&mut self) -> Word {
        loop {
            if let Some(word) = self.first() {
                if word == Word::Heard {
                    self.confirm();
                    continue;
                }
                return word;
            }
            let silence = async {
                if self.unheard == 0 {
                    return std::future::pending().await;
                }
                tokio::time::sleep_until(self.since + self.patience()).await;
            };
            tokio::select! {
                // What it has said counts before what it has not: this program
                // may itself have been stopped.
                biased;
                readable = self.from.readable() => if readable.is_err() || !self.listen() {
                    return Word::Gone;
                },
                () = silence => {
                    self.dismiss();
                    return Word::Gone;
                }
            }
        }
    }

    /// Takes in what it has said; false when it says nothing more.
    fn listen(&mut self) -> bool {
        let mut piece = [0; 256];
        match self.from.try_read(&mut piece) {
            // Half a line that is left says nothing.
            Ok(0) => false,
            Ok(length) => {
                self.heard.extend_from_slice(&piece[..length]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// What it has said and was not read yet. It speaks before it acts, so
    /// its word is here if the command has heard.
    pub(super) fn last_words(&mut self) -> Vec<Word> {
        let mut piece = [0; 256];
        while let Ok(length @ 1..) = self.to.read(&mut piece) {
            self.heard.extend_from_slice(&piece[..length]);
        }
        std::iter::from_fn(|| self.first()).collect()
    }

    /// Lets it go, by force, because it may be stopped, and waits until it is
    /// gone: then its children are ours.
    pub(super) fn dismiss(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
            reaper::take(self.pid);
        }
    }

    /// The first line of what was heard.
    fn first(&mut self) -> Option<Word> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        Some(Word::parse(&line))
    }
}

impl Drop for GuardianHandle {
    fn drop(&mut self) {
        // The line closes, and it does what is left to do. It is not waited for.
        if let Some(mut process) = self.process.take() {
            let pid = self.pid;
            std::thread::spawn(move || {
                let _ = process.wait();
                reaper::take(pid);
            });
        }
    }
}

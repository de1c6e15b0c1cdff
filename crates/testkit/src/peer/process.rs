//! A peer as its parent sees it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tenure::model::FencingToken;

use super::{ARGS, SEPARATOR, TEST};

/// How a peer is started.
#[derive(Clone, Debug)]
#[must_use]
pub struct PeerBuilder {
    program: PathBuf,
    /// Stands before the program: `unshare`, `setpriv` and the like.
    before: Vec<OsString>,
    args: Vec<String>,
    envs: Vec<(OsString, OsString)>,
}

impl PeerBuilder {
    /// Adds an option of the peer, as in `("--hold", "20ms")`.
    pub fn option(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.args
            .extend([name.to_owned(), value.as_ref().to_owned()]);
        self
    }

    /// The contender's id.
    pub fn id(self, id: &str) -> Self {
        self.option("--id", id)
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// Starts it through another program, as in `["setpriv", "--reuid=65534"]`.
    pub fn through(mut self, before: &[&str]) -> Self {
        self.before = before.iter().map(OsString::from).collect();
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(self) -> Peer {
        let mut words = self.before;
        words.push(self.program.into());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(["--exact", TEST, "--ignored", "--nocapture"])
            .env(ARGS, self.args.join(&SEPARATOR.to_string()))
            .envs(self.envs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let out = child.stdout.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Peer {
            input: child.stdin.take(),
            child,
            lines,
            said: Vec::new(),
        }
    }
}

/// A line `acquired …` of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// The token of the tenure.
    pub token: FencingToken,
    /// For how long it was valid then.
    pub valid_for: Duration,
}

/// Another process that contends. Killed when dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Peer {
    /// A peer that contends for `name` in the store at `url`.
    pub fn contending(url: &str, name: &str) -> PeerBuilder {
        PeerBuilder {
            program: std::env::current_exe().expect("a test knows its own file"),
            before: Vec::new(),
            args: vec![url.to_owned(), name.to_owned()],
            envs: Vec::new(),
        }
    }

    /// The next line for which `wanted` returns something.
    ///
    /// # Panics
    /// When there is none within `limit`, with all that it said.
    pub fn wait_for<T>(
        &mut self,
        limit: Duration,
        what: &str,
        wanted: impl Fn(&str) -> Option<T>,
    ) -> T {
        self.next_within(limit, wanted).unwrap_or_else(|why| {
            panic!(
                "peer {} did not say {what:?} ({why}); it said {:#?}",
                self.pid(),
                self.said
            )
        })
    }

    fn next_within<T>(
        &mut self,
        limit: Duration,
        wanted: impl Fn(&str) -> Option<T>,
    ) -> Result<T, RecvTimeoutError> {
        let end = Instant::now() + limit;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left)?;
            self.said.push(line.clone());
            if let Some(found) = wanted(&line) {
                return Ok(found);
            }
        }
    }

    /// Waits until it says exactly `line`.
    ///
    /// # Panics
    /// When it does not within `limit`.
    pub fn wait_line(&mut self, limit: Duration, line: &str) {
        self.wait_for(limit, line, |said| (said == line).then_some(()));
    }

    /// Waits until it owns.
    ///
    /// # Panics
    /// When it does not within `limit`.
    pub fn wait_acquired(&mut self, limit: Duration) -> Acquired {
        self.wait_for(limit, "acquired", acquired)
    }

    /// What it says of a tenure within `limit`, if it says so.
    pub fn acquired_within(&mut self, limit: Duration) -> Option<Acquired> {
        self.next_within(limit, acquired).ok()
    }

    /// Waits for its `trouble`, and returns the text.
    ///
    /// # Panics
    /// When there is none within `limit`.
    pub fn wait_trouble(&mut self, limit: Duration) -> String {
        self.wait_for(limit, "trouble", |line| {
            line.strip_prefix("trouble ").map(str::to_owned)
        })
    }

    /// All lines heard so far.
    #[must_use]
    pub fn said(&self) -> &[String] {
        &self.said
    }

    /// Tells it `stop`, `start` or `quit`.
    ///
    /// # Panics
    /// When it has ended.
    pub fn tell(&mut self, command: &str) {
        let input = self.input.as_mut().expect("it was not told to quit");
        writeln!(input, "{command}").expect("the peer takes commands");
    }

    /// Lets it release and close everything, and waits for its end.
    ///
    /// # Panics
    /// When it does not end well within `limit`.
    pub fn quit(mut self, limit: Duration) {
        drop(self.input.take());
        self.wait_line(limit, "bye");
        let status = self.child.wait().expect("a child can be waited for");
        assert!(status.success(), "the peer ended with {status}");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().expect("a child can be waited for")
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill(mut self) {
        self.end();
    }

    /// SIGSTOP; returns when all of its threads stand still.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        // The signal is on its way when it has been sent, no more: a thread on
        // another core may still answer a message. An end will do as well.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&self.child);
        while waitid(WaitId::Pid(pid), stopped).err() == Some(rustix::io::Errno::INTR) {}
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("a child that was not waited for can be signalled");
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end();
    }
}

fn acquired(line: &str) -> Option<Acquired> {
    let (token, millis) = line.strip_prefix("acquired ")?.split_once(' ')?;
    Some(Acquired {
        token: token.parse().ok()?,
        valid_for: Duration::from_millis(millis.parse().ok()?),
    })
}

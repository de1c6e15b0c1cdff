//! The command: a process group that is signalled and ended as one.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::sync::mpsc;

use crate::gate;

/// What becomes of the command's own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has ended, and keeps its number until it is reaped.
    Ended,
    /// A signal has stopped it: Ctrl-Z, perhaps.
    Stopped,
}

/// A started command. Dropped, its whole group is killed.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    group: Pid,
    gate: Option<UnixStream>,
    fates: mpsc::UnboundedReceiver<Fate>,
    is_over: bool,
}

/// This very program, also when its file has been replaced meanwhile.
pub(crate) fn ourselves() -> Command {
    let link = std::path::Path::new("/proc/self/exe");
    let path = if link.exists() {
        link.to_path_buf()
    } else {
        std::env::current_exe().unwrap_or_else(|_| "tenure".into())
    };
    let mut command = Command::new(path);
    command.arg0("tenure");
    command
}

impl Child {
    /// Starts a process that will be `command` once it is [let go](Self::go),
    /// in a group of its own.
    pub(crate) fn prepare(
        command: &[OsString],
        environment: impl IntoIterator<Item = (&'static str, String)>,
    ) -> io::Result<Self> {
        let (gate, theirs) = UnixStream::pair()?;
        let process = ourselves()
            .arg(gate::WORD)
            .args(command)
            .envs(environment)
            .process_group(0)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .spawn()?;
        let group = Pid::from_child(&process);
        Ok(Self {
            process,
            group,
            gate: Some(gate),
            fates: watch(group),
            is_over: false,
        })
    }

    pub(crate) fn group(&self) -> Pid {
        self.group
    }

    /// Lets the command begin. If its process has died meanwhile, that shows
    /// in its fate.
    pub(crate) fn go(&mut self) -> io::Result<()> {
        match self.gate.take().map(|gate| gate::open(&gate)) {
            Some(Err(error)) if error != Errno::PIPE && error != Errno::CONNRESET => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    /// What happens to it next.
    pub(crate) async fn fate(&mut self) -> Fate {
        self.fates.recv().await.unwrap_or(Fate::Ended)
    }

    /// Sends `signal` to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.is_over {
            signal_group(self.group, signal);
        }
    }

    /// The status of the command that has ended.
    pub(crate) fn reap(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    /// Ends what the command left behind in its group: politely, and after
    /// `grace` by force. To be called when it has been reaped.
    pub(crate) async fn sweep(&mut self, grace: Duration) {
        if self.is_empty() {
            return;
        }
        self.signal(Signal::TERM);
        if tokio::time::timeout(grace, self.emptied()).await.is_err() {
            self.signal(Signal::KILL);
            // The killed run no more. Those that nobody reaps (in a container
            // whose first process does not) stay members all the same.
            let _ = tokio::time::timeout(Duration::from_millis(500), self.emptied()).await;
        }
    }

    async fn emptied(&mut self) {
        while !self.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn is_empty(&mut self) -> bool {
        // The number stays the group's while it has a member.
        self.is_over = self.is_over || test_kill_process_group(self.group) == Err(Errno::SRCH);
        self.is_over
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Sends `signal` to all of `group`, and wakes those that are stopped.
pub(crate) fn signal_group(group: Pid, signal: Signal) {
    // Gone already is as good.
    let _ = kill_process_group(group, signal);
    if matches!(signal, Signal::TERM | Signal::INT | Signal::HUP) {
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Waits for what happens to the process, without reaping it: a number that
/// the guardian may still signal must not become another's.
fn watch(process: Pid) -> mpsc::UnboundedReceiver<Fate> {
    let (tell, fates) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let wait = |options| waitid(WaitId::Pid(process), options);
        let (ended, stopped) = (WaitIdOptions::EXITED, WaitIdOptions::STOPPED);
        loop {
            match wait(ended | stopped | WaitIdOptions::NOWAIT) {
                Ok(Some(status)) if status.stopped() => {
                    let _ = wait(stopped | WaitIdOptions::NOHANG);
                    let _ = tell.send(Fate::Stopped);
                }
                Err(Errno::INTR) => {}
                _ => {
                    let _ = tell.send(Fate::Ended);
                    return;
                }
            }
        }
    });
    fates
}

//! This program's end of the line to the guardian.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};

use super::WORD;
use crate::child::ourselves;
use crate::moment;

/// What the guardian tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// It knows the group, and guards it.
    Ready,
    /// The deadline is near: it has sent SIGTERM.
    Stopping,
    /// The deadline has come: it has sent SIGKILL.
    Killed,
    /// It is no more.
    Gone,
}

/// A guardian at its post. Dropped without [`dismiss`](Self::dismiss), the
/// line closes, and the guardian kills the group.
#[derive(Debug)]
pub(crate) struct Post {
    process: Option<std::process::Child>,
    to: UnixStream,
    from: Lines<BufReader<tokio::net::UnixStream>>,
}

impl Post {
    /// Starts a guardian.
    pub(crate) fn start(grace: Duration) -> io::Result<Self> {
        let (to, theirs) = UnixStream::pair()?;
        let process = ourselves()
            .arg(WORD)
            .arg(moment::nanos(grace).to_string())
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        to.set_nonblocking(true)?;
        let from = tokio::net::UnixStream::from_std(to.try_clone()?)?;
        Ok(Self {
            process: Some(process),
            to,
            from: BufReader::new(from).lines(),
        })
    }

    /// Has it guard `group` until the moment `until`; it answers
    /// [`Ready`](Report::Ready).
    pub(crate) fn guard(&mut self, group: Pid, until: u64) {
        self.tell(&format!("group {} {until}", group.as_raw_pid()));
    }

    /// Moves the deadline.
    pub(crate) fn until(&mut self, until: u64) {
        self.tell(&format!("until {until}"));
    }

    /// What it tells next.
    pub(crate) async fn report(&mut self) -> Report {
        match self.from.next_line().await.ok().flatten().as_deref() {
            Some("ready") => Report::Ready,
            Some("stopping") => Report::Stopping,
            Some("killed") => Report::Killed,
            _ => Report::Gone,
        }
    }

    /// Lets it go: there is nothing to guard any more.
    pub(crate) fn dismiss(mut self) {
        self.tell("done");
    }

    fn tell(&mut self, line: &str) {
        let line = format!("{line}\n");
        // One that has not read for so long that the line is full is as good
        // as gone; its end shows in the next report.
        if self.to.write_all(line.as_bytes()).is_err() {
            let _ = self.process.as_mut().map(std::process::Child::kill);
        }
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        // It ends by itself now, but nobody waits for one that is stopped.
        if let Some(mut process) = self.process.take() {
            std::thread::spawn(move || process.wait());
        }
    }
}

//! This program's end of the line to the guardian.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;

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
    from: tokio::net::UnixStream,
    heard: Vec<u8>,
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
            from,
            heard: Vec::new(),
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
        loop {
            if let Some(report) = self.first() {
                return report;
            }
            let mut piece = [0; 64];
            let length = match self.from.readable().await {
                Ok(()) => self.from.try_read(&mut piece),
                Err(error) => Err(error),
            };
            match length {
                Ok(length) if length > 0 => self.heard.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => return Report::Gone,
            }
        }
    }

    /// Lets it go: there is nothing to guard any more. Returns whether it had
    /// told the group to end.
    pub(crate) fn dismiss(mut self) -> bool {
        // It speaks before it acts, so its word is here if the group heard it.
        let mut piece = [0; 256];
        while let Ok(length @ 1..) = self.to.read(&mut piece) {
            self.heard.extend_from_slice(&piece[..length]);
        }
        let has_acted = std::iter::from_fn(|| self.first())
            .any(|report| matches!(report, Report::Stopping | Report::Killed));
        // By force, because it may be stopped.
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        has_acted
    }

    /// The first line of what was heard.
    fn first(&mut self) -> Option<Report> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        Some(match line.trim_ascii() {
            b"ready" => Report::Ready,
            b"stopping" => Report::Stopping,
            b"killed" => Report::Killed,
            _ => Report::Gone,
        })
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

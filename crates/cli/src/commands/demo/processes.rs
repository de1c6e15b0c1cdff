//! The demo's processes, and the lines they send.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::process::{Child, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe::Receiver;

use super::{CONTENDER, OFFICE};
use crate::ourselves;

const NAMES: [&str; 3] = ["ada", "ben", "cleo"];

/// What a contender says, a line of JSON each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Said {
    /// Times are those of [`crate::moment`].
    Elected {
        token: u64,
        at: u64,
        until: u64,
    },
    Renewed {
        until: u64,
    },
    Write {
        token: u64,
        at: u64,
        number: u64,
    },
    /// A run of the schedule.
    Tick {
        token: u64,
        at: u64,
        number: u64,
        late: Duration,
    },
    Deposed,
    Trouble(String),
    /// Its line has ended: it is dead, and all it sent has been read.
    Gone,
}

/// All contenders.
#[derive(Debug)]
pub(super) struct Processes(Vec<Member>);

#[derive(Debug)]
struct Member {
    process: Child,
    lines: Option<Lines<BufReader<Receiver>>>,
    /// Sent, and not delivered yet.
    late: VecDeque<Said>,
    is_held_back: bool,
}

impl Processes {
    pub(super) fn start(url: &str) -> io::Result<Self> {
        let start = |name| {
            let mut process = ourselves()
                .args([CONTENDER, url, OFFICE, name])
                // Its store is this one, whatever the environment names.
                .env_remove("TENURE_URL")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?;
            let stdout = process.stdout.take().expect("it is piped");
            let lines = BufReader::new(Receiver::from_owned_fd(stdout.into())?).lines();
            Ok(Member {
                process,
                lines: Some(lines),
                late: VecDeque::new(),
                is_held_back: false,
            })
        };
        NAMES
            .into_iter()
            .map(start)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The names of all, and their numbers.
    pub(super) fn list(&self) -> Vec<(&'static str, u32)> {
        let numbers = self.0.iter().map(|member| member.process.id());
        NAMES.into_iter().zip(numbers).collect()
    }

    /// The next line of anyone that is not held back; `None` when nobody can
    /// say anything any more.
    pub(super) async fn next(&mut self) -> Option<(usize, Said)> {
        poll_fn(|cx| {
            let mut is_anyone_left = false;
            for (who, member) in self.0.iter_mut().enumerate() {
                if let Poll::Ready(said) = member.poll_next(cx) {
                    return Poll::Ready(Some((who, said)));
                }
                is_anyone_left |= member.lines.is_some();
            }
            if is_anyone_left {
                Poll::Pending
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Leaves the writes of `who` on the way.
    pub(super) fn hold_back(&mut self, who: usize, is_held_back: bool) {
        self.0[who].is_held_back = is_held_back;
    }

    /// Whether a write of `who` is on the way.
    pub(super) fn has_sent_a_write(&self, who: usize) -> bool {
        let mut late = self.0[who].late.iter();
        late.any(|said| matches!(said, Said::Write { .. }))
    }

    pub(super) fn signal(&mut self, who: usize, signal: Signal) {
        let process = &mut self.0[who].process;
        let _ = kill_process(Pid::from_child(process), signal);
        if signal == Signal::KILL {
            // Dead before anything else happens, not merely about to die.
            let _ = process.wait();
        }
    }
}

impl Member {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Said> {
        while let Some(lines) = &mut self.lines {
            let Poll::Ready(line) = Pin::new(lines).poll_next_line(cx) else {
                break;
            };
            self.late.push_back(match line {
                Ok(Some(line)) => serde_json::from_str(&line).unwrap_or(Said::Trouble(line)),
                _ => {
                    self.lines = None;
                    Said::Gone
                }
            });
        }
        let is_held_back = self.is_held_back;
        let passes =
            |said: &Said| !is_held_back || !matches!(said, Said::Write { .. } | Said::Gone);
        let next = self.late.iter().position(passes);
        let said = next.and_then(|at| self.late.remove(at));
        said.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for member in &mut self.0 {
            let _ = member.process.kill();
            let _ = member.process.wait();
        }
    }
}

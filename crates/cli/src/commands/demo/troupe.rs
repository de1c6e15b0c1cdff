//! The demo's processes, and the lines they send.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::process::{Child, Stdio};
use std::task::Poll;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe::Receiver;

use super::{CONTENDER, OFFICE};
use crate::child::ourselves;

const NAMES: [&str; 3] = ["ada", "ben", "cleo"];

/// What a contender says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Standing,
    Elected(u64),
    Write {
        token: u64,
        number: u64,
    },
    Deposed(String),
    Trouble(String),
    /// Its line has ended: it is dead, and all it sent has been read.
    Gone,
}

/// All contenders.
#[derive(Debug)]
pub(super) struct Troupe(Vec<Member>);

#[derive(Debug)]
struct Member {
    process: Child,
    lines: Option<Lines<BufReader<Receiver>>>,
    is_held_back: bool,
}

impl Troupe {
    pub(super) fn start(url: &str) -> io::Result<Self> {
        let start = |name| {
            let mut process = ourselves()
                .args([CONTENDER, url, OFFICE, name])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?;
            let stdout = process.stdout.take().expect("it is piped");
            let lines = BufReader::new(Receiver::from_owned_fd(stdout.into())?).lines();
            Ok(Member {
                process,
                lines: Some(lines),
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

    pub(super) fn name(&self, who: usize) -> &'static str {
        NAMES[who]
    }

    pub(super) fn pid(&self, who: usize) -> u32 {
        self.0[who].process.id()
    }

    /// The next line of anyone who is not held back; `None` when nobody can
    /// say anything any more.
    pub(super) async fn next(&mut self) -> Option<(usize, Said)> {
        poll_fn(|cx| {
            let mut is_anyone_left = false;
            for (who, member) in self.0.iter_mut().enumerate() {
                let Some(lines) = member.lines.as_mut().filter(|_| !member.is_held_back) else {
                    continue;
                };
                is_anyone_left = true;
                match Pin::new(lines).poll_next_line(cx) {
                    Poll::Ready(Ok(Some(line))) => {
                        return Poll::Ready(Some((who, understood(&line))));
                    }
                    Poll::Ready(_) => {
                        member.lines = None;
                        return Poll::Ready(Some((who, Said::Gone)));
                    }
                    Poll::Pending => {}
                }
            }
            if is_anyone_left {
                Poll::Pending
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Leaves what `who` sends on the way.
    pub(super) fn hold_back(&mut self, who: usize, is_held_back: bool) {
        self.0[who].is_held_back = is_held_back;
    }

    /// Whether something of `who` is on the way.
    pub(super) fn has_sent(&mut self, who: usize) -> bool {
        let lines = self.0[who].lines.as_mut();
        let pipe = lines.map(|lines| lines.get_mut().get_mut());
        pipe.is_some_and(|pipe| rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0))
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

impl Drop for Troupe {
    fn drop(&mut self) {
        for member in &mut self.0 {
            let _ = member.process.kill();
            let _ = member.process.wait();
        }
    }
}

fn understood(line: &str) -> Said {
    let mut words = line.split(' ');
    let word = words.next().unwrap_or_default();
    let rest = line
        .strip_prefix(word)
        .unwrap_or_default()
        .trim()
        .to_owned();
    let mut number = || words.next().and_then(|word| word.parse().ok());
    let said = match word {
        "standing" => Some(Said::Standing),
        "elected" => number().map(Said::Elected),
        "write" => number().and_then(|token| {
            let number = number()?;
            Some(Said::Write { token, number })
        }),
        "deposed" => Some(Said::Deposed(rest)),
        _ => None,
    };
    said.unwrap_or_else(|| Said::Trouble(line.to_owned()))
}

//! The signals that end or steer this program, as one stream.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Those that are passed on to the command.
const PASSED_ON: [Signal; 6] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
];

/// Signals sent to this program from now on.
#[derive(Debug)]
pub(crate) struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
    /// Whether there was a terminal that can go away.
    had_terminal: bool,
}

impl Signals {
    /// Listens. What is ignored (under nohup, in the background of a script)
    /// stays ignored, for the command as well.
    pub(crate) fn listen() -> io::Result<Self> {
        let wanted = PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal));
        let listen = |signal: Signal| {
            let kind = SignalKind::from_raw(signal.as_raw());
            Ok((signal, unix::signal(kind)?))
        };
        Ok(Self {
            streams: wanted.map(listen).collect::<io::Result<_>>()?,
            had_terminal: has_terminal(),
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|cx| {
            for (signal, stream) in &mut self.streams {
                if let Poll::Ready(Some(())) = stream.poll_recv(cx) {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// The next one that asks for the end.
    pub(crate) async fn end(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if self.is_end(signal) {
                return signal;
            }
        }
    }

    /// The next one that asks for the end of a program that has nothing to
    /// reload, and dies of SIGHUP as others do.
    pub(crate) async fn end_or_hangup(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if signal == Signal::HUP || self.is_end(signal) {
                return signal;
            }
        }
    }

    /// Whether `signal` asks for the end. SIGHUP does when the terminal is
    /// gone; otherwise it asks the command to read its settings again.
    pub(crate) fn is_end(&self, signal: Signal) -> bool {
        match signal {
            Signal::TERM | Signal::INT | Signal::QUIT => true,
            Signal::HUP => self.had_terminal && !has_terminal(),
            _ => false,
        }
    }
}

fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// Whether this program was started with `signal` ignored.
pub(crate) fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    // One bit each.
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}

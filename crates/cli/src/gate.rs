//! The gate: the command's process before it is the command.
//!
//! The guardian starts it, and the command must not begin before this program
//! knows of it and has lent it the terminal. So the process is born as a gate,
//! which waits for a word over its stdin, a socket, and only then becomes the
//! command. The word brings the real stdin along. If the socket closes instead,
//! there is no run left to wait for.

use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use nix::sys::signal::{SigSet, Signal};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::exit;
use crate::output::Voice;

pub(crate) const WORD: &str = "__gate";

/// Starts a process in a group of its own that will be `command` once it is
/// [let go](hand_on), and hears the signals `to_hear` from then on.
pub(crate) fn close(
    command: &[OsString],
    to_hear: &SigSet,
) -> std::io::Result<(UnixStream, Child)> {
    let (gate, theirs) = UnixStream::pair()?;
    let numbers: Vec<String> = to_hear
        .iter()
        .map(|signal| (signal as i32).to_string())
        .collect();
    let process = crate::ourselves()
        .args([WORD, &numbers.join(",")])
        .args(command)
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    Ok((gate, process))
}

/// Lets the process at the other end of `gate` go on, with `stdin`.
pub(crate) fn hand_on(gate: &UnixStream, stdin: impl AsFd) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    let fds = [stdin.as_fd()];
    along.push(SendAncillaryMessage::ScmRights(&fds));
    let word = [IoSlice::new(b"go\n")];
    sendmsg(gate, &word, &mut along, SendFlags::NOSIGNAL).map(drop)
}

/// Whether the other end of the line is gone.
pub(crate) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::PIPE | Errno::CONNRESET)
}

/// What has been said, without waiting for it, and the file that came along.
pub(crate) fn receive(
    line: &UnixStream,
    into: &mut [u8],
) -> rustix::io::Result<(usize, Option<OwnedFd>)> {
    take(line, into, RecvFlags::DONTWAIT)
}

fn take(
    line: impl AsFd,
    into: &mut [u8],
    flags: RecvFlags,
) -> rustix::io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let mut words = [IoSliceMut::new(into)];
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(line, &mut words, &mut along, flags)?;
    let file = along.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok((received.bytes, file))
}

/// The process itself.
pub(crate) fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let to_hear = words.next().unwrap_or_default();
    let (Some(stdin), Some(program)) = (wait(), words.next()) else {
        return ExitCode::from(exit::SYSTEM);
    };
    hear(&to_hear.to_string_lossy());
    let error = Command::new(&program).args(words).stdin(stdin).exec();
    let voice = Voice::new(true, 0);
    voice.error(&format_args!("cannot run {}: {error}", program.display()));
    if program.to_string_lossy().starts_with('-') {
        voice.error(&"options of tenure stand before the --, the command behind it");
    }
    ExitCode::from(match error.kind() {
        std::io::ErrorKind::NotFound => exit::NOT_FOUND,
        _ => exit::NOT_EXECUTABLE,
    })
}

/// Hears the signals again that the guardian is deaf to.
fn hear(numbers: &str) {
    let number = |number: &str| Signal::try_from(number.parse::<i32>().ok()?).ok();
    let signals: SigSet = numbers.split(',').filter_map(number).collect();
    let _ = signals.thread_unblock();
}

/// The command's stdin, once it may begin; `None` when it may not.
fn wait() -> Option<OwnedFd> {
    let gate = std::io::stdin();
    loop {
        match take(gate.as_fd(), &mut [0; 8], RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            received => return received.ok()?.1,
        }
    }
}

//! The gate: the command's process before it is the command.
//!
//! Between the birth of a process and the moment its guardian knows of it, a
//! kill of this program would leave it unguarded. So the process is born as a
//! gate, which waits for a word over its stdin, a socket, and only then becomes
//! the command. The word brings the real stdin along. If the socket closes
//! instead, there is nobody left to run for.

use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::exit;

pub(crate) const WORD: &str = "__gate";

/// Lets the process at the other end of `gate` become the command, with our
/// stdin.
pub(crate) fn open(gate: &UnixStream) -> rustix::io::Result<()> {
    let stdin = std::io::stdin();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    let fds = [stdin.as_fd()];
    along.push(SendAncillaryMessage::ScmRights(&fds));
    let word = [IoSlice::new(b"!")];
    sendmsg(gate, &word, &mut along, SendFlags::NOSIGNAL).map(drop)
}

/// The process itself.
pub(crate) fn main(command: impl Iterator<Item = OsString>) -> ExitCode {
    // A second net only: it reaches no grandchild. It holds when this program
    // and the guardian are killed at once.
    #[cfg(target_os = "linux")]
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let mut command = command.collect::<Vec<_>>().into_iter();
    let (Some(stdin), Some(program)) = (wait(), command.next()) else {
        return ExitCode::from(exit::SYSTEM);
    };
    let error = Command::new(&program).args(command).stdin(stdin).exec();
    eprintln!("tenure: cannot run {}: {error}", program.display());
    ExitCode::from(match error.kind() {
        std::io::ErrorKind::NotFound => exit::NOT_FOUND,
        _ => exit::NOT_EXECUTABLE,
    })
}

/// The command's stdin, once it may begin; `None` when it may not.
fn wait() -> Option<OwnedFd> {
    let gate = std::io::stdin();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    let received = loop {
        let mut words = [IoSliceMut::new(&mut word)];
        match recvmsg(
            gate.as_fd(),
            &mut words,
            &mut along,
            RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received.ok()?,
        }
    };
    if received.bytes == 0 {
        return None;
    }
    along.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    })
}

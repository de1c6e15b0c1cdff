//! The holder: a process in the background that takes the lock and renews it.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};
use serde::{Deserialize, Serialize};
use tenure::{Coordinator, LockGuard};
use tokio::sync::{mpsc, oneshot};

use super::desk::{self, Held};
use super::vigil::{FrontMessage, Vigil};
use crate::args::{Hold, OnLoss};
use crate::commands::{grace, lock};
use crate::complaints::Complaints;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::guardian::Pair;
use crate::output::Voice;
use crate::tree::{Script, Stranger, start_of};
use crate::{moment, store};

/// What only the script's own end, or `tenure release`, may do to it.
const DEAF_TO: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];

/// What the holder is told first.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Order {
    /// The shell's number and start.
    pub(crate) shell: (i32, u64),
    /// The holder's own id.
    pub(crate) id: String,
    pub(crate) hold: Hold,
    pub(crate) settings: Settings,
    pub(crate) quiet: bool,
    pub(crate) verbose: u8,
}

/// The line to `tenure hold`, which is its stdin.
type Front = io::BufReader<UnixStream>;

/// The process itself. On the line it is told its order, as a line of JSON. It
/// tells `held` and what, or `failed` and a code, and hears `taken` when that
/// has become the shell's, and `dropped` when it has not.
pub(crate) fn main() -> ExitCode {
    detach();
    let Ok((order, front)) = receive() else {
        // The program that started it is gone.
        return ExitCode::from(exit::SYSTEM);
    };
    let voice = Voice::new(order.quiet, order.verbose).only_if_heard();
    crate::trace::show(order.verbose, true);
    let ended = match crate::files::runtime() {
        Ok(runtime) => {
            let ended = runtime.block_on(Box::pin(take(&order, front, &voice)));
            runtime.shutdown_background();
            ended
        }
        Err(failure) => Err(failure),
    };
    let code = ended.unwrap_or_else(|failure| {
        voice.passing("");
        voice.error(&failure.message);
        failure.code
    });
    // Before anything was held; afterwards the shell listens no more.
    if let Ok(mut line) = line() {
        let _ = line.write_all(format!("failed {code}\n").as_bytes());
    }
    ExitCode::from(code)
}

fn line() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

fn receive() -> io::Result<(Order, Front)> {
    let mut front = io::BufReader::new(line()?);
    let mut text = String::new();
    front.read_line(&mut text)?;
    Ok((serde_json::from_str(&text)?, front))
}

/// Leaves the script's terminal, its signals and its files alone: a pipe that
/// the script closes must be closed. What it has to say goes where `tenure
/// hold` says it.
fn detach() {
    let _ = rustix::thread::set_name(c"tenure-holder");
    let _ = setsid();
    let _ = SigSet::from_iter(DEAF_TO).thread_block();
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = files.filter_map(|file| file.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let numbers: Vec<i32> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        let _ = nix::unistd::close(number);
    }
    unblock();
}

/// The reader of stderr may fill it between a look and a word.
/// Opened once more, a pipe or a terminal can be written to without waiting,
/// and stays as it is for everybody else.
fn unblock() {
    let path = "/proc/self/fd/2";
    let kind = std::fs::metadata(path).map(|file| file.file_type());
    // A file never waits, and would be written to from its beginning.
    if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device()) {
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let opened = File::options()
            .write(true)
            .custom_flags(flags.bits())
            .open(path);
        if let Ok(stderr) = opened {
            let _ = rustix::stdio::dup2_stderr(stderr);
        }
    }
}

async fn take(order: &Order, front: Front, voice: &Voice) -> Result<u8, Failure> {
    let (pid, start) = order.shell;
    let shell = Pid::from_raw(pid).map(|pid| (pid, start));
    let shell = shell.ok_or_else(|| Failure::new(exit::SYSTEM, "the shell has no number"))?;
    let mut front = listen(front);
    let mut shell_ended = ended(shell);
    let coordinator = tokio::select! {
        opened = store::open(&order.settings, voice) => opened?,
        () = gone(&mut front, &mut shell_ended) => return Ok(exit::NOT_ACQUIRED),
    };
    // One for the waiting and the holding: what was told is taken back.
    let mut complaints = Complaints::about(&coordinator, 1, voice);
    let held = hold(order, shell, &coordinator, (front, shell_ended), voice);
    let ended = complaints.telling(Box::pin(held)).await;
    // Undoes what may have been won for a script that is gone. What could not be
    // told to the store runs out by itself.
    store::close(&coordinator, &ended).await;
    ended
}

type FrontAndShell = (mpsc::UnboundedReceiver<FrontMessage>, oneshot::Receiver<()>);

/// The shell that asked may be gone before the lock is here.
async fn gone(
    front: &mut mpsc::UnboundedReceiver<FrontMessage>,
    shell_ended: &mut oneshot::Receiver<()>,
) {
    tokio::select! {
        _ = front.recv() => {}
        _ = shell_ended => {}
    }
}

async fn hold(
    order: &Order,
    shell: Stranger,
    coordinator: &Coordinator,
    (mut front, mut shell_ended): FrontAndShell,
    voice: &Voice,
) -> Result<u8, Failure> {
    let hold = &order.hold;
    let grace = grace(hold.grace, coordinator)?;
    let how = (hold.no_wait, hold.wait);
    let acquired = tokio::select! {
        biased;
        acquired = lock::take(&hold.name, how, coordinator, voice) => acquired?,
        () = gone(&mut front, &mut shell_ended) => None,
    };
    let Some(guard) = acquired else {
        return Ok(exit::NOT_ACQUIRED);
    };
    match begin(hold, shell, &order.id, grace, &guard).await {
        Ok((pair, script, desk)) => {
            let vigil = Vigil {
                guard,
                pair,
                script,
                grace,
                desk,
                front,
                shell_ended,
                voice,
            };
            vigil.keep().await;
            Ok(exit::LOST)
        }
        Err(failure) => {
            let _ = guard.release().await;
            Err(failure)
        }
    }
}

type Begun = (Option<Pair>, Script, desk::Desk);

/// Guards the script, opens the desk, and says so.
async fn begin(
    hold: &Hold,
    shell: Stranger,
    id: &str,
    grace: std::time::Duration,
    guard: &LockGuard,
) -> Result<Begun, Failure> {
    let tenure = guard.tenure();
    let Ok(token) = tenure.token() else {
        return Err(tenure::Error::from(tenure.lost().await).into());
    };
    let held = Held {
        name: tenure.mutex().to_string(),
        token: token.to_string(),
        contender: tenure.contender().to_string(),
    };
    let failed = |what: &'static str| move |error: io::Error| Failure::system(what, &error);
    let script = Script::now(shell, id)
        .ok_or_else(|| Failure::new(exit::NOT_ACQUIRED, "the shell has ended"))?;
    let pair = match hold.on_loss.unwrap_or(OnLoss::End) {
        OnLoss::Warn => None,
        OnLoss::End => {
            let until = moment::last_of(tenure);
            let mut pair =
                Pair::start(&script, grace, until).map_err(failed("start the guardians"))?;
            match tenure.protect(pair.ready()).await {
                Ok(true) => Some(pair),
                Ok(false) => {
                    pair.dismiss();
                    return Err(Failure::new(exit::SYSTEM, "a guardian has died"));
                }
                Err(lost) => {
                    // The shell has not begun, and need not end.
                    pair.dismiss();
                    return Err(tenure::Error::from(lost).into());
                }
            }
        }
    };
    let begun = desk::open(id, &held).and_then(|desk| {
        let held = serde_json::to_string(&held).expect("our own values are JSON");
        line()?.write_all(format!("held {held}\n").as_bytes())?;
        Ok(desk)
    });
    match begun {
        Ok(desk) => Ok((pair, script, desk)),
        Err(error) => {
            if let Some(pair) = pair {
                pair.dismiss();
            }
            Err(failed("tell the shell")(error))
        }
    }
}

/// What `tenure hold` says, until it is gone.
fn listen(front: Front) -> mpsc::UnboundedReceiver<FrontMessage> {
    let (tell, said) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for word in front.lines().map_while(Result::ok) {
            let word = match word.as_str() {
                "taken" => FrontMessage::Taken,
                _ => FrontMessage::Dropped,
            };
            let _ = tell.send(word);
        }
        let _ = tell.send(FrontMessage::Gone);
    });
    said
}

/// Is told when the shell has ended.
fn ended(shell: Stranger) -> oneshot::Receiver<()> {
    let (tell, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let is_there = || start_of(shell.0) == Some(shell.1);
        match pidfd_open(shell.0, PidfdFlags::empty()) {
            Ok(process) => {
                // Looked at after it was opened: the number may be another's.
                while is_there() {
                    let mut fds = [PollFd::new(&process, PollFlags::IN)];
                    if poll(&mut fds, None).is_ok() {
                        break;
                    }
                }
            }
            // Before Linux 5.3, or under a filter that does not know it.
            Err(_) => {
                while is_there() {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
            }
        }
        let _ = tell.send(());
    });
    ended
}

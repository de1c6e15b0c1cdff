//! The holder: a process in the background that takes the lock and renews it.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::process::ExitCode;

use clap::Parser;
use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};
use tenure::LockGuard;
use tokio::sync::{mpsc, oneshot};

use super::desk::{self, Held};
use super::vigil::{Line, Vigil};
use crate::args::{Cli, Command, Hold, OnLoss};
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

/// The process itself. Its words are the shell's number and start, its own id,
/// and what `tenure hold` was asked for. Its stdin is the line to that: it
/// tells `held` and what, or `failed` and a code, and hears `taken` when that
/// has become the shell's, and `dropped` when it has not.
pub(crate) fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    detach();
    let mut number = || words.next()?.to_str()?.parse::<u64>().ok();
    let shell = number()
        .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .zip(number());
    let id = words.next().and_then(|id| id.into_string().ok());
    let cli = Cli::try_parse_from([OsString::from("tenure")].into_iter().chain(words));
    let (Some(shell), Some(id), Ok(cli)) = (shell, id, cli) else {
        return ExitCode::from(exit::SYSTEM);
    };
    let Command::Hold(hold) = cli.command else {
        return ExitCode::from(exit::SYSTEM);
    };
    let voice = Voice::new(cli.common.quiet, cli.common.verbose);
    crate::trace::show(cli.common.verbose);
    let work = async {
        let settings = Settings::gather(cli.common, &Voice::new(true, 0))?;
        Box::pin(take(&hold, shell, &id, &settings, &voice)).await
    };
    let ended = match crate::files::runtime() {
        Ok(runtime) => {
            let ended = runtime.block_on(work);
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
    // Before anything was held; afterwards nobody listens any more.
    let line = UnixStream::from(match io::stdin().as_fd().try_clone_to_owned() {
        Ok(line) => line,
        Err(_) => return ExitCode::from(code),
    });
    let _ = (&line).write_all(format!("failed {code}\n").as_bytes());
    ExitCode::from(code)
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
}

async fn take(
    hold: &Hold,
    shell: Stranger,
    id: &str,
    settings: &Settings,
    voice: &Voice,
) -> Result<u8, Failure> {
    let failed = |what: &'static str| move |error: io::Error| Failure::system(what, &error);
    let mut line = listen().map_err(failed("listen to tenure hold"))?;
    let mut shell_ended = ended(shell);
    let (coordinator, grace, acquired) = {
        // Whoever asked may be gone before the lock is here.
        let mut gone = pin!(async {
            tokio::select! {
                _ = line.recv() => {}
                _ = &mut shell_ended => {}
            }
        });
        let coordinator = tokio::select! {
            opened = store::open(settings, voice) => opened?,
            () = &mut gone => return Ok(exit::NOT_ACQUIRED),
        };
        let grace = grace(hold.grace, &coordinator)?;
        let mut complaints = Complaints::about(&coordinator, 1, voice);
        let how = (hold.no_wait, hold.wait);
        let acquired = tokio::select! {
            biased;
            acquired = complaints.telling(lock::take(&hold.name, how, &coordinator, voice)) => acquired,
            () = &mut gone => Ok(None),
        };
        (coordinator, grace, acquired)
    };
    let ended = match acquired {
        Ok(Some(guard)) => match begin(hold, shell, id, grace, &guard).await {
            Ok((pair, script, desk)) => {
                let vigil = Vigil {
                    guard,
                    pair,
                    script,
                    grace,
                    desk,
                    line,
                    shell_ended,
                    voice,
                };
                Complaints::about(&coordinator, 1, voice)
                    .telling(vigil.keep())
                    .await;
                Ok(exit::LOST)
            }
            Err(failure) => {
                let _ = guard.release().await;
                Err(failure)
            }
        },
        Ok(None) => Ok(exit::NOT_ACQUIRED),
        Err(failure) => Err(failure),
    };
    // Undoes what may have been won for somebody who is gone. What could not be
    // told to the store runs out by itself.
    store::close(&coordinator, &ended).await;
    ended
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
            let until = moment::end_of(tenure);
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
        let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        (&line).write_all(format!("held {held}\n").as_bytes())?;
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
fn listen() -> io::Result<mpsc::UnboundedReceiver<Line>> {
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (tell, said) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for word in io::BufReader::new(line).lines().map_while(Result::ok) {
            let word = match word.as_str() {
                "taken" => Line::Taken,
                _ => Line::Dropped,
            };
            let _ = tell.send(word);
        }
        let _ = tell.send(Line::Gone);
    });
    Ok(said)
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

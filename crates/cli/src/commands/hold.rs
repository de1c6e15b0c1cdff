//! `tenure hold`: take a lock for the rest of a script, or a part of it.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{ExitCode, Stdio};

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::args::{Hold, OnLoss};
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::hold::desk::{self, Held};
use crate::hold::{WORD, shell, words};
use crate::output::{Format, Voice};
use crate::signals::Signals;
use crate::tree::{MARK, Stranger};

pub(crate) async fn hold(
    hold: Hold,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let shell = shell::find(hold.pid)?;
    check(&hold, shell)?;
    let id = desk::new_id();
    let failed = |error| Failure::system("start the holder", &error);
    let line = start(shell, &id).map_err(failed)?;
    let mut said = String::new();
    let mut reader = BufReader::new(tokio(&line).map_err(failed)?);
    tokio::select! {
        read = reader.read_line(&mut said) => drop(read),
        signal = signals.end_or_hangup() => {
            // The line closes, and the holder gives up.
            voice.passing("");
            let code = exit::by_signal(signal.as_raw());
            refuse(u8::try_from(128 + signal.as_raw()).unwrap_or(255), settings);
            return Ok(code);
        }
    }
    match said.trim_end().split_once(' ') {
        Some(("held", held)) => {
            let held: Held = serde_json::from_str(held)
                .map_err(|_| Failure::new(exit::SYSTEM, "the holder speaks nonsense"))?;
            hand_over(&line, shell, &id, &held, settings.output)
        }
        Some(("failed", code)) => {
            // Why has been said.
            let code = code.parse().unwrap_or(exit::SYSTEM);
            refuse(code, settings);
            Ok(ExitCode::from(code))
        }
        _ => Err(Failure::new(exit::SYSTEM, "the holder has died")),
    }
}

fn refuse(code: u8, settings: &Settings) {
    if settings.output == Format::Human {
        words::refused(code);
    }
}

/// What must be asked for, because nobody would expect it.
fn check(hold: &Hold, (shell, _): Stranger) -> Result<(), Failure> {
    if hold.on_loss.is_none() && shell::is_interactive(shell) {
        return Err(Failure::usage(
            "at the loss of the lock this interactive shell would be ended: say so with \
             --on-loss end, or have it only warned with --on-loss warn",
        ));
    }
    if hold.on_loss != Some(OnLoss::Warn) && shell.is_init() {
        return Err(Failure::usage(
            "the shell is the first process of its container, which nobody in it can end: \
             start it below an init (docker run --init), or use --on-loss warn",
        ));
    }
    Ok(())
}

/// Starts the holder; the line to it.
fn start((shell, begun): Stranger, id: &str) -> std::io::Result<UnixStream> {
    let (line, theirs) = UnixStream::pair()?;
    let pid = shell.as_raw_pid().to_string();
    crate::ourselves()
        .args([WORD, &pid, &begun.to_string(), id])
        .args(std::env::args_os().skip(1))
        // It is no part of what the script does under another lock.
        .env_remove(MARK)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    Ok(line)
}

fn tokio(line: &UnixStream) -> std::io::Result<tokio::net::UnixStream> {
    line.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(line.try_clone()?)
}

/// Makes the lock the shell's. The holder is told first: killed in between,
/// this program leaves a script that holds more than it knows, not less.
fn hand_over(
    mut line: &UnixStream,
    (shell, _): Stranger,
    id: &str,
    held: &Held,
    format: Format,
) -> Result<ExitCode, Failure> {
    let died = |_| Failure::new(exit::SYSTEM, "the holder has died");
    line.write_all(b"taken\n").map_err(died)?;
    if !words::held(id, held, shell.as_raw_pid(), format) {
        line.write_all(b"dropped\n").map_err(died)?;
        return Err(Failure::new(
            exit::SYSTEM,
            "nobody reads what is to be evaluated",
        ));
    }
    Ok(ExitCode::SUCCESS)
}

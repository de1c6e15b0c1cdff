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
use crate::hold::{Order, WORD, shell, words};
use crate::output::Voice;
use crate::place;
use crate::signals::Signals;
use crate::tree::{MARK, Stranger};

pub(crate) async fn hold(
    hold: Hold,
    settings: &Settings,
    (quiet, verbose): (bool, u8),
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let shell = shell::find(hold.pid)?;
    check(&hold, shell)?;
    let id = desk::new_id();
    let failed = |error| Failure::system("start the holder", &error);
    let order = Order {
        shell: (shell.0.as_raw_pid(), shell.1),
        id: id.clone(),
        hold,
        settings: settings.clone(),
        quiet,
        verbose,
    };
    let line = start(&order).map_err(failed)?;
    let mut said = String::new();
    let mut reader = BufReader::new(tokio(&line).map_err(failed)?);
    tokio::select! {
        read = reader.read_line(&mut said) => drop(read),
        signal = signals.end_or_hangup() => {
            // The line closes, and the holder gives up.
            voice.passing("");
            let code = exit::by_signal(signal.as_raw());
            let code_told = u8::try_from(128 + signal.as_raw()).unwrap_or(255);
            words::refused(code_told, settings.output);
            return Ok(code);
        }
    }
    match said.trim_end().split_once(' ') {
        Some(("held", held)) => {
            let held: Held = serde_json::from_str(held)
                .map_err(|_| Failure::new(exit::SYSTEM, "the holder speaks nonsense"))?;
            hand_over(&line, shell, &id, &held, settings)
        }
        Some(("failed", code)) => {
            // Why has been said.
            let code = code.parse().unwrap_or(exit::SYSTEM);
            words::refused(code, settings.output);
            Ok(ExitCode::from(code))
        }
        _ => Err(Failure::new(exit::SYSTEM, "the holder has died")),
    }
}

/// What must be asked for, because a user would not expect it.
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

/// Starts the holder and tells it what to do; the line to it. That may have a
/// password in it, which is not for the list of processes, and may have come
/// through a pipe, which cannot be read again.
fn start(order: &Order) -> std::io::Result<UnixStream> {
    let (mut line, theirs) = UnixStream::pair()?;
    crate::ourselves()
        .args([WORD, &order.hold.name])
        // It is no part of what the script does under another lock.
        .env_remove(MARK)
        .env_remove(place::URL)
        .env_remove(place::URL_FILE)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    let order = serde_json::to_string(order).expect("our own values are JSON");
    line.write_all(format!("{order}\n").as_bytes())?;
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
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    let died = |_| Failure::new(exit::SYSTEM, "the holder has died");
    line.write_all(b"taken\n").map_err(died)?;
    if !words::held(id, held, shell.as_raw_pid(), settings) {
        line.write_all(b"dropped\n").map_err(died)?;
        return Err(Failure::new(
            exit::SYSTEM,
            "nobody reads what is to be evaluated",
        ));
    }
    Ok(ExitCode::SUCCESS)
}

//! Starting cargo, and reading its output while passing it on.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, thread};

/// How long output may stay open and silent after the command has ended.
const GRACE: Duration = Duration::from_secs(2);
/// A command that says nothing for so long will never end: the slowest test takes minutes.
pub(crate) const LONGEST_SILENCE: Duration = Duration::from_secs(900);

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time; a copied binary falls back to where it was built.
    let xtask = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask.parent().map_or(xtask.clone(), Path::to_path_buf)
}

/// The cargo that runs this program, in the workspace, without standard input.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).stdin(Stdio::null());
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_package(name)) {
        cargo.env_remove(name);
    }
    // Cargo writes into a pipe and would not colour by itself.
    if io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none() {
        cargo.env("CARGO_TERM_COLOR", "always");
    }
    cargo
}

/// Whether cargo has set the variable to tell this program about its own package. Build scripts
/// look at these (ring's does): with them, half of the dependencies would be built again after
/// every `cargo test` or `cargo clippy` that did not come from here.
fn is_of_this_package(name: &OsStr) -> bool {
    const FOR_ONE: [&str; 4] = [
        "CARGO_BIN_NAME",
        "CARGO_CRATE_NAME",
        "CARGO_PRIMARY_PACKAGE",
        "OUT_DIR",
    ];
    let name = name.to_string_lossy();
    let starts = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    FOR_ONE.contains(&&*name) || starts.iter().any(|start| name.starts_with(start))
}

/// Runs a command, passes its output on to `out`, and shows every line to `each`. One that is
/// silent for longer than `silence` is killed, or it would hold up the run for ever.
///
/// Both output streams share one pipe: only then do cargo's announcements on stderr and the
/// results on stdout arrive in the order in which they were written.
///
/// # Errors
///
/// When the command cannot be started.
pub(crate) fn tee(
    mut command: Command,
    silence: Duration,
    out: &mut impl Write,
    mut each: impl FnMut(&str),
) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the write ends; the pipe would never end with them.
    drop(command);

    let (lines, received) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if lines.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });

    let mut heard = Instant::now();
    loop {
        match received.recv_timeout(GRACE.min(silence)) {
            Ok(line) => {
                heard = Instant::now();
                // A closed terminal must not end the run.
                let _ = out.write_all(&line).and_then(|()| out.flush());
                each(&String::from_utf8_lossy(&line));
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
            // A process that outlives the tests keeps the pipe open; waiting for it would hang.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    let _ = writeln!(out, "xtask: a process left behind still holds the output");
                    return Ok(status);
                }
                if heard.elapsed() > silence {
                    let (seconds, threads) = (silence.as_secs(), threads(child.id()));
                    let said = format!("silent for {seconds} s, and killed while in {threads}");
                    let _ = writeln!(out, "xtask: {said}");
                    each(&said);
                    child.kill()?;
                }
            }
        }
    }
}

/// The threads of a process; those of a test program have the names of their tests.
fn threads(process: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let names: Vec<String> = names.map(|name| name.trim_end().to_owned()).collect();
    names.join(", ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> (ExitStatus, Vec<String>) {
        let mut seen = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut sink = io::sink();
        let status = tee(command, Duration::from_secs(5), &mut sink, |line| {
            seen.push(line.trim_end().to_owned());
        })
        .expect("sh runs");
        (status, seen)
    }

    #[test]
    fn both_streams_arrive_in_the_order_written() {
        let (status, seen) = shell("for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7");
        assert_eq!(status.code(), Some(7));
        assert_eq!(seen, ["out1", "err1", "out2", "err2", "out3", "err3"]);
    }

    #[test]
    fn a_last_line_without_an_end_and_foreign_bytes_are_passed_on() {
        let (_, seen) = shell("printf 'a\\n\\377b'");
        assert_eq!(seen, ["a", "\u{fffd}b"]);
    }

    #[test]
    fn a_process_left_behind_does_not_hold_up_the_run() {
        let (status, seen) = shell("echo before; sleep 10 & exit 0");
        assert!(status.success());
        assert_eq!(seen, ["before"]);
    }

    #[test]
    fn one_that_hangs_is_ended_and_said_where() {
        let (status, seen) = shell("echo before; exec sleep 1000");
        assert!(!status.success());
        assert_eq!(
            seen,
            ["before", "silent for 5 s, and killed while in sleep"]
        );
    }

    #[test]
    fn cargo_is_not_told_of_this_package() {
        let cargo = cargo(&root());
        let removed: Vec<_> = cargo
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .collect();
        // `cargo test` has set it for this very test.
        assert!(
            removed.contains(&(OsStr::new("CARGO_PKG_NAME"), None)),
            "{removed:?}"
        );
        assert!(!is_of_this_package(OsStr::new("CARGO_HOME")));
        assert!(!is_of_this_package(OsStr::new("CARGO_TARGET_DIR")));
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("xtask/Cargo.toml").is_file());
    }
}

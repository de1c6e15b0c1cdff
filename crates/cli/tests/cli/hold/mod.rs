//! A lock for a part of a script: `tenure hold` and `tenure release`.

mod endings;
mod shells;
mod store;
mod story;

use std::fs;
use std::process::Command;

use rustix::process::Pid;

use super::support::{Home, eventually, is_running, text};

/// Waits in a script until the test has made the file `go`.
const WAIT: &str = "while [ ! -e go ]; do sleep 0.02; done";

/// A script for this shell, which finds its mutex in `M`.
fn script(home: &Home, shell: &str, text: &str) -> Command {
    let mut command = home.command(shell);
    fs::write(home.path("script.sh"), text).unwrap();
    command.arg("script.sh").env("M", home.mutex());
    command
}

fn go(home: &Home) {
    fs::write(home.path("go"), "").unwrap();
}

/// The holders of this home's scripts, and their guardians.
fn helpers(home: &Home, word: &str) -> Vec<Pid> {
    let place = home.path("").display().to_string();
    let place = place.trim_end_matches('/').as_bytes().to_vec();
    let has = |path: std::path::PathBuf, part: &[u8]| {
        let text = fs::read(path).unwrap_or_default();
        text.windows(part.len()).any(|window| window == part)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let those = entries.filter(|entry| {
        has(entry.path().join("cmdline"), word.as_bytes())
            && has(entry.path().join("environ"), &place)
    });
    let numbers = those.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pids = numbers.filter_map(Pid::from_raw);
    pids.filter(|pid| is_running(*pid)).collect()
}

/// The only holder there is.
fn holder_in(home: &Home) -> Pid {
    let mut found = None;
    eventually("there is a holder", || {
        found = helpers(home, "__holder").first().copied();
        found.is_some()
    });
    found.unwrap()
}

fn nobody_is_left(home: &Home) {
    eventually("no holder and no guardian is left", || {
        helpers(home, "__holder").is_empty() && helpers(home, "__guardian\0script").is_empty()
    });
}

/// Whether the mutex can be had at once.
fn is_free(home: &Home) -> bool {
    let next = home.output(["run", "-n", home.mutex(), "--", "true"]);
    next.status.code() == Some(0)
}

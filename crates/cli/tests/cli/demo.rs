//! `tenure demo`: the first command of the README.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{Home, code, start, text};

#[test]
fn the_demo_ends_well_within_its_time() {
    let home = Home::new();
    let start = Instant::now();
    let output = home.output(["demo"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(start.elapsed() < Duration::from_secs(90));
    for part in [
        "SIGKILL",
        "takes over",
        "REFUSES",
        "SIGSTOP",
        "resigns",
        "schedule  begins",
        "schedule  goes on",
        "ok  the late write",
        "ok  one leader at a time",
        "none twice",
    ] {
        assert!(out.contains(part), "{part} is missing:\n{out}");
    }
    assert!(!out.contains('\x1b'), "plain lines when nobody watches");
    assert!(
        !home.path("tenure").exists(),
        "it leaves the user's own store alone"
    );
}

#[test]
fn what_was_expected_and_did_not_happen_is_said_and_is_the_exit_code() {
    let home = Home::new();
    let mut demo = start(home.tenure(["demo"]).stdout(Stdio::piped()));
    let lines = BufReader::new(demo.0.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let mut pids = Vec::new();
    for line in lines.by_ref() {
        if let Some((_, pid)) = line.split_once("starts as process ") {
            pids.push(Pid::from_raw(pid.parse().unwrap()).unwrap());
        }
        if line.contains("elected") {
            break;
        }
    }
    assert_eq!(pids.len(), 3);
    for pid in pids {
        let _ = kill_process(pid, Signal::KILL);
    }
    let rest: Vec<String> = lines.collect();
    assert!(
        rest.iter().any(|line| line.contains("FAILED: expected: ")),
        "{rest:?}"
    );
    assert_eq!(code(&mut demo.0), Some(1));
}

//! `tenure run --once-per`: once in a period, on one of many hosts.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::stores::{Lease, Store, on_every_store};
use super::support::{Home, bounded, code, eventually, signal, start, text};

fn runs(home: &Home) -> usize {
    fs::read_to_string(home.path("runs")).map_or(0, |text| text.lines().count())
}

fn once(home: &Home, period: &str, script: &str) -> (Option<i32>, String) {
    let words = ["run", home.mutex(), "--once-per", period, "--", "sh", "-c"];
    let output = bounded(home.tenure(words).arg(script));
    (output.status.code(), text(&output.stderr))
}

const NOTE: &str = "echo >> runs";

on_every_store!(three_hosts_at_once_run_it_once);

fn three_hosts_at_once_run_it_once(store: Store) {
    let home = &Home::on(store, Lease::Usual);
    let host = |number: u32| {
        let id = format!("host-{number}");
        let mut command = home.tenure(["--id", &id, "run", home.mutex(), "--once-per", "24h"]);
        bounded(command.args(["--", "sh", "-c", NOTE]))
    };
    let outputs = std::thread::scope(|scope| {
        let hosts = [1, 2, 3].map(|number| scope.spawn(move || host(number)));
        hosts.map(|host| host.join().unwrap())
    });
    let mut skipped = 0;
    for output in outputs {
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = text(&output.stderr);
        skipped += usize::from(said.contains("already done: at 2") && said.contains("by host-"));
    }
    assert_eq!((runs(home), skipped), (1, 2));
    let (code, said) = once(home, "24h", NOTE);
    assert_eq!((code, runs(home)), (Some(0), 1), "{said}");
    assert!(said.contains("not run again before"), "{said}");
}

#[test]
fn the_next_period_is_another() {
    let home = Home::new();
    let begin = Instant::now();
    while runs(&home) < 2 {
        let (code, said) = once(&home, "1s", NOTE);
        assert_eq!(code, Some(0), "{said}");
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "it never runs again"
        );
    }
    // A tenth is forgiven.
    assert!(begin.elapsed() >= Duration::from_millis(900));
}

#[test]
fn what_failed_or_was_told_to_end_is_run_again() {
    let home = Home::new();
    let (failed, said) = once(&home, "24h", "echo >> runs; exit 3");
    assert_eq!((failed, said.as_str()), (Some(3), ""));
    let mut command = home.tenure(["run", home.mutex(), "--once-per", "24h", "--", "sh", "-c"]);
    command.arg("echo >> runs; trap 'exit 0' TERM; while :; do sleep 0.02; done");
    let mut cut = start(&mut command);
    eventually("it runs again", || runs(&home) == 2);
    signal(&cut.0, Signal::TERM);
    assert_eq!(code(&mut cut.0), Some(0), "the command's own code");
    assert_eq!(once(&home, "24h", NOTE), (Some(0), String::new()));
    assert_eq!(runs(&home), 3);
    let (_, said) = once(&home, "24h", NOTE);
    assert!(said.contains("already done"), "{said}");
    assert_eq!(runs(&home), 3);
}

#[test]
fn a_schedules_name_is_not_used_for_it() {
    let home = Home::new();
    let mut schedule = home.tenure(["schedule", home.mutex(), "--every", "1h", "--", "sh", "-c"]);
    let mut schedule = start(schedule.arg(NOTE));
    eventually("it runs", || runs(&home) == 1);
    signal(&schedule.0, Signal::TERM);
    code(&mut schedule.0);
    let (code, said) = once(&home, "24h", NOTE);
    assert_eq!(code, Some(73), "{said}");
    assert!(said.contains("a schedule has this name"), "{said}");
    assert_eq!(runs(&home), 1);
}

#[test]
fn a_lock_can_be_held_longer_than_the_command_runs() {
    let home = Home::new();
    let begin = Instant::now();
    let words = [
        "run",
        "m",
        "--at-least-for",
        "700ms",
        "--",
        "sh",
        "-c",
        "exit 5",
    ];
    assert_eq!(home.output(words).status.code(), Some(5));
    assert!(begin.elapsed() >= Duration::from_millis(700));
}

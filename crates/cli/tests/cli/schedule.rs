//! `tenure schedule`: each run once, on one of many.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use tenure_testkit::servers::Redis;

use super::support::{
    Home, SHORT, Started, bounded, code, eventually, is_running, signal, start, text,
};

const NOTE: &str = "echo $TENURE_RUN $TENURE_TOKEN $TENURE_DUE >> runs";

fn scheduler(home: &Home, script: &str) -> Started {
    let mut command = home.tenure(SHORT);
    command.args([
        "schedule", "m", "--every", "200ms", "--", "sh", "-c", script,
    ]);
    start(command.stderr(Stdio::null()))
}

/// Number and token of each run.
fn runs(home: &Home) -> Vec<(u64, u64)> {
    let text = fs::read_to_string(home.path("runs")).unwrap_or_default();
    let run = |line: &str| {
        let mut words = line.split(' ');
        let run = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().filter(|due| due.ends_with('Z'))?;
        Some(run)
    };
    text.lines().map(|line| run(line).unwrap()).collect()
}

#[test]
fn runs_go_on_after_the_leader_was_killed_and_none_is_run_twice() {
    let home = Home::new();
    let one = scheduler(&home, NOTE);
    eventually("it runs", || runs(&home).len() >= 3);
    let mut two = scheduler(&home, NOTE);
    signal(&one.0, Signal::KILL);
    let before = runs(&home).len();
    eventually("it goes on", || runs(&home).len() >= before + 3);
    signal(&two.0, Signal::TERM);
    assert_eq!(code(&mut two.0), Some(143));
    let runs = runs(&home);
    assert!(
        runs.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
        "{runs:?}"
    );
    assert!(runs[0].1 < runs.last().unwrap().1, "two terms: {runs:?}");
}

#[test]
fn a_run_that_takes_too_long_is_ended_and_the_schedule_goes_on() {
    let home = Home::new();
    let script =
        "echo $$ > child; echo $TENURE_RUN >> begun; trap '' TERM; while :; do sleep 0.02; done";
    let mut command = home.tenure(SHORT);
    let words = ["--delay", "10ms", "--timeout", "100ms", "--grace", "100ms"];
    command
        .args(["schedule", "m"])
        .args(words)
        .args(["--", "sh", "-c", script]);
    let mut scheduler = start(command.stderr(Stdio::null()));
    eventually("it was begun three times", || {
        fs::read_to_string(home.path("begun")).is_ok_and(|text| text.lines().count() >= 3)
    });
    signal(&scheduler.0, Signal::TERM);
    assert_eq!(code(&mut scheduler.0), Some(143));
    assert!(!is_running(home.pid("child")));
}

#[test]
fn a_failing_command_does_not_end_the_schedule() {
    let home = Home::new();
    let _scheduler = scheduler(&home, &format!("{NOTE}; exit 3"));
    eventually("it runs again and again", || runs(&home).len() >= 3);
}

/// Told to end, it says that all is well; left alone, it ends by itself.
const OBEDIENT: &str = "trap 'echo told >> log; exit 0' TERM; \
    echo begun $TENURE_RUN >> log; \
    while [ ! -e end ]; do sleep 0.02; done; echo whole $TENURE_RUN >> log";

fn log(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.path("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn hourly(home: &Home, grace: &str) -> Started {
    let mut command = home.tenure(["schedule", home.mutex(), "--every", "1h"]);
    command.args(["--rerun-unfinished", "--grace", grace]);
    start(
        command
            .args(["--", "sh", "-c", OBEDIENT])
            .stderr(Stdio::null()),
    )
}

#[test]
fn a_run_that_the_guardian_stopped_is_run_again_though_the_lease_was_saved() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!(
        "redis://{}?ttl=2s&transition=30s",
        server.address()
    ));
    // Told to end a few seconds after the last renewal, and long before the end of the lease.
    let mut scheduler = hourly(&home, "28s");
    eventually("it runs", || log(&home) == ["begun 0"]);
    server.pause().unwrap();
    eventually("it is told to end", || log(&home).len() >= 2);
    server.resume().unwrap();
    eventually("it runs again", || {
        log(&home) == ["begun 0", "told", "begun 0"]
    });
    fs::write(home.path("end"), "").unwrap();
    eventually("it comes to its end", || {
        log(&home).last().unwrap() == "whole 0"
    });
    signal(&scheduler.0, Signal::TERM);
    assert_eq!(code(&mut scheduler.0), Some(143));
}

#[test]
fn a_run_that_ended_because_the_program_was_told_to_is_run_again_by_the_next() {
    let home = Home::new();
    let mut one = hourly(&home, "2s");
    eventually("it runs", || log(&home) == ["begun 0"]);
    signal(&one.0, Signal::TERM);
    assert_eq!(code(&mut one.0), Some(143));
    assert_eq!(log(&home), ["begun 0", "told"], "and not begun again");
    let _two = hourly(&home, "2s");
    eventually("it runs again", || log(&home).len() == 3);
    fs::write(home.path("end"), "").unwrap();
    eventually("it comes to its end", || {
        log(&home).last().unwrap() == "whole 0"
    });
}

#[test]
fn one_name_has_one_schedule() {
    let home = Home::new();
    let _first = scheduler(&home, NOTE);
    eventually("it runs", || !runs(&home).is_empty());
    let other = home.output(["schedule", "m", "--every", "5s", "--", "true"]);
    assert_eq!(other.status.code(), Some(73), "{other:?}");
    let said = text(&other.stderr);
    for words in ["200ms", "5000ms", "--replace"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("replacing_plan"), "{said}");
    for (words, message) in [
        (
            &["--every", "1s", "--delay", "1s"][..],
            "cannot be used with",
        ),
        (&["--every", "1s", "--tz", "UTC"], "cannot be used with"),
        (&["--cron", "never"], "cron"),
        (&[], "--every"),
    ] {
        let mut command = home.tenure(["schedule", "n"]);
        let output = bounded(command.args(words).args(["--", "true"]));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains(message), "{words:?}: {said}");
    }
}

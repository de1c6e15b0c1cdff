//! The program is there before its store is.

use std::fs::{self, File};
use std::process::Command;

use rustix::process::Signal;
use tenure_testkit::servers::Redis;

use super::support::{Home, Started, code, eventually, signal, start, text};

/// A server that is down, and a home that names it.
fn down() -> (Redis, Home) {
    let server = Redis::start().unwrap();
    server.stop().unwrap();
    let home = Home::at(format!("redis://{}?ttl=1s&transition=1s", server.address()));
    (server, home)
}

/// Starts it with its complaints in a file.
fn complaining(home: &Home, command: &mut Command) -> Started {
    let said = File::create(home.path("said")).unwrap();
    start(command.stderr(said))
}

fn said(home: &Home) -> String {
    fs::read_to_string(home.path("said")).unwrap()
}

/// Waits until it has said that it waits, and brings the server up.
fn comes_up(server: &Redis, home: &Home) {
    eventually("it says what it waits for", || {
        said(home).contains("waiting for the store")
    });
    server.start().unwrap();
}

fn said_it_once(home: &Home) {
    let said = said(home);
    assert_eq!(said.matches("waiting for the store").count(), 1, "{said}");
    assert_eq!(said.matches("the store answers").count(), 1, "{said}");
}

#[test]
fn lead_waits_for_its_store() {
    let (server, home) = down();
    let words = ["lead", "m", "--", "sh", "-c", "touch ran; sleep 600"];
    let _leader = complaining(&home, &mut home.tenure(words));
    comes_up(&server, &home);
    eventually("it leads", || home.path("ran").exists());
    said_it_once(&home);
}

#[test]
fn schedule_waits_for_its_store() {
    let (server, home) = down();
    let words = ["schedule", "m", "--every", "200ms", "--", "touch", "ran"];
    let _scheduler = complaining(&home, &mut home.tenure(words));
    comes_up(&server, &home);
    eventually("it runs", || home.path("ran").exists());
    said_it_once(&home);
}

#[test]
fn watch_waits_for_its_store() {
    let (server, home) = down();
    let mut watch = home.tenure(["watch", "m"]);
    watch.stdout(File::create(home.path("seen")).unwrap());
    let _watcher = complaining(&home, &mut watch);
    comes_up(&server, &home);
    eventually("it watches", || said(&home).contains("the store answers"));
    // There for as long as a busy machine needs to see it.
    let _owner = start(&mut home.tenure(["run", "m", "--", "sleep", "600"]));
    eventually("it sees the owner", || {
        !fs::read_to_string(home.path("seen")).unwrap().is_empty()
    });
    said_it_once(&home);
}

#[test]
fn who_would_rather_fail_fails() {
    let (_server, home) = down();
    let job = ["--", "true"];
    for words in [
        &["lead", "m", "--fail-fast"][..],
        &["schedule", "m", "--every", "1s", "--fail-fast"],
    ] {
        let output = home.output(words.iter().chain(&job));
        assert_eq!(output.status.code(), Some(69), "{words:?}: {output:?}");
    }
    let output = home.output(["watch", "m", "--fail-fast"]);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    assert!(!text(&output.stderr).contains("waiting"), "{output:?}");
}

#[test]
fn what_waiting_cannot_help_is_not_waited_for() {
    let home = Home::at("redis://127.0.0.1:1?colour=red");
    let output = home.output(["lead", "m", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn it_can_be_ended_while_it_waits() {
    let (_server, home) = down();
    let mut watcher = complaining(&home, &mut home.tenure(["watch", "m"]));
    eventually("it waits", || said(&home).contains("waiting for the store"));
    signal(&watcher.0, Signal::TERM);
    assert_eq!(code(&mut watcher.0), Some(128 + 15));
}

#[test]
fn the_wall_clock_is_watched_or_ignored() {
    let home = Home::new();
    for (word, code) in [("watch", 0), ("ignore", 0), ("sometimes", 2)] {
        let mut run = home.run_script("true");
        let output = super::support::bounded(run.env("TENURE_WALL_CLOCK", word));
        assert_eq!(output.status.code(), Some(code), "{word}: {output:?}");
    }
}

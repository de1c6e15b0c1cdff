//! Signals reach the command.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::Signal;

use super::stores::{Lease, Store, on_every_store};
use super::support::{Home, code, signal, start};

/// Says which signal came, and ends with a code of its own.
const LISTENER: &str = "for s in TERM INT HUP USR1; do trap \"echo $s > got; exit 5\" $s; done; \
                        echo $$ > child; while :; do sleep 0.02; done";

#[test]
fn signals_are_passed_on_and_the_command_decides() {
    for (sent, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
        (Signal::USR1, "USR1"),
    ] {
        let home = Home::new();
        // Whatever the tests themselves were started under, nohup perhaps.
        let mut tenure = home.command("env");
        tenure.args(["--default-signal", env!("CARGO_BIN_EXE_tenure")]);
        tenure.args(["run", "m", "--", "sh", "-c", LISTENER]);
        let mut holder = start(&mut tenure);
        home.pid("child");
        signal(&holder.0, sent);
        assert_eq!(code(&mut holder.0), Some(5), "{name}");
        assert_eq!(home.line("got"), name);
        let next = home.output(["run", "-n", "m", "--", "true"]);
        assert_eq!(next.status.code(), Some(0), "it was freed in order");
    }
}

on_every_store!(
    a_command_that_dies_of_the_signal_gives_its_code_and_frees_the_lock,
    a_waiter_that_is_told_to_end_does,
);

fn a_command_that_dies_of_the_signal_gives_its_code_and_frees_the_lock(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let mut holder = start(&mut home.run_script("echo $$ > child; exec sleep 1000"));
    home.pid("child");
    signal(&holder.0, Signal::TERM);
    assert_eq!(code(&mut holder.0), Some(143));
    let next = home.output(["run", "-n", home.mutex(), "--", "true"]);
    assert_eq!(next.status.code(), Some(0));
}

fn a_waiter_that_is_told_to_end_does(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let holder = start(&mut home.run_script("echo $$ > child; exec sleep 1000"));
    home.pid("child");
    let mut waiter = start(
        home.tenure(["-v", "run", home.mutex(), "--", "touch", "ran"])
            .stderr(Stdio::piped()),
    );
    let mut said = BufReader::new(waiter.0.stderr.take().unwrap()).lines();
    assert!(
        said.any(|line| line.unwrap().contains("waiting for")),
        "it ended instead"
    );
    signal(&waiter.0, Signal::TERM);
    assert_eq!(code(&mut waiter.0), Some(143));
    signal(&holder.0, Signal::TERM);
    assert!(
        home.becomes_free(),
        "nothing of the waiter stands before it"
    );
    assert!(!home.path("ran").exists());
}

#[test]
fn what_was_ignored_stays_ignored() {
    let home = Home::new();
    let script = "trap '' HUP; exec \"$TENURE\" run m -- sh -c 'echo $$ > child; \
                  while [ ! -e end ]; do sleep 0.02; done; exit 6'";
    let mut holder = start(home.command("sh").args(["-c", script]));
    let child = home.pid("child");
    signal(&holder.0, Signal::HUP);
    rustix::process::kill_process(child, Signal::HUP).unwrap();
    std::fs::write(home.path("end"), "").unwrap();
    assert_eq!(code(&mut holder.0), Some(6), "as under nohup");
}

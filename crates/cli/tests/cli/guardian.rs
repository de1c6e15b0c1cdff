//! The command ends before ownership does, whatever happens to the program.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::restart::time_left;
use super::stores::{Lease, Store, on_every_store};
use super::support::{
    Home, PATIENCE, bounded, code, eventually, guardian_of, is_running, signal, start, text,
    witness_of,
};

/// Has a child that sleeps, and waits for it.
const FAMILY: &str = "sleep 1000 & echo $! > grandchild; echo $$ > child; wait";

on_every_store!(
    kill_9_of_the_program_kills_the_command_and_its_children,
    a_program_stopped_for_longer_than_its_lease_is_replaced_after_its_command_has_ended,
    a_revoked_owner_is_stopped_at_its_next_renewal,
);

fn kill_9_of_the_program_kills_the_command_and_its_children(store: Store) {
    let home = Home::on(store, Lease::Short);
    let holder = start(&mut home.run_script(FAMILY));
    let (child, grandchild) = (home.pid("child"), home.pid("grandchild"));
    let guardian = guardian_of(&holder.0);
    signal(&holder.0, Signal::KILL);
    for (who, pid) in [
        ("child", child),
        ("grandchild", grandchild),
        ("guardian", guardian),
    ] {
        eventually(&format!("the {who} is dead"), || !is_running(pid));
    }
    assert!(home.becomes_free(), "its lease runs out");
}

/// A stopped owner cannot renew, and cannot know. Its command must have ended
/// when the next one begins.
fn a_program_stopped_for_longer_than_its_lease_is_replaced_after_its_command_has_ended(
    store: Store,
) {
    let home = Home::on(store, Lease::Short);
    // SIGTERM does not impress it.
    let beats = "trap '' TERM; echo $$ > child; while :; do date +%s%N >> beats; sleep 0.01; done";
    let mut holder = start(&mut home.run_script(beats));
    let child = home.pid("child");
    signal(&holder.0, Signal::STOP);
    let next = bounded(&mut home.run_next("date +%s%N > next"));
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert!(!is_running(child));
    let beats = fs::read_to_string(home.path("beats")).unwrap();
    let last: u64 = beats.lines().next_back().unwrap().parse().unwrap();
    let began: u64 = home.line("next").parse().unwrap();
    assert!(
        last < began,
        "the old command worked until {last}, the next began at {began}"
    );

    signal(&holder.0, Signal::CONT);
    assert_eq!(code(&mut holder.0), Some(76));
}

/// On a busy machine a guardian may need seconds before its first word.
#[test]
fn a_guardian_that_starts_slowly_is_waited_for() {
    let mut tries = 0;
    loop {
        let home = Home::new();
        let words = ["run", home.mutex(), "--", "sh", "-c", "echo > begun"];
        let mut holder = start(home.tenure(words).stderr(Stdio::piped()));
        let guardian = first_child(&holder.0);
        kill_process(guardian, Signal::STOP).unwrap();
        // It takes its name before its first word.
        let name = fs::read_to_string(format!("/proc/{}/comm", guardian.as_raw_pid())).unwrap();
        if name.trim() != "tenure-guardian" {
            // Longer than one that has spoken may be silent.
            std::thread::sleep(Duration::from_secs(3));
            assert!(!home.path("begun").exists());
            kill_process(guardian, Signal::CONT).unwrap();
            assert_eq!(code(&mut holder.0), Some(0));
            let mut said = String::new();
            let mut stderr = holder.0.stderr.take().unwrap();
            stderr.read_to_string(&mut said).unwrap();
            assert_eq!(said, "", "nobody is replaced");
            return;
        }
        let _ = kill_process(guardian, Signal::CONT);
        tries += 1;
        assert!(tries < 20, "it is never stopped in time");
    }
}

fn first_child(program: &Child) -> Pid {
    let children = format!("/proc/{0}/task/{0}/children", program.id());
    let end = Instant::now() + PATIENCE;
    // Without a pause: it is to be met before it has taken its name.
    while Instant::now() < end {
        let text = fs::read_to_string(&children).unwrap();
        if let Some(first) = text.split_whitespace().next() {
            return Pid::from_raw(first.parse().unwrap()).unwrap();
        }
    }
    panic!("it starts nobody");
}

/// With the guardian that is to open the gate the command would be gone.
#[test]
fn a_guardian_that_is_slow_to_open_the_gate_is_waited_for() {
    for _ in 0..20 {
        let home = Home::new();
        let words = [
            "run",
            home.mutex(),
            "--",
            "sh",
            "-c",
            "echo > begun; exec sleep 2",
        ];
        let mut holder = start(home.tenure(words).stderr(Stdio::piped()));
        // The program stands still before it has heard that the guardian is ready.
        let guardian = first_child(&holder.0);
        witness_of(&holder.0);
        signal(&holder.0, Signal::STOP);
        let gate = format!("/proc/{0}/task/{0}/children", guardian.as_raw_pid());
        eventually("the command waits behind its gate", || {
            let text = fs::read_to_string(&gate).unwrap_or_default();
            home.path("begun").exists() || (!text.trim().is_empty() && is_asleep(guardian))
        });
        let _ = kill_process(guardian, Signal::STOP);
        signal(&holder.0, Signal::CONT);
        // Longer than one may be silent that guards a command.
        std::thread::sleep(Duration::from_secs(3));
        let has_begun = home.path("begun").exists();
        let _ = kill_process(guardian, Signal::CONT);
        if has_begun {
            // Stopped too late.
            let _ = code(&mut holder.0);
            continue;
        }
        assert_eq!(code(&mut holder.0), Some(0));
        let mut said = String::new();
        let mut stderr = holder.0.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "nobody is replaced");
        assert!(home.path("begun").exists());
        return;
    }
    panic!("it is never stopped in time");
}

fn is_asleep(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default();
    state.trim_start().starts_with('S')
}

#[test]
fn a_command_is_asked_to_end_before_it_is_made_to() {
    let home = Home::new();
    let script =
        "trap 'echo yes > asked; exit 0' TERM; echo $$ > child; while :; do sleep 0.05; done";
    let mut holder = start(home.run_script(script).stderr(Stdio::piped()));
    let child = home.pid("child");
    signal(&holder.0, Signal::STOP);
    eventually("it has ended", || !is_running(child));
    assert_eq!(home.line("asked"), "yes");
    signal(&holder.0, Signal::CONT);
    assert_eq!(code(&mut holder.0), Some(76), "it did not end by itself");
}

#[test]
fn a_guardian_that_dies_is_replaced() {
    let home = Home::new();
    let mut holder = start(home.run_script(FAMILY).stderr(Stdio::piped()));
    let (child, grandchild) = (home.pid("child"), home.pid("grandchild"));
    let first = guardian_of(&holder.0);
    kill_process(first, Signal::KILL).unwrap();
    let mut said = BufReader::new(holder.0.stderr.take().unwrap()).lines();
    let line = said.next().unwrap().unwrap();
    assert!(line.contains("another one has taken its place"), "{line}");
    assert!(is_running(child), "the command works on");
    // The witness guards it now, and is itself replaced.
    let second = witness_of(&holder.0);
    kill_process(second, Signal::KILL).unwrap();
    let line = said.next().unwrap().unwrap();
    assert!(line.contains("another one has taken its place"), "{line}");
    assert_ne!(witness_of(&holder.0), second);
    assert!(is_running(child), "the command still works on");
    signal(&holder.0, Signal::KILL);
    for pid in [child, grandchild] {
        eventually("all are dead", || !is_running(pid));
    }
}

#[test]
fn a_stopped_guardian_is_not_needed_while_the_program_lives() {
    let home = Home::new();
    let mut holder = start(home.run_script(FAMILY).stderr(Stdio::null()));
    let (child, grandchild) = (home.pid("child"), home.pid("grandchild"));
    let guardian = guardian_of(&holder.0);
    kill_process(guardian, Signal::STOP).unwrap();
    assert_eq!(
        home.output(["revoke", home.mutex(), "--yes"]).status.code(),
        Some(0)
    );
    assert_eq!(code(&mut holder.0), Some(76));
    for pid in [child, grandchild, guardian] {
        assert!(!is_running(pid));
    }
}

#[test]
fn a_guardian_that_is_stopped_is_noticed_and_replaced() {
    let home = Home::new();
    let mut holder = start(home.run_script(FAMILY).stderr(Stdio::piped()));
    let child = home.pid("child");
    let guardian = guardian_of(&holder.0);
    kill_process(guardian, Signal::STOP).unwrap();
    let mut said = BufReader::new(holder.0.stderr.take().unwrap()).lines();
    let line = said.next().unwrap().unwrap();
    assert!(line.contains("another one has taken its place"), "{line}");
    eventually("the silent one is gone", || !is_running(guardian));
    assert!(is_running(child), "the command works on");
    signal(&holder.0, Signal::KILL);
    eventually("the command is dead", || !is_running(child));
}

/// After a stop the guardian finds old deadlines in the line, and new ones
/// behind them.
#[test]
fn a_guardian_that_goes_on_after_a_short_stop_spares_a_healthy_command() {
    // A machine that stands still for long enough gives it good reason to end the command; one
    // that acts on what is old would do so every time.
    let mut said = String::new();
    let is_spared = (0..5).any(|_| is_spared_after_short_stops(&mut said));
    assert!(is_spared, "{said}");
}

/// False when it was told to end, for want of a renewal.
fn is_spared_after_short_stops(said: &mut String) -> bool {
    let home = Home::new();
    // It is asked to end when it has not been renewed for a second and a half.
    let script = "echo $$ > child; while [ ! -e end ]; do sleep 0.02; done; exit 4";
    let mut holder = home.tenure(["run", home.mutex(), "--ttl", "1s", "--transition", "10s"]);
    holder.args(["--grace", "9500ms", "--", "sh", "-c", script]);
    let mut holder = start(holder.stderr(Stdio::piped()));
    home.pid("child");
    let guardian = guardian_of(&holder.0);
    for _ in 0..2 {
        // Stopped until a renewal has come and gone.
        let _ = kill_process(guardian, Signal::STOP);
        let mut last = time_left(&home);
        eventually("it is renewed, or told to end", || {
            let left = time_left(&home);
            let has_ended = holder.0.try_wait().unwrap().is_some();
            std::mem::replace(&mut last, left) < left || has_ended
        });
        let _ = kill_process(guardian, Signal::CONT);
    }
    said.clear();
    fs::write(home.path("end"), "").unwrap();
    let ended = code(&mut holder.0);
    let mut stderr = holder.0.stderr.take().unwrap();
    stderr.read_to_string(said).unwrap();
    if ended == Some(76) && said.contains("not renewed in time") {
        return false;
    }
    assert_eq!(ended, Some(4), "it ended by itself: {said}");
    true
}

#[test]
fn the_command_dies_also_when_program_and_guardian_are_killed_at_once() {
    let home = Home::new();
    let holder = start(&mut home.run_script("echo $$ > child; while :; do sleep 0.05; done"));
    let child = home.pid("child");
    let guardian = guardian_of(&holder.0);
    // Stopped first, so that neither can do anything about the other's end.
    kill_process(guardian, Signal::STOP).unwrap();
    signal(&holder.0, Signal::STOP);
    kill_process(guardian, Signal::KILL).unwrap();
    signal(&holder.0, Signal::KILL);
    eventually("the command is dead", || !is_running(child));
}

#[test]
fn what_the_command_leaves_behind_ends_before_the_lock_is_freed() {
    let home = Home::new();
    let polite = "sh -c 'trap \"echo yes > asked; exit\" TERM; echo $$ > left; \
                  while :; do sleep 0.05; done' & \
                  while [ ! -s left ]; do sleep 0.01; done; exit 3";
    let output = bounded(&mut home.run_script(polite));
    assert_eq!(output.status.code(), Some(3));
    assert!(!is_running(home.pid("left")));
    assert_eq!(home.line("asked"), "yes");

    let stubborn = "sh -c 'trap \"\" TERM; echo $$ > deaf; while :; do sleep 0.05; done' & \
                    while [ ! -s deaf ]; do sleep 0.01; done";
    let output = bounded(&mut home.run_script(stubborn));
    assert_eq!(output.status.code(), Some(0));
    assert!(!is_running(home.pid("deaf")));
}

fn a_revoked_owner_is_stopped_at_its_next_renewal(store: Store) {
    let home = Home::on(store, Lease::Short);
    let mut holder = start(home.run_script(FAMILY).stderr(Stdio::piped()));
    let (child, grandchild) = (home.pid("child"), home.pid("grandchild"));
    let revoked = home.output(["revoke", home.mutex(), "--yes"]);
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    assert_eq!(code(&mut holder.0), Some(76));
    assert!(!is_running(child) && !is_running(grandchild));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut holder.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("the store has given it to another"), "{said}");
}

#[test]
fn a_long_run_is_renewed_and_left_alone() {
    let home = Home::new();
    let output = bounded(&mut home.run_script("sleep 8; echo done"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "done\n");
    assert_eq!(text(&output.stderr), "");
}

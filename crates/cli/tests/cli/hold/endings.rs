//! However a script, its holder or its guardians end, no command works without
//! the lock, and none is left.

use std::fs;
use std::process::Stdio;

use rustix::process::{Signal, kill_process};

use super::super::stores::{Lease, Store};
use super::super::support::{Home, bounded, code, eventually, is_running, signal, start, text};
use super::{WAIT, go, helpers, holder_in, is_free, nobody_is_left, script};

const HOLD: &str = "eval \"$(\"$TENURE\" hold \"$M\")\"";

#[test]
fn a_script_that_ends_without_a_release_frees_the_lock_after_all_that_it_started() {
    let home = Home::new();
    let left = "trap 'echo yes >> asked; exit' TERM; while :; do sleep 0.05; done";
    let text = format!(
        "{HOLD}; sh -c 'echo $$ > child; {left}' & ( trap 'echo yes >> asked; exit' TERM; echo > fork; \
         while :; do sleep 0.05; done ) & echo $! > forked; setsid sh -c 'echo $$ > daemon; exec sleep 1000' & \
         while ! [ -s child ] || ! [ -s daemon ] || ! [ -e fork ]; do sleep 0.02; done; exit 3",
        left = left.replace('\'', "'\\''")
    );
    let mut shell = start(&mut script(&home, "sh", &text));
    assert_eq!(code(&mut shell.0), Some(3));
    let started = ["child", "forked", "daemon"].map(|name| home.pid(name));
    nobody_is_left(&home);
    for pid in started {
        assert!(!is_running(pid));
    }
    assert_eq!(
        fs::read_to_string(home.path("asked")).unwrap(),
        "yes\nyes\n"
    );
    assert!(is_free(&home));
}

/// The grace is for an owner; one that lost the lock has none.
#[test]
fn a_revocation_ends_what_a_script_left_behind_at_once() {
    let home = Home::new();
    // The loss is heard of at the next renewal. The grace is longer than this test waits.
    let text = "eval \"$(\"$TENURE\" hold --ttl 2s --transition 5m --grace 4m \"$M\")\"; \
                sh -c 'trap \"\" TERM; echo $$ > deaf; while :; do sleep 0.05; done' & \
                while [ ! -s deaf ]; do sleep 0.01; done";
    let mut shell = start(&mut script(&home, "sh", text));
    let deaf = home.pid("deaf");
    assert_eq!(code(&mut shell.0), Some(0));
    assert!(is_running(deaf), "it has its grace");
    let revoked = home.output(["revoke", home.mutex(), "--yes"]);
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    eventually("it is ended", || !is_running(deaf));
    nobody_is_left(&home);
}

#[test]
fn a_killed_holder_is_the_end_of_the_script() {
    let home = Home::on(Store::Sqlite, Lease::Short);
    let text = format!("{HOLD}; sleep 1000 & echo $! > child; wait");
    let mut shell = script(&home, "sh", &text);
    let mut shell = start(shell.stderr(Stdio::piped()));
    let child = home.pid("child");
    kill_process(holder_in(&home), Signal::KILL).unwrap();
    assert_eq!(code(&mut shell.0), None, "killed");
    eventually("what it started is ended", || !is_running(child));
    nobody_is_left(&home);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut shell.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("the holder of the lock has died"), "{said}");
    assert!(home.becomes_free());
}

#[test]
fn the_script_ends_also_when_holder_and_a_guardian_are_killed_at_once() {
    let home = Home::on(Store::Sqlite, Lease::Short);
    let mut shell = start(&mut script(
        &home,
        "sh",
        &format!("{HOLD}; echo > held; sleep 1000"),
    ));
    home.line("held");
    let (holder, mut guardians) = (holder_in(&home), Vec::new());
    eventually("there are two guardians", || {
        guardians = helpers(&home, "__guardian\0script");
        guardians.len() == 2
    });
    for pid in [holder, guardians[0]] {
        kill_process(pid, Signal::STOP).unwrap();
    }
    for pid in [guardians[0], holder] {
        kill_process(pid, Signal::KILL).unwrap();
    }
    assert_eq!(code(&mut shell.0), None, "killed");
    nobody_is_left(&home);
}

/// A stopped holder cannot renew, and cannot know.
#[test]
fn a_stopped_holder_is_followed_when_its_script_has_ended() {
    let home = Home::on(Store::Sqlite, Lease::Short);
    let text = format!(
        "{HOLD}; trap 'echo yes > asked' TERM; echo > held; while :; do date +%s%N >> beats; sleep 0.01; done"
    );
    let mut shell = start(&mut script(&home, "sh", &text));
    home.line("held");
    let holder = holder_in(&home);
    kill_process(holder, Signal::STOP).unwrap();
    let next = bounded(&mut home.run_script("date +%s%N > next"));
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert_eq!(code(&mut shell.0), None, "killed");
    assert_eq!(home.line("asked"), "yes", "before it was killed");
    let beats = fs::read_to_string(home.path("beats")).unwrap();
    let last: u64 = beats.lines().next_back().unwrap().parse().unwrap();
    let began: u64 = home.line("next").parse().unwrap();
    assert!(
        last < began,
        "it worked until {last}, the next began at {began}"
    );
    kill_process(holder, Signal::CONT).unwrap();
    nobody_is_left(&home);
}

#[test]
fn a_guardian_that_dies_is_replaced() {
    let home = Home::new();
    let text = format!("{HOLD}; echo > held; {WAIT}; \"$TENURE\" release");
    let mut shell = start(&mut script(&home, "sh", &text));
    home.line("held");
    for guardian in helpers(&home, "__guardian\0script") {
        kill_process(guardian, Signal::KILL).unwrap();
        eventually("there are two again", || {
            let now = helpers(&home, "__guardian\0script");
            now.len() == 2 && !now.contains(&guardian)
        });
    }
    go(&home);
    assert_eq!(code(&mut shell.0), Some(0), "the script did not notice");
    nobody_is_left(&home);
}

/// In the moments before the lock is the shell's: waiting for it, and while
/// its holder is being told.
#[test]
fn a_hold_that_is_killed_in_the_middle_leaves_nobody() {
    let home = Home::new();
    let mut held = super::super::support::holder(&home);
    let text = "lock=$(\"$TENURE\" hold \"$M\") || exit 9; echo > went-on";
    for victim in ["hold", "shell"] {
        let mut shell = start(&mut script(&home, "sh", text));
        let holder = holder_in(&home);
        let front = parent_of(holder);
        match victim {
            "hold" => kill_process(front, Signal::KILL).unwrap(),
            _ => signal(&shell.0, Signal::KILL),
        }
        let expected = if victim == "hold" { Some(9) } else { None };
        assert_eq!(code(&mut shell.0), expected);
        nobody_is_left(&home);
        eventually("nor the one who waits", || !is_running(front));
    }
    drop(held.0.stdin.take());
    let _ = held.0.wait();
    assert!(is_free(&home) && !home.path("went-on").exists());
}

fn parent_of(pid: rustix::process::Pid) -> rustix::process::Pid {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap();
    let rest = stat.rsplit(')').next().unwrap();
    let parent = rest.split_whitespace().nth(1).unwrap().parse().unwrap();
    rustix::process::Pid::from_raw(parent).unwrap()
}

/// At every moment: killed after it has run for so long, and so on.
#[test]
fn whenever_a_hold_is_killed_the_lock_is_held_or_free_and_never_lost() {
    let home = Home::new();
    for millis in (0..120).step_by(10) {
        let text = format!(
            "lock=$(timeout -s KILL 0.{millis:03} \"$TENURE\" hold \"$M\") && eval \"$lock\"; exit 0"
        );
        let output = bounded(&mut script(&home, "sh", &text));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        nobody_is_left(&home);
        // Long before its lease would be over.
        let next = home.output(["run", "--wait", "10s", home.mutex(), "--", "true"]);
        assert_eq!(next.status.code(), Some(0), "after {millis} ms: {next:?}");
    }
}

#[test]
fn sigterm_lets_a_script_release_by_itself() {
    let home = Home::new();
    let text = format!(
        "trap '\"$TENURE\" release; echo $? > code; exit 0' TERM; {HOLD}; echo > held; while :; do sleep 0.02; done"
    );
    let mut shell = start(&mut script(&home, "sh", &text));
    home.line("held");
    signal(&shell.0, Signal::TERM);
    assert_eq!(code(&mut shell.0), Some(0));
    assert_eq!(home.line("code"), "0");
    nobody_is_left(&home);
    assert!(is_free(&home));
}

#[test]
fn inside_a_run_it_ends_with_the_run() {
    let home = Home::new();
    let script = "eval \"$(\"$TENURE\" hold inner)\"; echo > held; sleep 1000";
    let mut run = start(&mut home.run_script(script));
    home.line("held");
    signal(&run.0, Signal::TERM);
    assert_eq!(code(&mut run.0), Some(143));
    nobody_is_left(&home);
    let next = home.output(["run", "-n", "inner", "--", "true"]);
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
}

/// The holder and its guardians say what happens; that it is not read must
/// not keep them from doing it.
#[test]
fn a_stderr_that_nobody_reads_or_that_is_closed_saves_no_script() {
    for (is_closed, is_killed) in [(true, true), (true, false), (false, true), (false, false)] {
        let home = Home::on(Store::Sqlite, Lease::Short);
        // As much as a pipe holds.
        let fill = if is_closed {
            ":"
        } else {
            "head -c 65536 /dev/zero >&2"
        };
        let text = format!("{fill}; {HOLD}; echo > held; while :; do sleep 0.05; done");
        let mut shell = script(&home, "sh", &text);
        let mut shell = start(shell.stderr(Stdio::piped()));
        home.line("held");
        if is_closed {
            drop(shell.0.stderr.take());
        }
        if is_killed {
            kill_process(holder_in(&home), Signal::KILL).unwrap();
        } else {
            let revoked = home.output(["revoke", home.mutex(), "--yes"]);
            assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
        }
        assert_eq!(code(&mut shell.0), None, "killed");
        nobody_is_left(&home);
    }
}

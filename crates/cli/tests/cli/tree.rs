//! The command's whole tree ends with ownership, however it was started.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use super::support::{Home, bounded, code, eventually, signal, start};

/// Ways to run something. Each says `up` when it works, and works on for ever.
const SHAPES: [(&str, &str); 18] = [
    ("the shell itself", "WORK"),
    ("a child", "sh -c 'WORK'"),
    ("in the background", "sh -c 'WORK' & wait"),
    (
        "left behind in the background",
        "(sh -c 'WORK' &) ; sleep 1000",
    ),
    ("a pipeline", "sh -c 'WORK' | cat"),
    ("job control", "set -m; sh -c 'WORK' & wait"),
    ("timeout", "timeout 1000 sh -c 'WORK'"),
    ("nohup", "nohup sh -c 'WORK' >/dev/null 2>&1 & wait"),
    ("setsid, waiting", "setsid --wait sh -c 'WORK'"),
    ("setsid, forked", "setsid --fork sh -c 'WORK'; sleep 1000"),
    (
        "a group of its own",
        "perl -e 'setpgrp; exec qw(sh -c), q(WORK)'",
    ),
    (
        "a daemon, twice forked",
        "perl -e 'use POSIX; fork and exit; setsid; fork and exit; exec qw(sh -c), q(WORK)'; sleep 1000",
    ),
    (
        "without its environment",
        "env -i PATH=$PATH setsid --fork sh -c 'WORK'; sleep 1000",
    ),
    (
        "deaf to SIGTERM",
        "trap \"\" TERM HUP INT; setsid --fork sh -c 'WORK'; sleep 1000",
    ),
    (
        "stopped",
        "setsid --fork sh -c 'WORK' ; sh -c 'kill -STOP $$'",
    ),
    (
        "a terminal of its own",
        "script -qc \"sh -c 'WORK'\" /dev/null </dev/null >/dev/null",
    ),
    (
        "on the move",
        "printf '%s\\n' 'sleep 0.02; sh ./hop & exit' > hop; echo >> up; setsid --fork sh ./hop; sleep 1000",
    ),
    (
        "nested",
        "\"$TENURE\" run inner -- setsid --fork sh -c 'WORK'; \"$TENURE\" run inner -- setsid --wait sh -c 'WORK'",
    ),
];

const WORK: &str = "echo >> up; while :; do sleep 0.05; done";

/// Long enough for a busy machine, on which several run at once.
const TERMS: [&str; 4] = ["--ttl", "2s", "--transition", "3s"];

/// Some shapes at a time, each in a home of its own.
fn with_every_shape(end: fn(&str, &Home, &mut std::process::Child)) {
    for some in SHAPES.chunks(6) {
        thread::scope(|scope| {
            for (name, shape) in some {
                scope.spawn(move || {
                    let home = Home::new();
                    let mut program = home.tenure(["run", home.mutex()]);
                    program.args(TERMS);
                    program.args(["--", "sh", "-c", &shape.replace("WORK", WORK)]);
                    let mut program = start(&mut program);
                    eventually(&format!("{name}: it works"), || home.path("up").exists());
                    end(name, &home, &mut program.0);
                });
            }
        });
    }
}

/// Who works in `place`, except `program` itself.
pub(super) fn workers(place: &Path, program: u32) -> Vec<i32> {
    let place = place.canonicalize().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == place))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| u32::try_from(*pid) != Ok(program))
        .filter(|pid| super::support::is_running(Pid::from_raw(*pid).unwrap()))
        .collect()
}

#[test]
fn killed_the_program_leaves_nobody_behind() {
    with_every_shape(|name, home, program| {
        signal(program, Signal::KILL);
        eventually(&format!("{name}: nobody is left"), || {
            workers(&home.path("."), program.id()).is_empty()
        });
    });
}

/// The next owner looks who still works for the one before.
#[test]
fn stopped_for_longer_than_its_lease_it_is_followed_when_nobody_works_any_more() {
    with_every_shape(|name, home, program| {
        signal(program, Signal::STOP);
        let place = home.path(".").canonicalize().unwrap();
        let mut next = home.tenure(["run", home.mutex()]);
        next.args(TERMS).args(["--", "sleep", "1000"]);
        let next = start(next.current_dir("/"));
        // It has begun when its command has.
        eventually(&format!("{name}: the next begins"), || {
            has_command(next.0.id())
        });
        assert_eq!(workers(&place, program.id()), [0; 0], "{name}");
        signal(program, Signal::CONT);
        assert_eq!(code(program), Some(76), "{name}");
    });
}

/// Whether the program `program` has started its command.
fn has_command(program: u32) -> bool {
    let output = Command::new("ps")
        .args(["-eo", "pid=,ppid=,comm="])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let children = |parent: &str| -> Vec<(String, String)> {
        let of = rows.iter().filter(|row| row.get(1) == Some(&parent));
        of.map(|row| (row[0].to_owned(), row[2].to_owned()))
            .collect()
    };
    children(&program.to_string())
        .iter()
        .flat_map(|(guardian, _)| children(guardian))
        .any(|(_, name)| name == "sleep")
}

#[test]
fn revoked_it_ends_with_all_that_it_started() {
    with_every_shape(|name, home, program| {
        let revoked = home.output(["revoke", home.mutex(), "--yes"]);
        assert_eq!(revoked.status.code(), Some(0), "{name}: {revoked:?}");
        assert_eq!(code(program), Some(76), "{name}");
        assert_eq!(workers(&home.path("."), program.id()), [0; 0], "{name}");
    });
}

#[test]
fn what_is_left_when_the_command_ends_is_ended_before_the_lock_is_freed() {
    let home = Home::new();
    let script = "setsid --fork sh -c 'trap \"echo yes > asked; exit\" TERM; echo >> up; \
                  while :; do sleep 0.05; done'; while [ ! -e up ]; do sleep 0.02; done; exit 3";
    let mut program = home.tenure(["run", home.mutex()]);
    program.args(TERMS).args(["--", "sh", "-c", script]);
    let output = bounded(&mut program);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(home.line("asked"), "yes", "asked first");
    assert_eq!(workers(&home.path("."), 0), [0; 0]);
}

/// A process of another user may not be signalled by one that is not root.
#[test]
fn one_that_may_not_be_ended_is_named_and_has_a_code_of_its_own() {
    let home = Home::new();
    if !rustix::process::getuid().is_root() {
        // Only root can make a process of another user; as another user there
        // is none to be had, and nothing to see.
        return;
    }
    let place = home.path(".");
    let run = |words: &[&str]| {
        let done = Command::new(words[0]).args(&words[1..]).status();
        assert!(done.unwrap().success(), "{words:?}");
    };
    run(&["chmod", "0777", place.to_str().unwrap()]);
    // A program that becomes another user's when it is run, as sudo does.
    let become_other = home.path("become-other");
    run(&["cp", "/usr/bin/setpriv", become_other.to_str().unwrap()]);
    run(&["chmod", "4755", become_other.to_str().unwrap()]);
    let script = "./become-other --reuid=1 --regid=1 --clear-groups \
                  sh -c 'echo $$ > sleeping; exec sleep 1000' >/dev/null 2>&1 & \
                  while [ ! -s sleeping ]; do sleep 0.02; done; exit 0";
    let mut program = home.command("setpriv");
    program.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    program.args([
        env!("CARGO_BIN_EXE_tenure"),
        "run",
        "m",
        "--grace",
        "0s",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let output = bounded(&mut program);
    let sleeping = home.pid("sleeping");
    let was_running = super::support::is_running(sleeping);
    let _ = kill_process(sleeping, Signal::KILL);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(was_running, "{said}");
    assert_eq!(output.status.code(), Some(77), "{said}");
    let number = sleeping.as_raw_pid().to_string();
    assert!(said.contains("could not be ended"), "{said}");
    assert!(said.contains(&format!("{number} (sleep)")), "{said}");
}

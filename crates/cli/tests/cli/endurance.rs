//! Trouble again and again: what holds once must hold every time.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use tenure_testkit::servers::Redis;

use super::restart::time_left;
use super::support::{
    Home, PATIENCE, bounded, code, eventually, guardian_of, is_running, signal, start, witness_of,
};
use super::tree::workers;

/// Stops around the end of the lease, some shorter and some longer.
const STOPS: u64 = 24;

/// An owner that is stopped and goes on works no more once the next one does.
#[test]
fn stops_around_the_deadline_never_let_two_work_at_once() {
    let trials: Vec<u64> = (0..STOPS).collect();
    for some in trials.chunks(6) {
        thread::scope(|scope| {
            for trial in some {
                scope.spawn(move || stop_around_the_deadline(*trial));
            }
        });
    }
}

fn stop_around_the_deadline(trial: u64) {
    let place = Home::new();
    let place = place.path("own.db").display().to_string();
    // With a margin: six trials at once keep a guardian waiting.
    let home = Home::at(format!("sqlite:{place}?ttl=1s&transition=5s&margin=500ms"));
    let beat = |file: &str, beats: u32| {
        format!(
            "echo $$ > {file}-child; trap '' TERM; for i in $(seq {beats}); do \
             date +%s%N >> {file}; sleep 0.01; done"
        )
    };
    let first = start(home.run_script(&beat("first", 300)).stderr(Stdio::null()));
    home.pid("first-child");
    let mut second = start(home.run_next(&beat("second", 20)).stderr(Stdio::null()));
    signal(&first.0, Signal::STOP);
    // From half a lease to one and a half.
    thread::sleep(Duration::from_millis(3000 + 6000 * trial / STOPS));
    signal(&first.0, Signal::CONT);
    assert_eq!(code(&mut second.0), Some(0), "trial {trial}");
    let times = |file: &str| -> Vec<u64> {
        let text = fs::read_to_string(home.path(file)).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let (last, began) = (*times("first").last().unwrap(), times("second")[0]);
    assert!(
        last < began,
        "trial {trial}: the first worked until {last}, the second from {began}"
    );
}

/// However often a guardian or a witness is killed, the command works on, and
/// ends when the program does.
#[test]
fn guardians_that_are_killed_again_and_again_are_replaced_every_time() {
    let home = Home::new();
    let script = "setsid --fork sh -c 'echo $$ > away; while :; do sleep 0.05; done'; \
                  echo $$ > child; while :; do sleep 0.05; done";
    let mut program = home.tenure(["run", home.mutex(), "--", "sh", "-c", script]);
    let program = start(program.stderr(Stdio::null()));
    let (child, away) = (home.pid("child"), home.pid("away"));
    kill_process(guardian_of(&program.0), Signal::KILL).unwrap();
    for _ in 0..24 {
        // The one before may just be dying, and be found once more.
        eventually("a witness is killed", || {
            kill_process(witness_of(&program.0), Signal::KILL).is_ok()
        });
        assert!(is_running(child) && is_running(away));
    }
    // The last one knows of both, also of the one that left the group.
    eventually("it has been told what it guards", || {
        // Found anew each time: the one before may just be dying.
        has_read_all(&program.0, witness_of(&program.0).as_raw_pid())
    });
    signal(&program.0, Signal::KILL);
    for pid in [child, away] {
        eventually("it is dead", || !is_running(pid));
    }
}

/// Whether the witness sleeps, with nothing left to read: then it has heard.
fn has_read_all(program: &std::process::Child, witness: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{witness}/stat")).unwrap_or_default();
    let asleep = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .trim()
        .starts_with('S');
    let program = fs::read_to_string(format!("/proc/{}/stat", program.id())).unwrap_or_default();
    let idle = program
        .rsplit(')')
        .next()
        .unwrap_or("")
        .trim()
        .starts_with('S');
    asleep && idle
}

#[test]
fn two_hundred_runs_at_once_each_have_their_turn() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!("redis://{}", server.address()));
    fs::write(home.path("count"), "0\n").unwrap();
    let script = "read n < count; echo $((n + 1)) > count";
    let mut runs: Vec<_> = (0..200)
        .map(|_| start(&mut home.tenure(["run", home.mutex(), "--", "sh", "-c", script])))
        .collect();
    // In any order, the last has to wait for all others.
    let end = Instant::now() + PATIENCE * 8;
    while runs
        .iter_mut()
        .any(|run| run.0.try_wait().unwrap().is_none())
    {
        assert!(Instant::now() < end, "some never end");
        thread::sleep(Duration::from_millis(50));
    }
    for run in &mut runs {
        assert_eq!(code(&mut run.0), Some(0));
    }
    let count = fs::read_to_string(home.path("count")).unwrap();
    assert_eq!(count.trim(), "200");
}

/// Programs that come and go at the same time, and how many each lane of them starts.
const LANES: u32 = 10;
const IN_A_LANE: u32 = 5;

#[test]
fn fifty_that_come_and_go_or_are_killed_never_work_at_once_and_leave_nobody() {
    let place = Home::new();
    let place = place.path("own.db").display().to_string();
    let home = &Home::at(format!("sqlite:{place}?ttl=1s&transition=5s&margin=500ms"));
    let done: u32 = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                scope.spawn(move || {
                    (0..IN_A_LANE)
                        .filter(|n| comes_and_goes(home, lane, *n))
                        .count()
                })
            })
            .collect();
        lanes
            .into_iter()
            .map(|lane| u32::try_from(lane.join().unwrap()).unwrap())
            .sum()
    });
    let two = fs::read_to_string(home.path("two")).unwrap_or_default();
    assert_eq!(two, "", "they worked at once");
    // Some were killed, and some may have lost the lock on a machine that stood still.
    assert!(
        done > LANES * IN_A_LANE / 2,
        "only {done} came to their end"
    );
    assert!(home.becomes_free());
    eventually("nobody is left", || workers(&home.path("."), 0).is_empty());
}

/// Whether it came to its end. Of ten, one is killed at work, and two wherever they are.
fn comes_and_goes(home: &Home, lane: u32, number: u32) -> bool {
    let me = format!("{lane}-{number}");
    // The lock of a file goes with its process, so a second one at work would be seen.
    let script = format!("exec 9> work; flock -n 9 || echo {me} >> two; echo > at-{me}; sleep 0.1");
    let mut program = home.run_script(&script);
    let mut program = start(program.stderr(Stdio::null()));
    let end = Instant::now() + PATIENCE * 8;
    match (lane * IN_A_LANE + number) % 10 {
        0 => {
            while !home.path(&format!("at-{me}")).exists() && Instant::now() < end {
                thread::sleep(Duration::from_millis(5));
            }
            signal(&program.0, Signal::KILL);
        }
        3 | 6 => {
            thread::sleep(Duration::from_millis(fastrand::u64(..400)));
            signal(&program.0, Signal::KILL);
        }
        _ => {}
    }
    while program.0.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "{me} never ends");
        thread::sleep(Duration::from_millis(10));
    }
    match code(&mut program.0) {
        Some(0) => true,
        None | Some(76) => false,
        other => panic!("{me} ended with {other:?}"),
    }
}

/// Told to end, and then the store came back: nothing was lost, and the
/// message says so.
#[test]
fn a_command_that_was_told_to_end_for_nothing_is_told_apart_from_a_loss() {
    let server = Redis::start().unwrap();
    let home = Home::at(format!(
        "redis://{}?ttl=1s&transition=20s",
        server.address()
    ));
    let script = "trap 'echo > asked' TERM; echo $$ > child; \
                  while [ ! -e end ]; do sleep 0.05; done; exit 0";
    let words = [
        "run",
        home.mutex(),
        "--grace",
        "19s",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut program = start(home.tenure(words).stderr(Stdio::piped()));
    home.pid("child");
    server.pause().unwrap();
    eventually("it is told to end", || home.path("asked").exists());
    server.resume().unwrap();
    // It has been renewed when more is left than the grace.
    eventually("it is renewed", || time_left(&home) > 19_000);
    fs::write(home.path("end"), "").unwrap();
    assert_eq!(code(&mut program.0), Some(76));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut program.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("told to end"), "{said}");
    assert!(said.contains("never lost"), "{said}");
    let next = bounded(&mut home.tenure(["run", "-n", home.mutex(), "--", "true"]));
    assert_eq!(next.status.code(), Some(0), "it was freed in order");
}

//! A schedule over several processes: killed, and with clocks an hour off.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use tenure::blocking::{Coordinator, Tick};
use tenure::schedule::ScheduleConfig;
use tenure_testkit::servers::find::Server;

use super::support::{SOON, TestFile};

const URL: &str = "TENURE_TEST_SCHEDULE_URL";
const PERIOD: u64 = 400;

/// The other process: this test, started again with the URL in its
/// environment. It tells of each run until it is killed.
#[test]
fn schedule_process() {
    let Ok(url) = std::env::var(URL) else {
        return;
    };
    let coordinator = Coordinator::connect(&url).unwrap();
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(PERIOD)).unwrap();
    let tell = |tick: Tick| {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        println!(
            "\nrun {} {} {} {} {}",
            tick.number(),
            tick.due_at().as_millis(),
            tick.late_by().as_millis(),
            tick.tenure().token().unwrap().value(),
            wall.unwrap().as_millis(),
        );
    };
    coordinator
        .scheduler("m", config)
        .unwrap()
        .run(tell)
        .unwrap();
}

#[derive(Debug)]
struct Run {
    process: usize,
    tick: u64,
    due_at: u64,
    late: u64,
    token: u64,
    wall: u64,
}

/// Killed with the test.
struct Process(Child);

impl Process {
    /// Starts one whose wall clock is off by `shift`.
    fn start(number: usize, place: &TestFile, shift: &str, tell: &mpsc::Sender<Run>) -> Self {
        let url = format!("{}?ttl=600ms&transition=900ms", place.url());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "schedule::schedule_process", "--nocapture"])
            .env(URL, url)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::piped());
        if !shift.is_empty() {
            let library = Server::Faketime.find("libfaketime.so.1").unwrap();
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME", shift)
                .env("DONT_FAKE_MONOTONIC", "1");
        }
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let tell = tell.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                let ["run", numbers @ ..] = words.as_slice() else {
                    continue;
                };
                let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().unwrap()).collect();
                let [tick, due_at, late, token, wall] = numbers[..] else {
                    panic!("{line:?}");
                };
                let process = number;
                let _ = tell.send(Run {
                    process,
                    tick,
                    due_at,
                    late,
                    token,
                    wall,
                });
            }
        });
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn leaders_are_killed_and_clocks_are_an_hour_off_and_the_cadence_goes_on() {
    let place = TestFile::new();
    let (tell, told) = mpsc::channel();
    // The first to come sets the store's clock, and its own is right.
    let mut processes = vec![Some(Process::start(0, &place, "", &tell))];
    let mut runs: Vec<Run> = vec![told.recv_timeout(SOON).expect("it runs")];
    for (number, shift) in [(1, "+1h"), (2, "-1h")] {
        processes.push(Some(Process::start(number, &place, shift, &tell)));
    }
    while processes.iter().any(Option::is_some) {
        // Each leader in turn runs a few ticks, and is killed.
        let count = runs.len();
        while runs.len() < count + 4 {
            runs.push(told.recv_timeout(SOON).expect("somebody takes over"));
        }
        processes[runs.last().unwrap().process] = None;
        runs.extend(told.try_iter());
    }
    for pair in runs.windows(2) {
        let (one, two) = (&pair[0], &pair[1]);
        assert!(two.tick > one.tick && two.token >= one.token, "{runs:#?}");
        let apart = (two.tick - one.tick) * PERIOD;
        assert_eq!(two.due_at - one.due_at, apart, "one grid: {runs:#?}");
        if two.process == one.process {
            // Nothing but the ticks' own distance, or else they were late.
            assert!(
                two.tick == one.tick + 1 || one.late + two.late > 0,
                "{runs:#?}"
            );
        }
    }
    let led = |process: usize| runs.iter().find(|run| run.process == process).unwrap();
    let off = |process: usize| led(process).wall.abs_diff(led(process).due_at);
    assert!(
        off(1) > 3_000_000 && off(2) > 3_000_000,
        "their clocks were off: {runs:#?}"
    );
    assert!(off(0) < 600_000);
    let on_time = |run: &&Run| run.late < PERIOD;
    assert!(runs.iter().filter(on_time).count() >= 6, "{runs:#?}");
}

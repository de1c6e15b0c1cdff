//! A schedule that passes between two hosts whose clocks are hours apart.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

use tenure::blocking::{Coordinator, Scheduler, Tick};
use tenure::schedule::{Misfire, ScheduleConfig};
use tenure_testkit::servers::find::Server;

use crate::support::{PATIENCE, SERVER, name};

const URL: &str = "TENURE_TEST_SCHEDULE_URL";
const NAME: &str = "TENURE_TEST_SCHEDULE_NAME";
const PERIOD: u64 = 250;

/// One run of the job.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    who: String,
    tick: u64,
    due_at: u64,
    late: u64,
    /// The wall clock of the host.
    wall: u64,
}

impl Run {
    fn of(who: &str, tick: &Tick) -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let millis = |length: Duration| u64::try_from(length.as_millis()).unwrap();
        Self {
            who: who.to_owned(),
            tick: tick.number(),
            due_at: tick.due_at().as_millis(),
            late: millis(tick.late_by()),
            wall: millis(wall.unwrap()),
        }
    }
}

fn scheduler(url: &str, name: &str) -> (Coordinator, Scheduler) {
    let coordinator = Coordinator::connect(url).unwrap();
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(PERIOD)).unwrap();
    let scheduler = coordinator.scheduler(name, config.with_misfire(Misfire::Burst));
    (coordinator, scheduler.unwrap())
}

/// The other host: this test, started again with a URL in its environment. It
/// tells of each run until its input ends.
#[test]
fn schedule_process() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(NAME)) else {
        return;
    };
    let (coordinator, scheduler) = scheduler(&url, &name);
    let handle = scheduler.start(|tick: Tick| {
        let run = Run::of("there", &tick);
        println!(
            "\nrun {} {} {} {}",
            run.tick, run.due_at, run.late, run.wall
        );
    });
    let handle = handle.unwrap();
    println!("\nready");
    let _ = std::io::stdin().read(&mut [0]);
    handle.stop().unwrap();
    coordinator.close().unwrap();
}

/// Killed with the test.
struct There(Child);

impl There {
    /// A host whose clock is ahead by an hour.
    fn start(url: &str, name: &str, told: Sender<Run>) -> (Self, Receiver<()>) {
        let library = Server::Faketime.find_all().unwrap().remove(0);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "schedule::schedule_process", "--nocapture"])
            .env(URL, url)
            .env(NAME, name)
            .env("LD_PRELOAD", library)
            .env("FAKETIME", "+1h")
            .env("DONT_FAKE_MONOTONIC", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, ready) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                match words.as_slice() {
                    ["ready"] => drop(tell.send(())),
                    ["run", numbers @ ..] => {
                        let numbers: Vec<u64> = numbers.iter().flat_map(|n| n.parse()).collect();
                        let [tick, due_at, late, wall] = numbers[..] else {
                            panic!("{line:?}");
                        };
                        let who = "there".to_owned();
                        let run = Run {
                            who,
                            tick,
                            due_at,
                            late,
                            wall,
                        };
                        let _ = told.send(run);
                    }
                    _ => {}
                }
            }
        });
        (Self(child), ready)
    }

    fn leave(&mut self) {
        drop(self.0.stdin.take());
    }
}

impl Drop for There {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Hears of runs until there are `count` more of `who`.
fn hear_more(runs: &mut Vec<Run>, told: &Receiver<Run>, count: usize, who: &str) {
    let mut left = count;
    while left > 0 {
        let run = told.recv_timeout(PATIENCE).expect("somebody runs it");
        left -= usize::from(run.who == who);
        runs.push(run);
    }
}

#[test]
fn a_cadence_goes_on_at_another_host_and_back() {
    let url = format!("zookeeper://{}?session_timeout=4s", SERVER.address());
    let name = name("cadence");
    let (tell, told) = channel();
    let mut runs: Vec<Run> = Vec::new();
    let (coordinator, scheduler) = scheduler(&url, &name);
    let run_here = {
        let tell = tell.clone();
        move |tick: Tick| drop(tell.send(Run::of("here", &tick)))
    };
    let handle = scheduler.start(run_here.clone()).unwrap();
    hear_more(&mut runs, &told, 3, "here");
    let (mut there, ready) = There::start(&url, &name, tell);
    ready.recv_timeout(PATIENCE).expect("it starts");
    handle.stop().unwrap();
    hear_more(&mut runs, &told, 4, "there");
    // This host comes back with the time that it had.
    let handle = scheduler.start(run_here).unwrap();
    there.leave();
    hear_more(&mut runs, &told, 4, "here");
    handle.stop().unwrap();
    coordinator.close().unwrap();

    for (number, run) in (0..).zip(&runs) {
        assert_eq!(run.tick, number, "none twice, none lost: {runs:#?}");
        let due = runs[0].due_at + number * PERIOD;
        assert_eq!(run.due_at, due, "one grid: {runs:#?}");
        // By the store's clock, which is that of the host here, in both processes.
        let hour = if run.who == "there" { 3_600_000 } else { 0 };
        let at = run.wall - hour;
        assert!(at + 1000 >= due, "early: {run:?}");
        assert!(
            at.abs_diff(due + run.late) < 5_000,
            "another clock: {run:?}"
        );
    }
}

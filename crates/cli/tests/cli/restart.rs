//! The store is gone for a while, in the middle of a run.

use std::fs;
use std::ops::Deref;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_testkit::servers::{MariaDb, Postgres, Process, Redis, ZooKeeper};

use super::stores::{Lease, Store, on_store};
use super::support::{Home, code, eventually, is_running, start, text};

on_store!(redis Redis a_short_restart_costs_nothing a_long_outage_stops_the_command_in_time);
on_store!(mariadb MariaDb a_short_restart_costs_nothing a_long_outage_stops_the_command_in_time);
on_store!(postgres Postgres a_short_restart_costs_nothing a_long_outage_stops_the_command_in_time);
on_store!(zookeeper ZooKeeper a_short_restart_costs_nothing a_long_outage_stops_the_command_in_time);

/// A server that a test may kill, and its URL. What it was told it keeps.
pub(crate) fn server(store: Store) -> (Box<dyn Deref<Target = Process>>, String) {
    match store {
        Store::Sqlite => unreachable!("it has no server"),
        Store::Redis => {
            let server = Redis::builder().durable().start().unwrap();
            let url = format!("redis://{}", server.address());
            (Box::new(server), url)
        }
        Store::MariaDb => {
            let server = MariaDb::start().unwrap();
            let url = server.url();
            (Box::new(server), url)
        }
        Store::Postgres => {
            let server = Postgres::start().unwrap();
            let url = server.url();
            (Box::new(server), url)
        }
        Store::ZooKeeper => {
            // A Java machine needs its time to start.
            let server = ZooKeeper::builder()
                .set("maxSessionTimeout", "20000")
                .start()
                .unwrap();
            let url = format!("zookeeper://{}", server.address());
            (Box::new(server), url)
        }
    }
}

fn a_short_restart_costs_nothing(store: Store) {
    let (server, url) = server(store);
    let (terms, lease) = match store {
        Store::ZooKeeper => ("?session_timeout=20s", Duration::from_millis(12_500)),
        _ => ("?ttl=5s&transition=15s", Duration::from_secs(20)),
    };
    // On a machine so slow that the lease could run out it proves nothing.
    let tries = (0..5).any(|_| outlives_a_restart(store, &server, &url, terms, lease));
    assert!(tries, "the server never came back in time");
}

/// False when the restart took too long to tell.
fn outlives_a_restart(
    store: Store,
    server: &Process,
    url: &str,
    terms: &str,
    lease: Duration,
) -> bool {
    let home = Home::at(format!("{url}{terms}"));
    let script = "echo $$ > child; while [ ! -e end ]; do sleep 0.05; done; exit 7";
    let words = [
        "run",
        home.mutex(),
        "--grace",
        "500ms",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut holder = start(home.tenure(words).stderr(Stdio::piped()));
    let child = home.pid("child");
    let killed = Instant::now();
    server.restart().unwrap();
    if killed.elapsed() > lease / 3 {
        return false;
    }
    let other = home.output(["run", "-n", home.mutex(), "--", "true"]);
    assert_eq!(other.status.code(), Some(75), "{other:?}");
    let mut before = u64::MAX;
    eventually("it is renewed", || match store {
        // It does not tell how long another's lease lasts.
        Store::ZooKeeper => killed.elapsed() > lease,
        _ => {
            let left = time_left(&home);
            let is_renewed = left > before;
            before = left;
            is_renewed
        }
    });
    assert!(is_running(child), "the command works on");
    fs::write(home.path("end"), "").unwrap();
    let ended = holder.0.wait().unwrap();
    let mut said = Vec::new();
    let mut stderr = holder.0.stderr.take().unwrap();
    std::io::Read::read_to_end(&mut stderr, &mut said).unwrap();
    let said = text(&said);
    assert_eq!(ended.code(), Some(7), "{said}");
    // A renewal may have met the gap: that, and its end, is all that is said.
    let is_word =
        |line: &str| line.contains("trouble with ") || line.ends_with("all is well again");
    assert!(said.lines().all(is_word), "{said}");
    true
}

/// How long the lease of the home's mutex lasts, in milliseconds; 0 when it is free.
pub(crate) fn time_left(home: &Home) -> u64 {
    let output = home.output(["status", "--output", "json", home.mutex()]);
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    row["left_ms"].as_u64().unwrap_or(0)
}

fn a_long_outage_stops_the_command_in_time(store: Store) {
    let (server, url) = server(store);
    let home = Home::at(url + store.terms(Lease::Short));
    // SIGTERM does not impress it.
    let script = "trap '' TERM; echo $$ > child; while :; do date +%s%N >> beats; sleep 0.02; done";
    let mut holder = start(home.run_script(script).stderr(Stdio::piped()));
    let child = home.pid("child");
    let killed = std::time::SystemTime::now();
    server.kill().unwrap();
    assert_eq!(code(&mut holder.0), Some(76));
    assert!(!is_running(child));
    let mut said = Vec::new();
    let mut stderr = holder.0.stderr.take().unwrap();
    std::io::Read::read_to_end(&mut stderr, &mut said).unwrap();
    let said = text(&said);
    assert!(said.contains("not renewed in time"), "{said}");
    let beats = fs::read_to_string(home.path("beats")).unwrap();
    let last: u64 = beats.lines().next_back().unwrap().parse().unwrap();
    let since = Duration::from_nanos(last).saturating_sub(
        killed
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap(),
    );
    // A lease is five seconds at most; a busy machine kills late.
    assert!(since < Duration::from_secs(8), "it worked on for {since:?}");
}

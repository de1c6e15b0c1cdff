//! Many processes want the same. A binary of its own, because it keeps the
//! machine busy, and others wait for leases to end.

#[allow(dead_code, reason = "the other binary uses the rest")]
#[path = "cli"]
mod cli {
    pub(crate) mod stores;
    pub(crate) mod support;
}

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cli::stores::{self, Lease, Store, on_every_store};
use cli::support::Home;

const DRIVERS: usize = 8;
const RUNS: usize = 200;

on_every_store!(eight_drivers_lose_no_increment);

/// One store after the other: sixteen at a time only get into each other's way.
static TURN: Mutex<()> = Mutex::new(());

/// Each run reads a number and writes the next one, with no lock of its own.
fn eight_drivers_lose_no_increment(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    fs::write(home.path("count"), "0\n").unwrap();
    let script = "read n < count; echo $((n + 1)) > count; echo $TENURE_TOKEN >> tokens";
    let drive = || {
        for _ in 0..RUNS {
            let mut run = home.tenure(["run", home.mutex(), "--", "sh", "-c", script]);
            let ended = run.output().unwrap();
            assert_eq!(ended.status.code(), Some(0), "{ended:?}");
            // A server that is slow on a busy machine is told of, and nothing else.
            let said = String::from_utf8_lossy(&ended.stderr);
            let is_of_slowness = |line: &str| {
                line.contains("did not answer within") || line.contains("all is well again")
            };
            assert!(said.lines().all(is_of_slowness), "{ended:?}");
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..DRIVERS {
            scope.spawn(drive);
        }
    });
    println!("{store:?}: {:?}", start.elapsed());
    let count = fs::read_to_string(home.path("count")).unwrap();
    assert_eq!(count.trim(), (DRIVERS * RUNS).to_string());
    let tokens = fs::read_to_string(home.path("tokens")).unwrap();
    let tokens: Vec<u64> = tokens.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(tokens.len(), DRIVERS * RUNS);
    assert!(
        tokens.is_sorted_by(|a, b| a < b),
        "in the order of the runs"
    );
}

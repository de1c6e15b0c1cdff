//! One run: servers, workers and what happens to them, for a while; then the judges.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tenure::clock::Clock;
use tenure_testkit::history::Event;
use tenure_testkit::servers::ServerError;

use crate::fleet::Fleet;
use crate::judge::{self, Kind, Verdict, Violation};
use crate::log::Log;
use crate::register::Registers;
use crate::topology::{self, WORKERS};
use crate::worker::{Habit, Orders};
use crate::{nemesis, second};

/// What a slice is made of.
#[derive(Clone, Debug)]
pub struct SlicePlan {
    /// Which topology.
    pub store: String,
    /// What everything is chosen by.
    pub seed: u64,
    /// The how manieth slice of the seed.
    pub index: u64,
    /// For how long things go wrong.
    pub length: Duration,
    /// The faults that there are; all if none is named.
    pub only: Vec<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// All that was told.
    pub events: Vec<Event>,
    /// What both judges say.
    pub verdict: Verdict,
    /// How often each mishap happened.
    pub mishaps: BTreeMap<&'static str, u64>,
    /// How many were meant to happen and could not.
    pub failed: u64,
    /// How long the slowest mutex took to go on again.
    pub slowest: Duration,
    /// How long it took, with the start of the servers.
    pub took: Duration,
}

/// Runs a slice.
///
/// # Errors
/// When servers or workers cannot be started, or a server not be brought back.
pub fn run(plan: &SlicePlan) -> Result<Outcome, ServerError> {
    let began = Instant::now();
    let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(plan.index);
    let mut chance = Rng::with_seed(seed);
    let directory = tempfile::Builder::new()
        .prefix("tenure-faults-")
        .tempdir()?;
    let log = Arc::new(Log::new(Clock::boot()));
    let topology = topology::start(&plan.store, directory.path(), &mut chance, &log)?;
    let socket = directory.path().join("registers");
    Registers::new(&log).serve(&socket)?;
    let lease = topology.lease();
    let orders = (0..WORKERS).map(|at| Orders {
        process: format!("w{at}"),
        store: topology.store(at),
        register: socket.clone(),
        lease,
        // Every other lives on a host whose clock is set now and then.
        sets_clock: at % 2 == 0,
        ahead: Duration::ZERO,
        seed: chance.u64(..),
        habit: Habit::Usual,
    });
    let orders: Vec<_> = orders.collect();
    let store = orders[0].store.clone();
    let fleet = Fleet::start(orders, &log)?;
    let terms = topology.terms();
    let happened = nemesis::rage(&*topology, &fleet, &log, &store, &mut chance, plan);
    drop(fleet);
    drop(topology);
    unmount(directory.path());
    let happened = happened?;
    let events = log.events();
    let mut verdict = judge::judge(&events, terms);
    verdict.violations.extend(second::judge(&events, terms));
    let end = log.now();
    let stuck = happened.stuck.into_iter().map(|message| Violation {
        kind: Kind::Stuck,
        message,
        name: String::new(),
        span: (end.saturating_sub(lease), end),
    });
    verdict.violations.extend(stuck);
    verdict.violations.extend(log.found());
    let mut mishaps = BTreeMap::new();
    for name in happened.mishaps {
        *mishaps.entry(name).or_default() += 1;
    }
    Ok(Outcome {
        events,
        verdict,
        mishaps,
        failed: happened.failed,
        slowest: happened.slowest,
        took: began.elapsed(),
    })
}

/// A small disk that was mounted there goes with the run.
fn unmount(directory: &Path) {
    let disk = directory.join("disk");
    if disk.is_dir() {
        let _ = std::process::Command::new("umount")
            .arg("--lazy")
            .arg(disk)
            .status();
    }
}

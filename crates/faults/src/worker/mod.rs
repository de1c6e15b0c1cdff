//! A worker: a process that uses a store through the public API, and tells what it sees.
//!
//! It writes a line of a [`History`] for each event, on the clock that all processes of the host
//! share, and ends when its standard input does. Another process tells it there how to set its clock.

mod again;
mod both;
mod habit;
mod hold;
mod lead;
mod lock;
pub(crate) mod shelf;
mod ticks;
mod writer;

use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use habit::Habit;
use serde::{Deserialize, Serialize};
use tenure::clock::{Clock, VirtualHost};
use tenure::{Coordinator, Error, ErrorKind, Result};
use tenure_testkit::history::{Event, History, What};
use tokio::task::{JoinHandle, LocalSet};

use crate::log::Log;
use crate::register::Registers;
use crate::topology::drift::PART;

/// Set to see the errors of the workers, and of the faults that did not happen.
pub(crate) const ERRORS: &str = "TENURE_FAULTS_ERRORS";

/// What a worker contends in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Store {
    /// One store, by its URL.
    Url(String),
    /// Several Redis servers that make one lock together.
    Nodes {
        /// Their URLs, the same servers in the same order for every worker.
        urls: Vec<String>,
        /// Whether a majority wins, and not the leftmost.
        by_majority: bool,
    },
}

impl Store {
    /// The mutexes of which a worker takes each again and again.
    #[must_use]
    pub fn names(&self) -> &'static [&'static str] {
        match self {
            Store::Url(_) => &[lock::NAME, lead::NAME, again::NAME, ticks::NAME],
            Store::Nodes { .. } => &[both::NAME],
        }
    }

    /// Those of them for which every worker asks again and again, whichever worker gets them.
    #[must_use]
    pub fn asked(&self) -> &'static [&'static str] {
        match self {
            Store::Url(_) => &[lock::NAME, again::NAME],
            Store::Nodes { .. } => &[both::NAME],
        }
    }
}

/// What a worker is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// Its name in the history.
    pub process: String,
    /// Where it contends.
    pub store: Store,
    /// The socket of the registers.
    pub register: PathBuf,
    /// How long it can own without a renewal.
    pub lease: Duration,
    /// Whether its host has a wall clock that it sets when it is told to.
    pub sets_clock: bool,
    /// How far its clock since boot is ahead of the host's.
    #[serde(default)]
    pub ahead: Duration,
    /// What its choices come from.
    pub seed: u64,
    /// What it does otherwise than the rest.
    #[serde(default)]
    pub habit: Habit,
}

/// What the tasks of a worker share.
pub struct Worker {
    orders: Orders,
    clock: Clock,
    /// Knows when the clock began.
    times: History,
    chance: RefCell<fastrand::Rng>,
    audience: Audience,
}

/// To whom a worker tells, and where it writes.
enum Audience {
    /// A driver that reads its output.
    Driver,
    /// The same process.
    Here(Arc<Log>, Arc<Registers>),
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("orders", &self.orders)
            .finish_non_exhaustive()
    }
}

impl Worker {
    fn new(orders: Orders, clock: Clock, audience: Audience) -> Rc<Self> {
        Rc::new(Self {
            times: History::new("", clock.clone()),
            clock,
            chance: RefCell::new(fastrand::Rng::with_seed(orders.seed)),
            orders,
            audience,
        })
    }

    /// One in this process, on any clock.
    #[must_use]
    pub fn here(
        orders: Orders,
        clock: Clock,
        log: &Arc<Log>,
        registers: &Arc<Registers>,
    ) -> Rc<Self> {
        let audience = Audience::Here(Arc::clone(log), Arc::clone(registers));
        Self::new(orders, clock, audience)
    }

    fn now(&self) -> Duration {
        self.times.time(self.clock.now()) - self.orders.ahead
    }

    /// Tells of what was so at `at`. Without the driver, which reads it, this is the end.
    fn tell(&self, at: Duration, what: What) {
        let process = self.orders.process.as_str().into();
        let event = Event { at, process, what };
        if let Audience::Here(log, _) = &self.audience {
            return log.add(event);
        }
        let line = format!("{event}\n");
        if io::stdout().lock().write_all(line.as_bytes()).is_err() {
            std::process::exit(0);
        }
    }

    fn chance<T>(&self, choose: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        choose(&mut self.chance.borrow_mut())
    }

    /// Rests after an error, as what failed is tried again. A reader of the run may see it.
    async fn failed(&self, error: &Error) {
        if std::env::var_os(ERRORS).is_some() {
            eprintln!("{} {}: {error}", self.now().as_secs(), self.orders.process);
        }
        self.rest(100).await;
    }

    /// Some part of a lease.
    fn leases(&self, from: f64, to: f64) -> Duration {
        let part = self.chance(fastrand::Rng::f64);
        self.orders.lease.mul_f64(from + (to - from) * part)
    }

    async fn rest(&self, at_most: u64) {
        let millis = self.chance(|chance| chance.u64(0..=at_most));
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// Runs a worker until its input ends.
///
/// # Errors
/// When the runtime cannot be made, or the orders are none.
pub fn main(orders: &str) -> io::Result<()> {
    let orders: Orders = serde_json::from_str(orders)?;
    // A task that panics must not be missed: a worker that ends by itself is.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(101);
    }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let host = {
        let _inside = runtime.enter();
        orders.sets_clock.then(VirtualHost::new)
    };
    let input = host.clone();
    std::thread::spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        lines.for_each(|line| obey(&line, input.as_ref()));
        std::process::exit(0);
    });
    let worker = Worker::new(orders, Clock::boot(), Audience::Driver);
    LocalSet::new().block_on(&runtime, work(worker, host));
    Ok(())
}

/// Sets the wall clock of the worker's host: `ahead MILLISECONDS` or `back MILLISECONDS`; or lets
/// all its clocks lose or gain time for so long: `slow MILLISECONDS`, `fast MILLISECONDS`.
/// `end` asks it to end.
fn obey(line: &str, host: Option<&VirtualHost>) {
    if line == "end" {
        return habit::END.notify_one();
    }
    let (Some(host), Some((way, millis))) = (host, line.split_once(' ')) else {
        return;
    };
    let by = Duration::from_millis(millis.parse().unwrap_or_default());
    match way {
        "ahead" => host.set_wall_ahead(by),
        "slow" => drift(host, by, VirtualHost::rewind),
        "fast" => drift(host, by, VirtualHost::advance),
        _ => host.set_wall_back(by),
    }
}

/// In steps that are small beside any lease.
fn drift(host: &VirtualHost, length: Duration, step: fn(&VirtualHost, Duration)) {
    let host = host.clone();
    std::thread::spawn(move || {
        let begun = Instant::now();
        let mut drifted = Duration::ZERO;
        while begun.elapsed() < length {
            std::thread::sleep(Duration::from_millis(10));
            let by_now = begun.elapsed() / PART;
            step(&host, by_now - drifted);
            drifted = by_now;
        }
    });
}

async fn work(worker: Rc<Worker>, host: Option<VirtualHost>) {
    let tasks = match worker.orders.store.clone() {
        Store::Nodes { urls, by_majority } => {
            let clock = host.map_or_else(Clock::boot, |host| host.clock());
            let work = both::work(worker, urls, by_majority, clock);
            vec![tokio::task::spawn_local(work)]
        }
        Store::Url(url) => {
            let connect = async || {
                let mut builder = Coordinator::builder();
                if let Some(host) = &host {
                    builder = builder.clock(host.clock());
                }
                if worker.orders.habit == Habit::OneId {
                    builder = builder.ids(habit::OneId);
                }
                builder.connect(url.as_str()).await
            };
            let coordinator = stubborn(connect).await;
            with_habits(&worker, &coordinator)
        }
    };
    for task in tasks {
        task.await.expect("a worker's task does not panic");
    }
}

/// What a worker of a fleet does at one store: the same as all, and what it has a habit of.
fn with_habits(worker: &Rc<Worker>, coordinator: &Coordinator) -> Vec<JoinHandle<()>> {
    let habit = worker.orders.habit;
    if habit == Habit::Lasting {
        let last = habit::last(Rc::clone(worker), coordinator.clone());
        return vec![tokio::task::spawn_local(last)];
    }
    let mut tasks = begin(worker, coordinator);
    tasks.extend(shelf::begin(worker, coordinator));
    if habit == Habit::Forgetful {
        tasks.push(tokio::task::spawn_local(habit::forget(coordinator.clone())));
    }
    tasks
}

/// Begins all that a worker does at one store, inside of a [`LocalSet`].
#[must_use]
pub fn begin(worker: &Rc<Worker>, coordinator: &Coordinator) -> Vec<JoinHandle<()>> {
    let of = || (Rc::clone(worker), coordinator.clone());
    // Two of one process: they hand over to each other.
    let locks = (0..2).map(|_| {
        let (worker, coordinator) = of();
        tokio::task::spawn_local(lock::work(worker, coordinator))
    });
    let mut tasks: Vec<_> = locks.collect();
    let (worker, coordinator) = of();
    tasks.push(tokio::task::spawn_local(lead::work(worker, coordinator)));
    let (worker, coordinator) = of();
    tasks.push(tokio::task::spawn_local(again::work(worker, coordinator)));
    let (worker, coordinator) = of();
    tasks.push(tokio::task::spawn_local(ticks::work(worker, coordinator)));
    tasks
}

/// Tries until it works: what a worker begins with may be broken just then.
async fn stubborn<T>(mut attempt: impl AsyncFnMut() -> Result<T>) -> T {
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) if error.kind() == ErrorKind::Invalid => panic!("{error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far its clock has come, beside that of a machine whose clock goes right, once both have
    /// drifted for so long.
    async fn after(line: &str) -> (Duration, Duration) {
        let (host, right) = (VirtualHost::new(), VirtualHost::new());
        let begun = (host.clock().now(), right.clock().now());
        obey(line, Some(&host));
        // It drifts on a thread of its own, which may be late.
        let drifted = || {
            let gone = (
                host.clock().now().since(begun.0),
                right.clock().now().since(begun.1),
            );
            gone.0.abs_diff(gone.1) > Duration::from_micros(500)
        };
        while !drifted() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (its, rights) = (host.clock().now(), right.clock().now());
        (its.since(begun.0), rights.since(begun.1))
    }

    #[tokio::test]
    async fn a_clock_gains_or_loses_when_it_is_told_to() {
        let (its, rights) = after("fast 2000").await;
        assert!(its > rights, "{its:?} {rights:?}");
        assert!(
            its - rights <= rights / PART + Duration::from_millis(1),
            "{its:?} {rights:?}"
        );
        let (its, rights) = after("slow 2000").await;
        assert!(its < rights, "{its:?} {rights:?}");
    }
}

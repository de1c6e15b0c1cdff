//! A worker: a process that uses a store through the public API, and tells what it sees.
//!
//! It writes a line of a [`History`] for each event, on the clock that all processes of the host
//! share, and ends when its standard input does.

mod again;
mod both;
mod hold;
mod lead;
mod lock;
mod ticks;
mod writer;

use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::clock::Clock;
use tenure::{Coordinator, Error, ErrorKind, Result};
use tenure_testkit::history::{Event, History, What};
use tokio::task::LocalSet;

/// Set to see the errors of the workers.
const ERRORS: &str = "TENURE_FAULTS_ERRORS";

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
    /// What its choices come from.
    pub seed: u64,
}

/// What the tasks of a worker share.
struct Worker {
    orders: Orders,
    clock: Clock,
    /// Knows when the clock began.
    times: History,
    chance: RefCell<fastrand::Rng>,
}

impl Worker {
    fn now(&self) -> Duration {
        self.times.time(self.clock.now())
    }

    /// Tells of what was so at `at`. Without the driver, which reads it, this is the end.
    fn tell(&self, at: Duration, what: What) {
        let process = self.orders.process.as_str().into();
        let line = format!("{}\n", Event { at, process, what });
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
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    // A task that panics must not be missed: a worker that ends by itself is.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(101);
    }));
    let clock = Clock::boot();
    let worker = Rc::new(Worker {
        times: History::new("", clock.clone()),
        clock,
        chance: RefCell::new(fastrand::Rng::with_seed(orders.seed)),
        orders,
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, work(worker));
    Ok(())
}

async fn work(worker: Rc<Worker>) {
    let mut tasks = Vec::new();
    match worker.orders.store.clone() {
        Store::Nodes { urls, by_majority } => {
            let work = both::work(worker, urls, by_majority);
            tasks.push(tokio::task::spawn_local(work));
        }
        Store::Url(url) => {
            let coordinator = stubborn(|| Coordinator::connect(url.as_str())).await;
            // Two of one process: they hand over to each other.
            for _ in 0..2 {
                let work = lock::work(Rc::clone(&worker), coordinator.clone());
                tasks.push(tokio::task::spawn_local(work));
            }
            let work = lead::work(Rc::clone(&worker), coordinator.clone());
            tasks.push(tokio::task::spawn_local(work));
            let work = again::work(Rc::clone(&worker), coordinator.clone());
            tasks.push(tokio::task::spawn_local(work));
            tasks.push(tokio::task::spawn_local(ticks::work(worker, coordinator)));
        }
    }
    for task in tasks {
        task.await.expect("a worker's task does not panic");
    }
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

//! What the tests of this binary share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::backend::{Backend, LedgerEntry};
use tenure::clock::{Clock, Moment};
use tenure::model::{FencingToken, LeaseTerms, MutexName, StoreTime};
use tenure::schedule::ScheduleConfig;
use tenure::stores::memory::Memory;
use tenure::{Coordinator, Scheduler, Tick};
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{FaultBackend, Faults};

use super::mortal::{Fate, Mortal};

pub(crate) const NAME: &str = "report";

/// A memory store on virtual time, and processes over it.
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) store: Memory,
    processes: AtomicU64,
}

/// A process of its own, whose store can fail and which can die.
pub(crate) struct Process {
    pub(crate) coordinator: Coordinator,
    pub(crate) faults: Faults,
    pub(crate) fate: Fate,
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn terms() -> LeaseTerms {
    LeaseTerms::new(seconds(10), seconds(6)).unwrap()
}

pub(crate) fn rate(period: Duration) -> ScheduleConfig {
    ScheduleConfig::rate(Duration::ZERO, period).unwrap()
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Clock::tokio();
        let store = Memory::with_clock(clock.clone());
        let processes = AtomicU64::new(1);
        Self {
            clock,
            store,
            processes,
        }
    }

    pub(crate) fn process(&self) -> Process {
        // Two with one seed would bid with the same nonces.
        let seed = self.processes.fetch_add(1, Ordering::Relaxed);
        self.make(Faults::new(self.clock.clone()), Fate::immortal(), seed)
    }

    pub(crate) fn make(&self, faults: Faults, fate: Fate, seed: u64) -> Process {
        let store = FaultBackend::new(self.store.another_client(), &faults);
        let coordinator = Coordinator::builder()
            .clock(self.clock.clone())
            .terms(terms())
            .deterministic(seed)
            .with_backend(Mortal::new(store, &fate))
            .unwrap();
        Process {
            coordinator,
            faults,
            fate,
        }
    }

    /// The store's time.
    pub(crate) async fn now(&self) -> StoreTime {
        let name = MutexName::new(NAME).unwrap();
        self.store.owner(&name).await.unwrap().now()
    }

    pub(crate) async fn ledger(&self) -> Option<LedgerEntry> {
        let name = MutexName::new(NAME).unwrap();
        self.store.read_ledger(&name).await.unwrap()
    }
}

impl Process {
    pub(crate) fn scheduler(&self, config: ScheduleConfig) -> Scheduler {
        self.coordinator.scheduler(NAME, config).unwrap()
    }
}

/// One run that was begun.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) process: usize,
    pub(crate) tick: u64,
    pub(crate) due_at: StoreTime,
    pub(crate) token: FencingToken,
    pub(crate) is_rerun: bool,
    pub(crate) began: Moment,
    pub(crate) ended: Option<Moment>,
}

/// All runs of all processes, in the order of their beginning.
#[derive(Clone)]
pub(crate) struct Diary {
    runs: Arc<Mutex<Vec<Run>>>,
    clock: Clock,
}

impl Diary {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            runs: Arc::default(),
            clock: world.clock.clone(),
        }
    }

    pub(crate) fn begin(&self, process: usize, tick: &Tick) -> usize {
        let mut runs = self.runs.lock().unwrap();
        runs.push(Run {
            process,
            tick: tick.number(),
            due_at: tick.due_at(),
            token: tick.tenure().token().expect("a run begins under a tenure"),
            is_rerun: tick.is_rerun(),
            began: self.clock.now(),
            ended: None,
        });
        runs.len() - 1
    }

    pub(crate) fn end(&self, run: usize) {
        self.runs.lock().unwrap()[run].ended = Some(self.clock.now());
    }

    pub(crate) fn runs(&self) -> Vec<Run> {
        self.runs.lock().unwrap().clone()
    }

    pub(crate) fn ticks(&self) -> Vec<u64> {
        self.runs().iter().map(|run| run.tick).collect()
    }

    /// A job that takes as long as `length` says of its tick.
    pub(crate) fn job(
        &self,
        process: usize,
        length: impl Fn(&Tick) -> Duration + Send + 'static,
    ) -> impl FnMut(Tick) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + 'static
    {
        let diary = self.clone();
        move |tick| {
            let (diary, length) = (diary.clone(), length(&tick));
            Box::pin(async move {
                let run = diary.begin(process, &tick);
                diary.clock.sleep(length).await;
                diary.end(run);
            })
        }
    }
}

/// Runs `world` on virtual time of its own; what it leaves behind ends with it.
pub(crate) fn alone<T>(world: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(world)
}

/// Waits, within reason, until `is_so`.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(millis(10)).await;
    }
    panic!("it never came true");
}

//! Whole processes through the real driver, on virtual time, with faults.
//!
//! Each seed is one world: a few processes over one store, locks, services and
//! campaigns in them, machines that stand still, and a store that fails in every
//! way that [`FaultBackend`] knows. A failing seed is printed;
//! `TENURE_SIM_SEED=<seed> cargo test -p tenure --test engine simulation`
//! runs that one alone, and it takes the same course. `TENURE_SIM_SEEDS` sets
//! how many worlds there are.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::backend::Page;
use tenure::clock::{Clock, VirtualHost};
use tenure::lock::Fence;
use tenure::model::{ContenderId, ContenderIdGenerator, LeaseTerms, StoreTime};
use tenure::service::LocalContender;
use tenure::stores::memory::Memory;
use tenure::{CampaignEvent, Coordinator, Tenure};
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults, Rates};
use tenure_testkit::history::{Event, History, TenureId, What};
use tenure_testkit::judge::judge;

use crate::support::{millis, name, secs};

#[test]
fn five_hundred_worlds_through_the_real_driver() {
    let one = std::env::var("TENURE_SIM_SEED")
        .ok()
        .map(|seed| seed.parse().unwrap());
    let many = std::env::var("TENURE_SIM_SEEDS").map_or(500, |many| many.parse().unwrap());
    let seeds: Vec<u64> = one.map_or_else(|| (0..many).collect(), |seed| vec![seed]);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let tenures: u64 = std::thread::scope(|scope| {
        let seeds = &seeds;
        let shares: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    seeds
                        .iter()
                        .skip(worker)
                        .step_by(workers)
                        .map(|seed| run(*seed).0)
                        .sum::<u64>()
                })
            })
            .collect();
        shares.into_iter().map(|share| share.join().unwrap()).sum()
    });
    assert!(
        tenures > 10 * seeds.len() as u64,
        "only {tenures} tenures: nothing was proven"
    );
}

#[test]
fn a_world_takes_the_same_course_again() {
    for seed in [1, 7, 42] {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}

/// How many tenures there were, and the whole history as text.
fn run(seed: u64) -> (u64, String) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let local = tokio::task::LocalSet::new();
    let world = local.run_until(async move {
        let world = Rc::new(World::new(seed));
        tokio::time::timeout(secs(3600), world.clone().play())
            .await
            .unwrap_or_else(|_| panic!("seed {seed}: the world hangs"));
        let verdict = judge(&world.history);
        assert!(verdict.is_ok(), "seed {seed}: {verdict:#?}");
        (world.tenures.get(), world.history.to_text())
    });
    runtime.unwrap().block_on(world)
}

type Process = (Coordinator, Faults, Rates, VirtualHost);

/// Ids that are the same in every run.
#[derive(Debug)]
struct Ids {
    process: u64,
    next: AtomicU64,
}

impl ContenderIdGenerator for Ids {
    fn generate(&self) -> tenure::Result<ContenderId> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        ContenderId::new(format!("{number}:{}@sim", self.process))
    }
}

struct World {
    seed: u64,
    clock: Clock,
    store: Memory,
    terms: LeaseTerms,
    random: RefCell<fastrand::Rng>,
    fence: Fence,
    history: History,
    tenures: Cell<u64>,
    over: Cell<bool>,
}

impl World {
    fn new(seed: u64) -> Self {
        let clock = Clock::tokio();
        let random = RefCell::new(fastrand::Rng::with_seed(seed));
        let (ttl, transition) = [(600, 400), (900, 0), (300, 900)][random.borrow_mut().usize(..3)];
        Self {
            seed,
            store: Memory::at_epoch(clock.clone(), StoreTime::from_millis(1_700_000_000_000)),
            terms: LeaseTerms::new(millis(ttl), millis(transition)).unwrap(),
            random,
            fence: Fence::new(),
            history: History::new("world", clock.clone()),
            clock,
            tenures: Cell::new(0),
            over: Cell::new(false),
        }
    }

    fn below(&self, limit: u64) -> u64 {
        self.random.borrow_mut().u64(..limit)
    }

    async fn play(self: Rc<Self>) {
        let rates = [
            Rates::NONE,
            Rates::all(0.02),
            Rates::all(0.1),
            Rates::all(0.25),
        ];
        let mut processes = Vec::new();
        let mut tasks = Vec::new();
        for number in 0..2 + self.below(3) {
            let rates = rates[self.below(4) as usize].delays_up_to(millis(800));
            let seed = self.seed * 31 + number;
            let faults = Faults::seeded(self.clock.clone(), seed, rates);
            let store = FaultBackend::new(self.store.another_client(), &faults);
            let host = VirtualHost::new();
            let process = Coordinator::builder()
                .clock(host.clock())
                .terms(self.terms)
                .quiesce(secs(3))
                .ids(Ids {
                    process: number,
                    next: AtomicU64::new(0),
                })
                .deterministic(self.seed * 17 + number)
                .with_backend(store)
                .unwrap();
            for _ in 0..1 + self.below(2) {
                let (world, process) = (Rc::clone(&self), process.clone());
                tasks.push(match self.below(3) {
                    0 => tokio::task::spawn_local(world.lock_again_and_again(process)),
                    1 => tokio::task::spawn_local(world.serve_again_and_again(process)),
                    _ => tokio::task::spawn_local(world.campaign(process)),
                });
            }
            processes.push((process, faults, rates, host));
        }
        self.trouble(&processes).await;
        self.over.set(true);
        for (_, faults, ..) in &processes {
            faults.heal();
        }
        for task in tasks {
            task.await
                .unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        }
        self.expect_a_clean_end(&processes).await;
    }

    /// Cuts processes off from the store and joins them again; lets their
    /// machines stand still, and sets them right.
    async fn trouble(&self, processes: &[Process]) {
        let end = self.clock.now() + secs(15);
        while self.clock.now() < end {
            self.clock.sleep(millis(self.below(2_000))).await;
            let (_, faults, rates, host) = &processes[self.below(processes.len() as u64) as usize];
            if self.below(4) == 0 {
                let length = millis(self.below(3_000));
                host.rewind(length);
                host.set_wall_ahead(length);
            }
            if self.below(8) == 0 {
                host.set_wall_back(millis(self.below(10_000)));
            }
            let fault = [
                Fault::Hang,
                Fault::HangAfter,
                Fault::Fail,
                Fault::LoseAnswer,
            ][self.below(4) as usize];
            let all = [
                Call::Acquire,
                Call::Renew,
                Call::Release,
                Call::Leave,
                Call::Owner,
            ];
            for call in all.iter().filter(|_| self.below(4) > 0) {
                faults.always(*call, fault);
            }
            self.clock.sleep(millis(self.below(2_500))).await;
            faults.heal();
            faults.at_rates(*rates);
        }
    }

    async fn lock_again_and_again(self: Rc<Self>, process: Coordinator) {
        let lock = process.lock("m").unwrap();
        while !self.over.get() {
            let wait = millis(self.below(4_000));
            if let Ok(Some(guard)) = lock.acquire_within(wait).await {
                self.hold(guard.tenure(), millis(self.below(1_500))).await;
                if self.below(2) == 0 {
                    drop(guard);
                } else {
                    let _ = guard.release().await;
                }
            }
            self.clock.sleep(millis(self.below(300))).await;
        }
        // Whatever happened: now everybody gets it within a lease and a bit.
        let guard = lock.acquire_within(secs(60)).await;
        let guard = guard
            .unwrap()
            .unwrap_or_else(|| panic!("seed {}: starved", self.seed));
        guard.release().await.unwrap();
    }

    async fn serve_again_and_again(self: Rc<Self>, process: Coordinator) {
        let contender = LocalContender::new("m").unwrap();
        let id = format!("service-{}", self.below(1 << 40));
        let service = process
            .contend_service(contender.with_id(id).unwrap())
            .unwrap();
        while !self.over.get() {
            service.start().unwrap();
            let end = self.clock.now() + millis(self.below(5_000));
            while self.clock.now() < end {
                if let Some(tenure) = service.tenure() {
                    self.hold(&tenure, end.since(self.clock.now())).await;
                }
                self.clock.sleep(millis(5 + self.below(60))).await;
            }
            let _ = service.stop().await;
        }
    }

    async fn campaign(self: Rc<Self>, process: Coordinator) {
        let mut campaign = process.elector("m").unwrap().campaign().unwrap();
        while !self.over.get() {
            let next = self
                .clock
                .limit(self.clock.now() + millis(200), campaign.next())
                .await;
            if let Some(Some(CampaignEvent::Elected(office))) = next {
                self.hold(office.tenure(), millis(self.below(3_000))).await;
            }
        }
    }

    /// Writes under the tenure's token for as long as it is valid: no write
    /// of an owner may come after one with a larger token.
    async fn hold(&self, tenure: &Tenure, length: Duration) {
        let Ok(token) = tenure.token() else { return };
        self.tenures.set(self.tenures.get() + 1);
        let (begin, end) = (self.clock.now(), self.clock.now() + length);
        while self.clock.now() < end && tenure.token().is_ok() {
            let admitted = self.fence.admit(token);
            assert!(
                admitted.is_ok(),
                "seed {}: an owner meets {admitted:?}",
                self.seed
            );
            self.history.written("resource", token, true);
            let pause = millis(5 + self.below(60));
            tokio::select! {
                biased;
                _ = tenure.lost() => {}
                () = self.clock.sleep(pause) => {}
            }
        }
        // Recorded afterwards: from outside the deadline is not seen to move.
        let (at, deadline) = (
            self.history.time(begin),
            self.history.time(self.clock.now()),
        );
        let contender = tenure.contender().clone();
        let tenure = TenureId {
            name: name("m"),
            token,
            contender,
        };
        let what = What::Granted { tenure, deadline };
        self.history.push(Event {
            at,
            process: "world".into(),
            what,
        });
    }

    async fn expect_a_clean_end(&self, processes: &[Process]) {
        for (process, ..) in processes {
            process.close().await.unwrap();
        }
        self.clock.sleep(self.terms.lease() * 2).await;
        // What a lost release left behind has run out by now; no waiter is left.
        let left = self.store.list(&Page::first(5)).await.unwrap().entries;
        assert!(left.is_empty(), "seed {}: {left:?}", self.seed);
    }
}

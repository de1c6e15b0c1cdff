//! Stores that are broken in one point each, used by the same workers through the public API, on
//! virtual time: the judges find every flaw that a history can show, and nothing in a good store.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::Prune;
use tenure::clock::Clock;
use tenure::model::{ContenderId, ContenderIdGenerator, FencingToken, LeaseTerms};
use tenure::{Coordinator, Result};
use tenure_faults::judge::{self, Kind, Terms, Violation};
use tenure_faults::log::Log;
use tenure_faults::register::Registers;
use tenure_faults::second;
use tenure_faults::worker::{self, Habit, Orders, Store, Worker};
use tenure_testkit::broken::{Flaw, Flawed};
use tenure_testkit::contract::Subject as _;
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults, Rates};
use tenure_testkit::history::What;
use tokio::task::{JoinHandle, LocalSet};

const LEASE: Duration = Duration::from_millis(1_500);
const WORKERS: usize = 3;

/// For how long things go wrong, and how long it may take afterwards until all goes on.
const LENGTH: Duration = Duration::from_secs(40);
const RECOVERY: Duration = Duration::from_secs(60);

/// Every kind of call that a worker that is cut off cannot make.
const CALLS: [Call; 8] = [
    Call::Acquire,
    Call::Renew,
    Call::Release,
    Call::Leave,
    Call::Owner,
    Call::ReadLedger,
    Call::ClaimTick,
    Call::FinishTick,
];

/// All contenders have the same id, which is allowed: nonces and tokens tell them apart.
#[derive(Debug)]
struct Same;

impl ContenderIdGenerator for Same {
    fn generate(&self) -> Result<ContenderId> {
        ContenderId::new("same")
    }
}

/// One worker.
struct Member {
    faults: Faults,
    tasks: Vec<JoinHandle<()>>,
}

struct World {
    store: Flawed,
    clock: Clock,
    log: Arc<Log>,
    registers: Arc<Registers>,
    operator: Coordinator,
    chance: fastrand::Rng,
    has_one_id: bool,
    lives: u64,
}

impl World {
    async fn new(flaw: Flaw, seed: u64) -> Self {
        let store = Flawed::new(flaw);
        let clock = store.clock();
        let log = Arc::new(Log::new(clock.clone()));
        let operator = Coordinator::builder().clock(clock.clone()).terms(terms());
        let operator = operator.with_backend(store.client().await.unwrap());
        Self {
            registers: Registers::new(&log),
            operator: operator.unwrap(),
            chance: fastrand::Rng::with_seed(seed),
            has_one_id: seed % 2 == 1,
            lives: 0,
            store,
            clock,
            log,
        }
    }

    fn rates(&self) -> Rates {
        Rates::all(0.02).delays_up_to(LEASE / 3)
    }

    async fn begin(&mut self, at: usize) -> Member {
        let seed = self.chance.u64(..);
        let faults = Faults::seeded(self.clock.clone(), seed, self.rates());
        let backend = FaultBackend::new(self.store.client().await.unwrap(), &faults);
        let mut builder = Coordinator::builder().clock(self.clock.clone());
        builder = builder.terms(terms()).deterministic(seed);
        if self.has_one_id {
            builder = builder.ids(Same);
        }
        let coordinator = builder.with_backend(backend).unwrap();
        self.lives += 1;
        let orders = Orders {
            process: format!("w{at}.{}", self.lives),
            store: Store::Url(String::new()),
            register: "nowhere".into(),
            lease: LEASE,
            sets_clock: false,
            ahead: Duration::ZERO,
            seed,
            habit: Habit::Usual,
        };
        let worker = Worker::here(orders, self.clock.clone(), &self.log, &self.registers);
        Member {
            faults,
            tasks: worker::begin(&Rc::clone(&worker), &coordinator),
        }
    }

    async fn wait(&mut self, from: f64, to: f64) {
        let leases = from + (to - from) * self.chance.f64();
        tokio::time::sleep(LEASE.mul_f64(leases)).await;
    }

    fn name(&mut self) -> &'static str {
        ["lock", "lead", "again", "plan"][self.chance.usize(..4)]
    }

    /// Something goes wrong, or an operator does something.
    async fn happen(&mut self, members: &mut [Member]) {
        let at = self.chance.usize(..members.len());
        match self.chance.u8(0..8) {
            0 | 1 => {
                cut_off(&members[at]);
                self.wait(0.3, 3.0).await;
                members[at].faults.heal();
                members[at].faults.at_rates(self.rates());
            }
            2 => {
                members[at].faults.always(Call::Renew, Fault::HangAfter);
                self.wait(0.3, 2.0).await;
                members[at].faults.heal();
                members[at].faults.at_rates(self.rates());
            }
            3 => {
                kill(&mut members[at]);
                self.wait(0.1, 1.5).await;
                members[at] = self.begin(at).await;
            }
            4 => {
                members.iter_mut().for_each(kill);
                self.wait(1.2, 3.0).await;
                self.operator.prune(&prune()).await.unwrap();
                for (at, member) in members.iter_mut().enumerate() {
                    *member = self.begin(at).await;
                }
            }
            5 => {
                let since = self.log.now();
                let name = self.name();
                self.operator.revoke(name, None).await.unwrap();
                self.log.note("operator", What::Forgot { since });
            }
            6 => {
                // Of a grant that is long over: nothing happens.
                let name = self.name();
                let token = FencingToken::from_store(1).unwrap();
                self.operator.revoke(name, Some(token)).await.unwrap();
            }
            _ => drop(self.operator.prune(&prune()).await.unwrap()),
        }
    }
}

fn terms() -> LeaseTerms {
    LeaseTerms::new(Duration::from_millis(500), Duration::from_secs(1)).unwrap()
}

fn prune() -> Prune {
    Prune::unused_for(Duration::from_millis(1))
}

fn cut_off(member: &Member) {
    for call in CALLS {
        member.faults.always(call, Fault::Fail);
    }
}

/// Nothing that it still has in hand reaches the store.
fn kill(member: &mut Member) {
    cut_off(member);
    member.tasks.drain(..).for_each(|task| task.abort());
}

async fn world(flaw: Flaw, seed: u64) -> Vec<Violation> {
    let mut world = World::new(flaw, seed).await;
    let mut members = Vec::new();
    for at in 0..WORKERS {
        members.push(world.begin(at).await);
    }
    while world.log.now() < LENGTH {
        world.wait(0.1, 1.0).await;
        world.happen(&mut members).await;
    }
    members.iter().for_each(|member| member.faults.heal());
    let names = Store::Url(String::new()).names();
    let moment = world.log.now();
    let still = || {
        world
            .log
            .progress(|progress| progress.still(names, 2, moment))
    };
    while !still().is_empty() && world.log.now() < moment + RECOVERY {
        tokio::time::sleep(LEASE / 10).await;
    }
    let still = still();
    members.iter_mut().for_each(kill);
    let terms = Terms {
        lease: LEASE,
        belief: terms().lease() - terms().margin(),
        returns: false,
    };
    let events = world.log.events();
    let mut violations = judge::judge(&events, terms).violations;
    violations.extend(second::judge(&events, terms));
    violations.extend(still.iter().map(|name| Violation {
        kind: Kind::Stuck,
        message: format!("{name:?} did not go on"),
        name: (*name).to_owned(),
        span: (moment, moment + RECOVERY),
    }));
    violations
}

fn run(flaw: Flaw, seed: u64) -> Vec<Violation> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, world(flaw, seed))
}

/// What shows in a history, and as what.
const SHOWN: [(Flaw, Kind); 11] = [
    (Flaw::TwoWinners, Kind::TwoOwners),
    (Flaw::ForgetsNonce, Kind::TwoOwners),
    (Flaw::RenewById, Kind::TwoOwners),
    (Flaw::ReleaseAny, Kind::TwoOwners),
    (Flaw::LeaveById, Kind::TwoOwners),
    (Flaw::SameToken, Kind::TokenFell),
    (Flaw::Overtaking, Kind::TwoOwners),
    (Flaw::RevokeAny, Kind::TwoOwners),
    (Flaw::ClaimAlways, Kind::RanTwice),
    (Flaw::PruneResets, Kind::TokenFell),
    (Flaw::PruneTakesOwned, Kind::TwoOwners),
];

/// What does not, and why.
const HIDDEN: [(Flaw, &str); 31] = [
    (Flaw::AcquireRenews, TWINS),
    (Flaw::AdoptsById, TWINS),
    (
        Flaw::HiddenOwner,
        "a history does not tell what waiters see of the owner",
    ),
    (
        Flaw::AskingLengthens,
        "its owner believes what it was told; others wait for longer",
    ),
    (Flaw::ShortLease, BELIEVES_LESS),
    (
        Flaw::LongLease,
        "others wait for longer, and not for a minute",
    ),
    (Flaw::RenewTakes, "nobody renews after its own deadline"),
    (
        Flaw::NoTransition,
        "owners lose what they could keep: a loss is no violation",
    ),
    (Flaw::OpenTransition, BELIEVES_LESS),
    (Flaw::IdleRenewal, BELIEVES_LESS),
    (
        Flaw::BatchReversed,
        "an answer with another token than the grant's is no renewal",
    ),
    (Flaw::BatchCut, "no worker holds 200 mutexes"),
    (
        Flaw::ReleaseAlwaysWon,
        "who releases does not own, whatever the answer",
    ),
    (
        Flaw::IdleLeave,
        "what was left behind runs out with its lease",
    ),
    (
        Flaw::MovingToken,
        "a renewal with another token is a loss, and a loss is no violation",
    ),
    (
        Flaw::Silent,
        "everybody looks now and then without being told",
    ),
    (Flaw::Storm, "looking often costs time, and nothing else"),
    (
        Flaw::CaseBlind,
        "two names that are one are owned by one at a time, too",
    ),
    (
        Flaw::NamesCut,
        "two names that are one are owned by one at a time, too",
    ),
    (Flaw::NoQueue, ORDER),
    (Flaw::ForgetsScore, ORDER),
    (
        Flaw::ClaimAny,
        "who has lost its office runs nothing, whatever it may claim",
    ),
    (
        Flaw::PlanClaims,
        "a first tick that is left out may have been too late",
    ),
    (
        Flaw::FinishAlways,
        "a history does not tell what the ledger says of an end",
    ),
    (
        Flaw::ForgetsBeginnings,
        "a history does not tell when a ledger says a tick was begun",
    ),
    (Flaw::LedgersReversed, LISTS),
    (Flaw::ListReversed, LISTS),
    (Flaw::ListsFree, LISTS),
    (Flaw::ListsOthers, LISTS),
    (
        Flaw::PruneTakesLedgers,
        "a ledger whose mutex has a contender is in use",
    ),
    (Flaw::IdleClose, "no worker uses what it has closed"),
];

const TWINS: &str = "it takes two contenders with one id, and those own again and again in no time";
const BELIEVES_LESS: &str = "an owner believes in no more of a lease than the answer says is left";
const ORDER: &str = "who owns first is no matter of safety";
const LISTS: &str = "no worker reads lists";

#[test]
fn a_good_store_shows_nothing() {
    for seed in 0..6 {
        let violations = run(Flaw::None, seed);
        assert!(violations.is_empty(), "seed {seed}: {}", violations[0]);
    }
}

#[test]
fn a_flaw_that_a_history_can_show_is_found() {
    for (flaw, kind) in SHOWN {
        // Only twins show it: every other seed has them.
        let twins = u64::from(flaw == Flaw::RenewById);
        let is_found = |seed| run(flaw, seed).iter().any(|it| it.kind == kind);
        let found = (0..30)
            .map(|turn| turn * 2 + twins)
            .find(|seed| is_found(*seed));
        assert!(found.is_some(), "{flaw:?} was not found as {kind:?}");
    }
}

#[test]
fn a_flaw_that_no_history_shows_is_safe() {
    // A hint every millisecond takes minutes.
    for (flaw, why) in HIDDEN.iter().filter(|(flaw, _)| *flaw != Flaw::Storm) {
        let violations = run(*flaw, 2);
        assert!(violations.is_empty(), "{flaw:?}: {}; {why}", violations[0]);
    }
}

#[test]
fn every_flaw_is_either_shown_or_hidden() {
    let shown = SHOWN.iter().map(|(flaw, _)| *flaw);
    let mut all: Vec<_> = shown.chain(HIDDEN.iter().map(|(flaw, _)| *flaw)).collect();
    let place = |flaw: &Flaw| Flaw::ALL.iter().position(|other| other == flaw);
    all.sort_by_key(place);
    assert_eq!(all, Flaw::ALL);
}

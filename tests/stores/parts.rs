//! A store that owns and has no other part: it keeps the contract of what it
//! has, locks and schedules work, and a caller that asks for more is told.

use std::time::Duration;

use tenure::backend::{
    Answer, AnyBackend, Backend, Bid, Held, Hints, Interest, Page, Profile, Prune,
};
use tenure::clock::Clock;
use tenure::model::{LeaseTerms, MutexName};
use tenure::schedule::ScheduleConfig;
use tenure::stores::memory::Memory;
use tenure::{Coordinator, ErrorKind, Outcome, Result};
use tenure_testkit::contract::{self, Part, Subject};

/// As little as a store can be.
#[derive(Debug)]
struct Owning(Memory);

impl Backend for Owning {
    fn profile(&self) -> Profile {
        self.0.profile()
    }
    async fn acquire(&self, bid: &Bid) -> Result<Answer> {
        self.0.acquire(bid).await
    }
    async fn renew(&self, held: &[Held]) -> Vec<Result<Answer>> {
        self.0.renew(held).await
    }
    async fn release(&self, held: &Held) -> Result<Answer> {
        self.0.release(held).await
    }
    async fn leave(&self, bid: &Bid) -> Result<()> {
        self.0.leave(bid).await
    }
    async fn owner(&self, name: &MutexName) -> Result<Answer> {
        self.0.owner(name).await
    }
    fn changes(&self, interest: &Interest) -> Hints {
        self.0.changes(interest)
    }
    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}

struct Subjects {
    store: Memory,
    clock: Clock,
    lacks: &'static [Part],
}

impl Subjects {
    fn lacking(lacks: &'static [Part]) -> Self {
        let clock = Clock::tokio();
        let store = Memory::with_clock(clock.clone());
        Self {
            store,
            clock,
            lacks,
        }
    }
}

impl Subject for Subjects {
    type Backend = AnyBackend;

    async fn client(&self) -> Result<AnyBackend> {
        Ok(AnyBackend::new(Owning(self.store.another_client())))
    }

    fn lacks(&self) -> &[Part] {
        self.lacks
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

const ALL: &[Part] = &[Part::Ledger, Part::Inventory, Part::Administration];

mod sentences {
    use super::{ALL, Subjects};

    tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] Subjects::lacking(ALL) }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "Administration is missing")]
async fn a_part_that_was_not_passed_on_fails_the_suite() {
    let subject = Subjects::lacking(&[Part::Ledger, Part::Inventory]);
    contract::health::the_check_of_a_healthy_store_finds_nothing_bad(&subject).await;
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_what_a_store_has_not_is_told() {
    let owning = Owning(Memory::with_clock(Clock::tokio()));
    let builder = Coordinator::builder().clock(Clock::tokio());
    let coordinator = builder.with_backend(owning).unwrap();
    assert!(!coordinator.has_ledger() && !coordinator.has_inventory());
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let page = Page::first(10);
    let prune = Prune::unused_for(Duration::from_secs(1));
    for (asked, error, says) in [
        ("list", coordinator.list(&page).await.err(), "other data"),
        ("prune", coordinator.prune(&prune).await.err(), "other data"),
        (
            "schedules",
            coordinator.schedules(&page).await.err(),
            "keeps no ledger",
        ),
        (
            "once_per",
            guard.once_per(Duration::from_secs(60)).await.err(),
            "keeps no ledger",
        ),
        (
            "revoke",
            coordinator.revoke("m", None).await.err(),
            "no administration",
        ),
        (
            "check",
            coordinator.check().await.err(),
            "no administration",
        ),
    ] {
        let error = error.unwrap_or_else(|| panic!("{asked} succeeded"));
        assert_eq!(error.kind(), ErrorKind::Invalid, "{asked}: {error}");
        assert_eq!(error.outcome(), Outcome::DidNot, "{asked}: {error}");
        let told = error.to_string();
        assert!(told.contains(says), "{asked}: {told}");
        assert!(told.contains("\"memory\""), "which store: {told}");
    }
    guard.release().await.unwrap();
    coordinator.close().await.unwrap();
    let closed = coordinator.list(&page).await.unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed, "{closed}");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_runs_without_a_ledger() {
    let owning = Owning(Memory::with_clock(Clock::tokio()));
    let builder = Coordinator::builder().clock(Clock::tokio());
    let builder = builder.terms(LeaseTerms::default());
    let coordinator = builder.with_backend(owning).unwrap();
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_secs(1)).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let scheduler = coordinator.scheduler("s", config).unwrap();
    let handle = scheduler
        .start(move |tick| {
            tell.send(tick.number()).ok();
            async {}
        })
        .unwrap();
    assert_eq!(told.recv().await, Some(0));
    assert_eq!(told.recv().await, Some(1));
    handle.stop().await.unwrap();
    coordinator.close().await.unwrap();
}

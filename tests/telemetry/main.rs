//! What people see of a running program: its events and its spans.
//!
//! A binary of its own: whether an event is of interest is remembered for the
//! whole process, and threads of other tests would have their say in it.

mod counted;
mod log;
mod recorder;
mod status;

use std::time::Duration;

use tenure::clock::Clock;
use tenure::model::LeaseTerms;
use tenure::schedule::ScheduleConfig;
use tenure::stores::memory::Memory;
use tenure::{CampaignEvent, Coordinator};
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};
use tracing::{Instrument, Level};

use log::Log;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Coordinators over one store, on virtual time.
struct FaultyStore {
    clock: Clock,
    store: Memory,
    faults: Faults,
}

impl FaultyStore {
    fn new() -> Self {
        let clock = Clock::tokio();
        Self {
            store: Memory::with_clock(clock.clone()),
            faults: Faults::new(clock.clone()),
            clock,
        }
    }

    fn coordinator(&self) -> Coordinator {
        let backend = FaultBackend::new(self.store.clone(), &self.faults);
        let builder = Coordinator::builder().clock(self.clock.clone());
        let terms = LeaseTerms::new(seconds(10), seconds(6)).unwrap();
        builder.terms(terms).with_backend(backend).unwrap()
    }

    /// Nothing reaches the store.
    fn cut(&self) {
        for call in [Call::Acquire, Call::Renew, Call::Release, Call::Leave] {
            self.faults.always(call, Fault::Fail);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_in_office_is_a_few_lines_at_info() {
    let (log, _guard) = Log::begin();
    let stage = FaultyStore::new();
    let (first, second) = (stage.coordinator(), stage.coordinator());
    let mut campaign = first.elector("billing").unwrap().campaign().unwrap();
    let office = loop {
        if let Some(CampaignEvent::Elected(office)) = campaign.next().await {
            break office;
        }
    };
    let token = office.tenure().token().unwrap();
    let waiter = second.elector("billing").unwrap().campaign().unwrap();
    tokio::time::sleep(seconds(3600)).await;
    office.resign().await.unwrap();
    drop((campaign, waiter));
    first.close().await.unwrap();
    second.close().await.unwrap();

    let lines = log.lines(Level::INFO);
    assert!(lines.len() <= 8, "{lines:#?}");
    let told = log.messages(Level::INFO, "tenure::life");
    assert_eq!(told[..3], ["elected", "waiting", "resigned"], "{lines:#?}");
    for field in [
        "purpose=\"leader\"".to_owned(),
        "mutex=billing".to_owned(),
        "contender=".to_owned(),
        "store=\"memory\"".to_owned(),
        format!("token={token}"),
    ] {
        assert!(lines[0].fields.contains(&field), "{field}: {:?}", lines[0]);
    }
    assert!(
        lines[2].fields.contains("outcome=\"confirmed\""),
        "{:?}",
        lines[2]
    );
    assert!(lines[2].fields.contains("held=3600"), "{:?}", lines[2]);
    // Every renewal is there for those who look closer.
    let traced = log.messages(Level::TRACE, "tenure::life");
    let extended = traced
        .iter()
        .filter(|message| *message == "extended")
        .count();
    assert!(extended > 300, "{extended} times");
}

#[tokio::test(start_paused = true)]
async fn a_loss_is_a_warning_with_its_cause() {
    let (log, _guard) = Log::begin();
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let guard = coordinator.lock("report").unwrap().acquire().await.unwrap();
    stage.cut();
    guard.tenure().lost().await;
    tokio::time::sleep(seconds(1)).await;
    let warnings = log.lines(Level::WARN);
    let lost: Vec<_> = warnings
        .iter()
        .filter(|line| line.message == "lost")
        .collect();
    assert_eq!(lost.len(), 1, "{warnings:#?}");
    assert!(
        lost[0].fields.contains("cause=\"deadline\""),
        "{:?}",
        lost[0]
    );
    assert!(lost[0].fields.contains("mutex=report"), "{:?}", lost[0]);
}

#[tokio::test(start_paused = true)]
async fn locks_are_quiet_at_info_and_whole_at_debug() {
    let (log, _guard) = Log::begin();
    let coordinator = FaultyStore::new().coordinator();
    let lock = coordinator.lock("report").unwrap();
    let guard = lock.acquire().await.unwrap();
    let next = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap().release().await }
    });
    tokio::task::yield_now().await;
    drop(guard);
    next.await.unwrap().unwrap();
    assert!(
        log.lines(Level::INFO).is_empty(),
        "{:#?}",
        log.lines(Level::INFO)
    );
    let told = log.messages(Level::DEBUG, "tenure::life");
    assert_eq!(told, ["acquired", "handed on", "released"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_told_in_two_lines() {
    let (log, _guard) = Log::begin();
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let mut leaders = tokio::task::JoinSet::new();
    for number in 0..100 {
        let elector = coordinator.elector(format!("office-{number}")).unwrap();
        leaders.spawn(async move { elector.lead(|_| std::future::pending::<()>()).await });
    }
    tokio::time::sleep(seconds(1)).await;
    stage.cut();
    tokio::time::sleep(seconds(60)).await;
    stage.faults.heal();
    tokio::time::sleep(seconds(120)).await;
    let told = log.messages(Level::INFO, "tenure::store");
    assert_eq!(told, ["the store is in trouble", "the store is well again"]);
    leaders.abort_all();
}

#[tokio::test(start_paused = true)]
async fn waiting_and_holding_are_spans_below_the_callers() {
    let (log, _guard) = Log::begin();
    let stage = FaultyStore::new();
    let (first, second) = (stage.coordinator(), stage.coordinator());
    let guard = first.lock("report").unwrap().acquire().await.unwrap();
    let request = tracing::info_span!("request");
    let waiting = tokio::spawn({
        let lock = second.lock("report").unwrap();
        async move { lock.acquire().await.unwrap() }.instrument(request)
    });
    tokio::time::sleep(seconds(1)).await;
    guard.release().await.unwrap();
    let guard = waiting.await.unwrap();
    assert_eq!(log.spans("holding").len(), 2);
    guard.release().await.unwrap();

    let (waited, held) = (log.spans("waiting"), log.spans("holding"));
    for span in waited.iter().chain(&held) {
        assert!(span.is_over, "{span:?}");
    }
    assert_eq!(waited[1].parent.as_deref(), Some("request"));
    assert!(waited[1].fields.contains("outcome=\"won\""), "{waited:?}");
    assert_eq!(held[1].parent.as_deref(), Some("request"));
    assert!(held[1].fields.contains("outcome=\"confirmed\""), "{held:?}");
    assert!(held[1].fields.contains("token="), "{held:?}");
    // The calls to the store are below what they are for.
    let calls = log.spans("acquire");
    assert!(
        calls
            .iter()
            .all(|span| span.parent.as_deref() == Some("waiting")),
        "{calls:?}"
    );
    let calls = log.spans("release");
    assert!(
        calls
            .iter()
            .all(|span| span.parent.as_deref() == Some("holding")),
        "{calls:?}"
    );
}

/// A request that begins a campaign ends, and is exported, long before it.
#[tokio::test(start_paused = true)]
async fn an_office_does_not_keep_the_callers_span_open() {
    let (log, _guard) = Log::begin();
    let coordinator = FaultyStore::new().coordinator();
    let request = tracing::info_span!("request");
    let mut campaign = request.in_scope(|| {
        let elector = coordinator.elector("billing").unwrap();
        elector.campaign().unwrap()
    });
    drop(request);
    let office = loop {
        if let Some(CampaignEvent::Elected(office)) = campaign.next().await {
            break office;
        }
    };
    assert!(
        log.spans("request")[0].is_over,
        "{:?}",
        log.spans("request")
    );
    office.resign().await.unwrap();
    drop(campaign);
    coordinator.close().await.unwrap();
    for name in ["waiting", "holding"] {
        for span in log.spans(name) {
            assert_eq!(span.parent, None, "{span:?}");
            assert!(span.is_over, "{span:?}");
        }
    }
    // Then it stands again, until the campaign is dropped.
    let follows = log.follows();
    assert_eq!(
        follows[..2],
        ["waiting from request", "holding from waiting"]
    );
    assert!(!follows[2..].contains(&follows[0]), "{follows:?}");
}

/// What a store's URL may hold, and what a server may answer with.
#[tokio::test]
async fn no_secret_is_told() {
    let (log, _guard) = Log::begin();
    let mut tries = tokio::task::JoinSet::new();
    for url in [
        "redis://user:HIDDEN-1@127.0.0.1:1/?ttl=10s&connect_timeout=50ms",
        "mysql://user:HIDDEN-2@127.0.0.1:1/db",
        "postgres://user:HIDDEN-3@127.0.0.1:1/db",
        "zookeeper://user:HIDDEN-4@127.0.0.1:1/",
        "sqlite:/nowhere/HIDDEN-5?password=HIDDEN-6",
        "redis://:HIDDEN-7@[::1]:1",
    ] {
        let lazy = match Coordinator::connect_lazy(url) {
            Ok(lazy) => lazy,
            Err(error) => {
                tracing::warn!("{error} {error:?}");
                continue;
            }
        };
        tries.spawn(async move {
            let _ = tokio::time::timeout(seconds(2), lazy.get()).await;
            if let Some(error) = lazy.trouble() {
                tracing::warn!("{error} {error:?}");
            }
        });
    }
    tries.join_all().await;
    let told = log.lines(Level::TRACE);
    // Whatever drivers tell is told by them.
    let is_ours = |target: &str| {
        ["tenure", "telemetry"]
            .iter()
            .any(|it| target.starts_with(it))
    };
    let told: Vec<_> = told.iter().filter(|line| is_ours(&line.target)).collect();
    assert!(told.len() > 4, "{told:#?}");
    for line in &told {
        let text = format!("{line:?}");
        // A path is no secret.
        let text = text.replace("/nowhere/HIDDEN-5", "");
        assert!(!text.contains("HIDDEN"), "{text}");
    }
    for span in log.all_spans() {
        assert!(!format!("{span:?}").contains("HIDDEN"), "{span:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_with_its_outcome_and_whether_it_is_late() {
    let (log, _guard) = Log::begin();
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let config = ScheduleConfig::rate(Duration::ZERO, seconds(100)).unwrap();
    let scheduler = coordinator.scheduler("tidy", config).unwrap();
    let handle = scheduler.start(|_| async {}).unwrap();
    while handle.status().runs < 2 {
        tokio::time::sleep(seconds(1)).await;
    }
    handle.stop().await.unwrap();
    tokio::time::sleep(seconds(160)).await;
    let handle = scheduler.start(|_| async {}).unwrap();
    while handle.status().runs < 3 {
        tokio::time::sleep(seconds(1)).await;
    }
    handle.stop().await.unwrap();
    let told = log.messages(Level::DEBUG, "tenure::schedule");
    let count = |words: &str| told.iter().filter(|message| *message == words).count();
    assert_eq!(count("a run begins"), 3, "{told:#?}");
    assert_eq!(count("a run has ended"), 3, "{told:#?}");
    assert_eq!(count("a run begins late"), 1, "{told:#?}");
}

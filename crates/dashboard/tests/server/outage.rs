//! A store that fails, and is well again.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Bid};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::schedule::ScheduleConfig;
use tenure::stores::memory::Memory;
use tenure_dashboard::site::DashboardOptions;
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};

use crate::support::Server;

async fn faulty(count: usize) -> (Server, Faults) {
    let store = Memory::new();
    for number in 0..count {
        let name = MutexName::new(format!("m{number:05}")).unwrap();
        let id = ContenderId::new("a").unwrap();
        let bid = Bid::new(name, id, LeaseTerms::default());
        assert!(store.acquire(&bid).await.unwrap().is_won());
    }
    let faults = Faults::new(Clock::boot());
    let backend = FaultBackend::new(store, &faults);
    let coordinator = Coordinator::with_backend(backend, LeaseTerms::default()).unwrap();
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    (server, faults)
}

#[tokio::test]
async fn what_was_last_seen_stays_with_its_age() {
    let (server, faults) = faulty(3).await;
    let mut events = server.events("/api/v1/events").await;
    assert_eq!(events.named("mutexes").await["total"], 3);
    for call in [Call::List, Call::Owner] {
        faults.always(call, Fault::Fail);
    }
    let store = server
        .until("/api/v1/store", |store| store["reachable"] == false)
        .await;
    assert!(
        store["error"].is_string() && store["last_look"].is_string(),
        "{store}"
    );
    let heard = loop {
        let heard = events.named("store").await;
        if heard["reachable"] == false {
            break heard;
        }
    };
    assert_eq!(heard["mutexes"], 3);
    assert_eq!(server.get("/readyz").await.status, 503);
    assert_eq!(server.get("/healthz").await.status, 200);
    let told = server
        .until("/api/v1/mutexes", |told| {
            told["age_ms"].as_u64() > Some(1_200)
        })
        .await;
    assert_eq!(told["total"], 3);
    faults.heal();
    let told = server
        .until("/api/v1/store", |store| store["reachable"] == true)
        .await;
    assert!(told["error"].is_null() && told["age_ms"].as_u64() < Some(45_000));
    while events.named("store").await["reachable"] == false {}
    assert_eq!(server.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn a_store_that_never_told_anything_is_a_503() {
    let (server, faults) = faulty(0).await;
    faults.always(Call::Owner, Fault::Fail);
    let server = Server::of(server.coordinator.clone(), DashboardOptions::default()).await;
    let reply = server.get("/api/v1/mutexes").await;
    assert_eq!(reply.status, 503, "{reply:?}");
    assert_eq!(server.get("/api/v1/mutexes/m").await.status, 503);
    let mut events = server.events("/api/v1/events").await;
    assert_eq!(events.named("store").await["reachable"], false);
    assert_eq!(events.named("mutexes").await["total"], 0);
}

#[tokio::test]
async fn a_part_is_shown_as_a_part_and_takes_no_owner_away() {
    let (server, faults) = faulty(1_500).await;
    let whole = server
        .until("/api/v1/mutexes", |told| told["total"] == 1_500)
        .await;
    assert!(whole["cut"].is_null());
    // The second of two pages fails, again and again.
    for _ in 0..1_000 {
        faults.next(Call::List, Fault::None);
        faults.next(Call::List, Fault::Fail);
    }
    let part = server
        .until("/api/v1/mutexes", |told| told["cut"].is_string())
        .await;
    assert_eq!(part["total"], 1_500, "those of the other page stay");
    let path = "/api/v1/mutexes/m01400";
    let last = server.json(path).await;
    assert!(last["history"][0]["ended"].is_null(), "{last}");
    faults.heal();
    server
        .until("/api/v1/mutexes", |told| told["cut"].is_null())
        .await;
}

#[tokio::test]
async fn a_schedule_that_cannot_be_asked_about_stays_as_it_was_seen() {
    let (server, faults) = faulty(1).await;
    let every = ScheduleConfig::rate(Duration::ZERO, Duration::from_millis(500)).unwrap();
    let scheduler = server.coordinator.scheduler("tidy", every).unwrap();
    let handle = scheduler.start(|_| async {}).unwrap();
    let has_runs = |row: &serde_json::Value| row["runs"].as_array().map_or(0, Vec::len) >= 2;
    server.row("tidy", has_runs).await;
    handle.stop().await.unwrap();
    let before = server.row("tidy", |row| row["late_ms"].is_u64()).await;
    faults.always(Call::ListLedgers, Fault::Fail);
    let is_unknown = |store: &serde_json::Value| store["unknown"].as_array().map_or(0, Vec::len);
    let store = server
        .until("/api/v1/store", |store| is_unknown(store) == 1)
        .await;
    assert_eq!(store["reachable"], true, "all mutexes are told: {store}");
    let why = store["unknown"][0].as_str().unwrap();
    assert!(why.starts_with("schedules: "), "{why}");
    // A look that began after the failure.
    let looked = store["last_look"].clone();
    server
        .until("/api/v1/store", |store| store["last_look"] != looked)
        .await;
    let row = server.row("tidy", |_| true).await;
    assert_eq!(
        (&row["kind"], &row["runs"]),
        (&before["kind"], &before["runs"])
    );
    faults.heal();
    server
        .until("/api/v1/store", |store| is_unknown(store) == 0)
        .await;
    assert_eq!(server.row("tidy", |_| true).await["runs"], before["runs"]);
}

//! Many mutexes, and how often the store is asked about them.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::{Backend, Bid};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure_dashboard::site::DashboardOptions;
use tenure_testkit::fault::{Call, FaultBackend, Faults};

use crate::support::{PATIENCE, Server};

const COUNT: u64 = 30_000;

async fn filled(count: u64) -> Memory {
    let store = Memory::new();
    let terms = LeaseTerms::new(Duration::from_secs(600), Duration::from_secs(60)).unwrap();
    for number in 0..count {
        let name = MutexName::new(format!("job-{number:05}")).unwrap();
        let id = ContenderId::new(format!("host-{}", number % 7)).unwrap();
        assert!(
            store
                .acquire(&Bid::new(name, id, terms))
                .await
                .unwrap()
                .is_won()
        );
    }
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_thousand_are_paged_sorted_and_found() {
    let store = filled(COUNT).await;
    let coordinator = Coordinator::with_backend(store, LeaseTerms::default()).unwrap();
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    // A busy machine needs its time for so many.
    let end = Instant::now() + PATIENCE * 4;
    loop {
        let told = server.json("/api/v1/mutexes?limit=1").await;
        if told["total"] == COUNT && told["cut"].is_null() {
            break;
        }
        assert!(Instant::now() < end, "never: all of them: {told}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let told = server.json("/api/v1/mutexes?limit=1000").await;
    assert_eq!(told["mutexes"].as_array().unwrap().len(), 1_000);
    let more = server
        .json("/api/v1/mutexes?limit=99999&offset=29500")
        .await;
    assert_eq!(more["mutexes"].as_array().unwrap().len(), 500);
    assert_eq!(more["mutexes"][499]["name"], "job-29999");
    let found = server
        .json("/api/v1/mutexes?search=JOB-1234&order=desc")
        .await;
    assert_eq!(
        (&found["matched"], &found["mutexes"][0]["name"]),
        (&10.into(), &"job-12349".into())
    );
    let by_owner = server
        .json("/api/v1/mutexes?sort=owner&search=host-3")
        .await;
    assert_eq!(by_owner["matched"].as_u64(), Some(COUNT.div_ceil(7)));
    let mut events = server.events("/api/v1/events").await;
    let changes = events.named("mutexes").await;
    assert_eq!(
        (&changes["too_many"], &changes["total"]),
        (&true.into(), &COUNT.into())
    );
}

#[tokio::test]
async fn the_store_is_asked_twice_a_second_for_any_number_of_pages_and_seldom_for_none() {
    let faults = Faults::new(Clock::boot());
    let backend = FaultBackend::new(filled(10).await, &faults);
    let coordinator = Coordinator::with_backend(backend, LeaseTerms::default()).unwrap();
    let server = Server::of(coordinator, DashboardOptions::default()).await;
    server.json("/api/v1/store").await;
    let mut pages = Vec::new();
    for _ in 0..10 {
        pages.push(server.events("/api/v1/events").await);
    }
    for page in &mut pages {
        page.named("mutexes").await;
    }
    let looks = async |length: Duration| {
        let (start, before) = (Instant::now(), faults.calls(Call::Owner));
        tokio::time::sleep(length).await;
        let calls = faults.calls(Call::Owner) - before;
        (calls, start.elapsed().as_secs_f64())
    };
    let (calls, seconds) = looks(Duration::from_secs(4)).await;
    assert!(
        calls >= 1 && calls as f64 <= seconds * 2.0 + 2.0,
        "{calls} in {seconds}"
    );
    // Nothing else is asked for each of them.
    let lists = faults.calls(Call::List);
    assert!(lists <= 3 * faults.calls(Call::Owner) + 3, "{lists}");
    drop(pages);
    // That the last pages are gone is known by writing to them; then it is seldom.
    let end = Instant::now() + PATIENCE;
    loop {
        let (calls, seconds) = looks(Duration::from_secs(4)).await;
        if (calls as f64) <= seconds / 2.0 {
            break;
        }
        assert!(Instant::now() < end, "{calls} in {seconds}");
    }
}

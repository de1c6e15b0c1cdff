//! What only the memory store has.

use std::time::{Duration, SystemTime};

use tenure::backend::{AnyBackend, Backend, Bid, Interest, Page};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::{self, memory::Memory};
use tenure::{ErrorKind, Result};
use tenure_testkit::Whole as _;

fn bid(name: &str, id: &str) -> Bid {
    let (name, id) = (MutexName::new(name).unwrap(), ContenderId::new(id).unwrap());
    Bid::new(name, id, LeaseTerms::default())
}

async fn open(url: &str) -> Result<AnyBackend> {
    stores::open(&url.parse()?, Clock::tokio()).await
}

async fn wins(store: &impl Backend, id: &str) -> bool {
    let bid = bid("m", id).without_queue();
    store.acquire(&bid).await.unwrap().is_won()
}

#[tokio::test(start_paused = true)]
async fn stores_of_one_name_are_one_store() {
    let (one, two) = (
        open("memory:shared").await.unwrap(),
        open("memory:shared").await.unwrap(),
    );
    assert!(wins(&one, "a").await);
    assert!(!wins(&two, "b").await);
}

#[tokio::test(start_paused = true)]
async fn stores_of_other_names_and_of_none_are_apart() {
    for url in ["memory:here", "memory:there", "memory:", "memory:"] {
        let store = open(url).await.unwrap();
        assert!(wins(&store, "a").await, "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_named_store_is_forgotten_with_its_last_client() {
    let store = open("memory:brief").await.unwrap();
    assert!(wins(&store, "a").await);
    drop(store);
    assert!(wins(&open("memory:brief").await.unwrap(), "b").await);
}

#[tokio::test(start_paused = true)]
async fn a_host_or_an_unknown_option_is_an_error() {
    assert!(open("memory:x?ttl=1s&transition=1s").await.is_ok());
    for url in [
        "memory://localhost",
        "memory:x?tll=1s",
        "memory:?ttl=1ms&transition=0ms",
    ] {
        let error = open(url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn clones_are_one_client_and_close_together() {
    let store = Memory::with_clock(Clock::tokio());
    let (clone, other) = (store.clone(), store.another_client());
    store.close().await.unwrap();
    let closed = clone.acquire(&bid("m", "a")).await.unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
    assert!(wins(&other, "a").await, "another client goes on");
}

#[tokio::test(start_paused = true)]
async fn tokens_rise_over_a_new_store() {
    let clock = Clock::tokio();
    let first = Memory::with_clock(clock.clone())
        .acquire(&bid("m", "a"))
        .await
        .unwrap();
    // Tokens come from the wall clock as read at the opening, in milliseconds.
    let opened = SystemTime::now();
    while opened.elapsed().unwrap_or_default() < Duration::from_millis(2) {
        std::thread::yield_now();
    }
    let second = Memory::with_clock(clock)
        .acquire(&bid("m", "a"))
        .await
        .unwrap();
    assert!(second.token() > first.token());
}

#[tokio::test(start_paused = true)]
async fn the_last_millisecond_of_a_lease_is_owned() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    assert!(wins(&store, "a").await);
    let granted = clock.now();
    clock
        .sleep_until(granted + LeaseTerms::default().lease())
        .await;
    assert!(!wins(&store, "b").await, "transition_at >= now");
    clock.sleep(Duration::from_millis(1)).await;
    assert!(wins(&store, "b").await);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_score_takes_nobodys_place() {
    let store = Memory::with_clock(Clock::tokio());
    assert!(wins(&store, "owner").await);
    let first = store.acquire(&bid("m", "first")).await.unwrap();
    for score in ["1", "18446744073709551615", "nonsense"] {
        let mut other = bid("m", score);
        other.score = Some(score.into());
        store.acquire(&other).await.unwrap();
    }
    store.acquire(&bid("m", "last")).await.unwrap();
    let listing = store.list(&Page::first(1)).await.unwrap();
    let waiters: Vec<_> = listing.entries[0]
        .waiters
        .iter()
        .map(ContenderId::as_str)
        .collect();
    assert_eq!(waiters.len(), 5, "nobody was pushed out: {waiters:?}");
    assert_eq!(waiters.last(), Some(&"last"), "who comes last is last");
    assert_eq!(first.place().unwrap().rank, 0);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_that_nobody_used_is_not_listed() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let owner = bid("m", "owner");
    let token = store.acquire(&owner).await.unwrap().token().unwrap();
    let waiter = bid("m", "waiter");
    let _listening = store.changes(&Interest::in_turn(&waiter));
    store.acquire(&waiter).await.unwrap();
    store.release(&owner.held(token)).await.unwrap();
    let listed = async || store.list(&Page::first(9)).await.unwrap().entries.len();
    assert_eq!(listed().await, 1, "kept for the waiter");
    clock.sleep(Duration::from_secs(1)).await;
    assert_eq!(listed().await, 0, "the waiter did not come");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_does_not_come_costs_a_quarter_of_a_second() {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let owner = bid("m", "owner");
    let token = store.acquire(&owner).await.unwrap().token().unwrap();
    let waiter = bid("m", "waiter");
    let _listening = store.changes(&Interest::in_turn(&waiter));
    store.acquire(&waiter).await.unwrap();
    store.release(&owner.held(token)).await.unwrap();
    assert!(!wins(&store, "newcomer").await, "kept for the waiter");
    clock.sleep(Duration::from_millis(251)).await;
    assert!(wins(&store, "newcomer").await);
}

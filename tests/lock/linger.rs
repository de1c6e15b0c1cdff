//! Locks that linger: a grant that stays for the next task of its process.

use std::time::Duration;

use tenure::lock::{HandOver, LockOptions};
use tenure::{Coordinator, ErrorKind, Lock};
use tenure_testkit::fault::{Call, Faults};

use super::support::{World, terms};

const LINGER: Duration = Duration::from_millis(5);

fn lingering() -> LockOptions {
    LockOptions::default().with_linger(LINGER)
}

fn lock(coordinator: &Coordinator, options: LockOptions) -> Lock {
    coordinator.lock_with("m", options).unwrap()
}

fn calls(faults: &Faults) -> (u64, u64) {
    (faults.calls(Call::Acquire), faults.calls(Call::Release))
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_in_time_takes_it_over_under_the_next_token_without_a_call() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = lock(&coordinator, lingering());
    let mut tokens = Vec::new();
    for round in 0..50 {
        let guard = match round % 3 {
            0 => lock.acquire().await.unwrap(),
            1 => lock.try_acquire().await.unwrap().expect("ours"),
            _ => lock.acquire_within(LINGER).await.unwrap().expect("ours"),
        };
        tokens.push(guard.token().unwrap());
        if round % 2 == 0 {
            guard.release().await.unwrap();
        } else {
            drop(guard);
        }
        tokio::time::sleep(LINGER / 2).await;
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    assert!(tokens.iter().all(|one| one.store() == tokens[0].store()));
    assert_eq!(calls(&faults), (1, 0));
    tokio::time::sleep(LINGER * 2).await;
    assert_eq!(calls(&faults), (1, 1), "nobody came any more");
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_was_let_go_owns_nothing_while_its_grant_lingers() {
    let world = World::new();
    let lock = lock(&world.coordinator(), lingering());
    let guard = lock.acquire().await.unwrap();
    let tenure = guard.tenure().clone();
    guard.release().await.unwrap();
    assert!(tenure.is_lost());
    assert!(
        lock.owner().await.unwrap().is_some(),
        "to others it is held"
    );
    let next = lock.acquire().await.unwrap();
    assert!(tenure.is_lost() && !next.is_lost());
}

#[tokio::test(start_paused = true)]
async fn who_waits_elsewhere_waits_for_the_linger_and_not_for_the_lease() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = lock(&coordinator, lingering());
    lock.acquire().await.unwrap().release().await.unwrap();
    let begin = world.clock.now();
    let other = world.coordinator().lock("m").unwrap();
    let guard = other.acquire().await.unwrap();
    let waited = world.clock.now().since(begin);
    assert!(waited <= LINGER * 2, "{waited:?}");
    assert_eq!(calls(&faults), (1, 1));
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_was_waited_for_does_not_linger() {
    let world = World::new();
    let theirs = world.coordinator().lock("m").unwrap();
    let held = theirs.acquire().await.unwrap();
    let (coordinator, faults) = world.with_faults();
    let lock = lock(&coordinator, lingering());
    let waiting = lock.clone();
    let waiting = tokio::spawn(async move { waiting.acquire().await.unwrap() });
    tokio::time::sleep(LINGER).await;
    held.release().await.unwrap();
    waiting.await.unwrap().release().await.unwrap();
    assert_eq!(faults.calls(Call::Release), 1, "others may wait as it did");
}

#[tokio::test(start_paused = true)]
async fn it_lingers_within_the_bounds_of_the_hand_over() {
    let world = World::new();
    for (hand_over, rounds) in [
        (HandOver::new(3, Duration::from_secs(1)).unwrap(), 4),
        (HandOver::new(1_023, LINGER * 4).unwrap(), 5),
    ] {
        let (coordinator, faults) = world.with_faults();
        let lock = lock(&coordinator, lingering().with_hand_over(hand_over));
        for _ in 0..rounds {
            lock.acquire().await.unwrap().release().await.unwrap();
            tokio::time::sleep(LINGER - Duration::from_millis(1)).await;
        }
        assert_eq!(calls(&faults), (1, 1), "{hand_over:?}: the turn is over");
        lock.acquire().await.unwrap().release().await.unwrap();
        assert_eq!(calls(&faults), (2, 1), "{hand_over:?}: a turn of its own");
        coordinator.close().await.unwrap();
    }
}

/// One process takes it without a pause; another has its turn all the same.
#[tokio::test(start_paused = true)]
async fn a_process_that_never_rests_lets_others_in() {
    let world = World::new();
    let lock = lock(&world.coordinator(), lingering());
    let busy = tokio::spawn(async move {
        loop {
            let guard = lock.acquire().await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            guard.release().await.unwrap();
        }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let other = world.coordinator().lock("m").unwrap();
    for _ in 0..5 {
        let guard = other.acquire_within(Duration::from_secs(2)).await.unwrap();
        guard.expect("within some turns").release().await.unwrap();
    }
    busy.abort();
}

#[tokio::test(start_paused = true)]
async fn the_close_gives_it_back_at_once() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = lock(&coordinator, lingering());
    lock.acquire().await.unwrap().release().await.unwrap();
    let begin = world.clock.now();
    coordinator.close().await.unwrap();
    assert_eq!(world.clock.now(), begin);
    assert_eq!(calls(&faults), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn with_the_last_lock_of_its_name_it_goes_back_at_once() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = lock(&coordinator, lingering());
    lock.acquire().await.unwrap().release().await.unwrap();
    drop(lock);
    let other = world.coordinator().lock("m").unwrap();
    let begin = world.clock.now();
    other.acquire().await.unwrap().release().await.unwrap();
    assert!(world.clock.now().since(begin) < LINGER);
    assert_eq!(calls(&faults), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lock_with_other_terms_does_not_take_it_over() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let first = lock(&coordinator, lingering());
    let other_terms =
        tenure::model::LeaseTerms::new(Duration::from_secs(20), Duration::from_secs(6)).unwrap();
    let second = lock(&coordinator, LockOptions::default().with_terms(other_terms));
    first.acquire().await.unwrap().release().await.unwrap();
    let guard = second.acquire().await.unwrap();
    assert!(guard.remaining() > terms().lease());
    assert_eq!(faults.calls(Call::Release), 1);
}

/// What lies there when the lease has ended is no waiter's.
#[tokio::test(start_paused = true)]
async fn what_has_ended_while_it_lingered_is_not_taken_over() {
    let world = World::new();
    let lock = lock(&world.coordinator(), lingering());
    let guard = lock.acquire().await.unwrap();
    let token = guard.token().unwrap();
    guard.release().await.unwrap();
    // The machine stands still: no timer runs, and the store gives it away.
    tokio::time::advance(terms().lease() + LINGER).await;
    let next = lock.acquire().await.unwrap();
    assert_eq!(next.token().err(), None);
    assert!(next.token().unwrap().store() > token.store());
}

#[tokio::test(start_paused = true)]
async fn nothing_lingers_unless_it_is_asked_for_nor_with_a_shared_fence() {
    let world = World::new();
    for options in [
        LockOptions::default(),
        LockOptions::default().with_linger(Duration::ZERO),
        lingering().with_shared_fence(),
    ] {
        let (coordinator, faults) = world.with_faults();
        let lock = lock(&coordinator, options);
        lock.acquire().await.unwrap().release().await.unwrap();
        assert_eq!(calls(&faults), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_linger_that_is_too_long_is_refused() {
    let world = World::new();
    let coordinator = world.coordinator();
    let second = Duration::from_secs(1);
    for options in [
        LockOptions::default().with_linger(second / 2),
        LockOptions::default()
            .with_linger(second * 3)
            .with_hand_over(HandOver::new(1_023, second * 60).unwrap()),
        lingering().with_hand_over(HandOver::never()),
    ] {
        let error = coordinator.lock_with("m", options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error.to_string().contains("lingers for less than"),
            "{error}"
        );
    }
}

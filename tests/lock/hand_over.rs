//! Passing the lock on inside a process, and to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::lock::{HandOver, LockOptions};
use tenure_testkit::fault::{Call, Fault};

use super::support::World;

#[tokio::test(start_paused = true)]
async fn tasks_of_one_process_get_equal_turns() {
    let world = World::new();
    let coordinator = world.coordinator();
    let turns: Arc<Vec<AtomicUsize>> = Arc::new((0..64).map(|_| AtomicUsize::new(0)).collect());
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let (lock, turns) = (coordinator.lock("m").unwrap(), Arc::clone(&turns));
            tokio::spawn(async move {
                loop {
                    let guard = lock.acquire().await.unwrap();
                    turns[task].fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    guard.release().await.unwrap();
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(20)).await;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let counts: Vec<_> = turns
        .iter()
        .map(|turns| turns.load(Ordering::Relaxed))
        .collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 50, "{counts:?}");
    assert!(*most as f64 / *least as f64 <= 1.1, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_local_hand_over_asks_the_store_nothing_and_raises_the_token() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = coordinator.lock("m").unwrap();
    let first = lock.acquire().await.unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let lock = lock.clone();
            tokio::spawn(async move {
                let guard = lock.acquire().await.unwrap();
                let token = guard.token().unwrap();
                guard.release().await.unwrap();
                token
            })
        })
        .collect();
    tokio::task::yield_now().await;
    let mut tokens = vec![first.token().unwrap()];
    let old = first.tenure().clone();
    first.release().await.unwrap();
    for task in waiting {
        tokens.push(task.await.unwrap());
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    assert!(
        tokens
            .iter()
            .all(|token| token.store() == tokens[0].store())
    );
    assert!(
        old.is_lost(),
        "the first holder does not own what the others hold"
    );
    assert_eq!(
        (faults.calls(Call::Acquire), faults.calls(Call::Release)),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_rise_across_local_and_remote_hand_overs() {
    let world = World::new();
    let (one, two) = (world.coordinator(), world.coordinator());
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = Vec::new();
    for coordinator in [&one, &one, &one, &two, &two] {
        let (lock, tell) = (coordinator.lock("m").unwrap(), tell.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..200 {
                let guard = lock.acquire().await.unwrap();
                tell.send(guard.token().unwrap()).unwrap();
                tokio::time::sleep(Duration::from_millis(7)).await;
                guard.release().await.unwrap();
            }
        }));
    }
    drop(tell);
    let mut tokens = Vec::new();
    while let Some(token) = told.recv().await {
        tokens.push(token);
    }
    assert_eq!(tokens.len(), 1000);
    assert!(tokens.is_sorted_by(|a, b| a < b));
    let grants: std::collections::BTreeSet<_> = tokens.iter().map(|t| t.store()).collect();
    assert!(
        grants.len() > 5 && grants.len() < 900,
        "{} grants",
        grants.len()
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiting_process_is_not_starved_by_a_busy_one() {
    let world = World::new();
    let (busy, quiet) = (world.coordinator(), world.coordinator());
    let busy_turns = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let (lock, turns) = (busy.lock("m").unwrap(), Arc::clone(&busy_turns));
        tasks.push(tokio::spawn(async move {
            loop {
                let guard = lock.acquire().await.unwrap();
                turns.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
                drop(guard);
            }
        }));
    }
    let lock = quiet.lock("m").unwrap();
    let begin = world.clock.now();
    for _ in 0..10 {
        drop(lock.acquire().await.unwrap());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let took = world.clock.now().since(begin);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    // Each wait is bounded by the time that one grant may be passed around.
    assert!(took < Duration::from_secs(7), "{took:?}");
    assert!(busy_turns.load(Ordering::Relaxed) > 1000);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_about_to_end_is_not_handed_on() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let hand_over = HandOver::new(100, Duration::from_secs(3600)).unwrap();
    let options = LockOptions::default().with_hand_over(hand_over);
    let lock = coordinator.lock_with("m", options).unwrap();
    let guard = lock.acquire().await.unwrap();
    faults.always(Call::Renew, Fault::Hang);
    let waiting = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap() }
    });
    // Into the second half of the transition, with no renewal getting through.
    tokio::time::sleep(Duration::from_millis(13_500)).await;
    assert!(!guard.is_lost());
    let first = guard.token().unwrap();
    drop(guard);
    let next = waiting.await.unwrap().token().unwrap();
    assert!(next.store() > first.store(), "the store was asked again");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_heir_passes_the_lock_on() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    let spawn = || {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await.unwrap() })
    };
    let (heir, next) = (spawn(), spawn());
    tokio::task::yield_now().await;
    drop(guard);
    heir.abort(); // told, and gone before it could look
    assert!(heir.await.is_err());
    drop(next.await.unwrap());
    coordinator.close().await.unwrap();
    assert_eq!(faults.calls(Call::Acquire), 1);
    assert!(
        world
            .coordinator()
            .lock("m")
            .unwrap()
            .try_acquire()
            .await
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_grant_cannot_be_handed_on_more_often_than_it_has_tokens() {
    assert!(HandOver::new(1023, Duration::from_secs(1)).is_ok());
    assert!(
        HandOver::new(1024, Duration::from_secs(1))
            .unwrap_err()
            .to_string()
            .contains("1023")
    );
}

//! Holders, waiting and losing, on virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::clock::Clock;
use tenure::lock::ReentrantOptions;
use tenure::model::LeaseTerms;
use tenure::stores::memory::Memory;
use tenure::{Coordinator, ErrorKind, Holder, LossCause};
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};

use crate::support::by;

fn terms() -> LeaseTerms {
    LeaseTerms::new(Duration::from_secs(5), Duration::from_secs(5)).unwrap()
}

fn coordinator() -> Coordinator {
    let builder = Coordinator::builder().clock(Clock::tokio()).terms(terms());
    builder
        .with_backend(Memory::with_clock(Clock::tokio()))
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn somebody_must_hold() {
    let lock = coordinator().reentrant_lock("m").unwrap();
    let error = lock.acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongState);
    assert!(error.to_string().contains("held_by"), "{error}");
    let me = Holder::new("a");
    let counted = async {
        let _outer = lock.acquire().await.unwrap();
        let _inner = lock.acquire().await.unwrap();
        lock.hold_count().unwrap()
    };
    assert_eq!(me.scope(counted).await, 2);
    assert_eq!(
        lock.held_by(&me).hold_count().unwrap(),
        0,
        "dropped with the scope"
    );
}

#[tokio::test(start_paused = true)]
async fn holders_of_a_process_are_served_in_order() {
    let lock = coordinator().reentrant_lock("m").unwrap();
    let first = by(&lock, "first").acquire().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (mine, order) = (by(&lock, "waiter"), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let outer = mine.acquire().await.unwrap();
            let inner = mine.acquire().await.unwrap();
            order.lock().unwrap().push(number);
            drop((outer, inner));
        }));
        tokio::task::yield_now().await;
    }
    drop(first);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn tasks_of_one_holder_do_not_wait_for_each_other() {
    let lock = coordinator().reentrant_lock("m").unwrap();
    let other = by(&lock, "other").acquire().await.unwrap();
    let mine = by(&lock, "mine");
    let both = [mine.clone(), mine.clone()]
        .map(|mine| tokio::spawn(async move { mine.acquire().await.unwrap() }));
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(other);
    let mut guards = Vec::new();
    for task in both {
        guards.push(task.await.unwrap());
    }
    assert_eq!(guards[0].hold_count(), 2);
    guards.pop();
    assert_eq!(mine.hold_count().unwrap(), 1);
    guards.pop();
    let next = by(&lock, "next")
        .acquire_within(Duration::from_secs(1))
        .await;
    assert!(
        next.unwrap().is_some(),
        "nothing is left behind in the line"
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_by_its_limit_and_by_being_dropped() {
    let lock = coordinator().reentrant_lock("m").unwrap();
    let held = by(&lock, "a").acquire().await.unwrap();
    let b = by(&lock, "b");
    assert!(
        b.acquire_within(Duration::from_secs(3))
            .await
            .unwrap()
            .is_none()
    );
    let dropped = tokio::time::timeout(Duration::from_secs(3), b.acquire()).await;
    assert!(dropped.is_err());
    drop(held);
    let c = by(&lock, "c")
        .acquire_within(Duration::from_secs(1))
        .await
        .unwrap();
    assert!(c.is_some(), "who gave up stands in nobody's way");
}

#[tokio::test(start_paused = true)]
async fn a_lost_hold_bars_nobody_and_is_not_nested() {
    let faults = Faults::new(Clock::tokio());
    let store = Memory::with_clock(Clock::tokio());
    let builder = Coordinator::builder().clock(Clock::tokio()).terms(terms());
    let cut_off = builder
        .clone()
        .with_backend(FaultBackend::new(store.clone(), &faults))
        .unwrap();
    let healthy = builder.with_backend(store).unwrap();
    let lock = cut_off.reentrant_lock("m").unwrap();
    let a = by(&lock, "a");
    let outer = a.acquire().await.unwrap();
    faults.always(Call::Renew, Fault::Hang);
    assert_eq!(outer.lost().await.cause, LossCause::Deadline);
    assert_eq!((a.hold_count().unwrap(), a.is_held().unwrap()), (0, false));
    assert_eq!(a.acquire().await.unwrap_err().kind(), ErrorKind::Lost);
    let next = by(&healthy.reentrant_lock("m").unwrap(), "b")
        .acquire()
        .await
        .unwrap();
    faults.heal();
    assert_eq!(outer.release().await.unwrap_err().kind(), ErrorKind::Lost);
    drop(next);
    let again = a.acquire().await.unwrap();
    again.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn max_hold_counts_from_the_outermost() {
    let options = ReentrantOptions::default().with_max_hold(Duration::from_secs(20));
    let lock = coordinator().reentrant_lock_with("m", options).unwrap();
    let a = by(&lock, "a");
    let outer = a.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(15)).await;
    let inner = a.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(outer.is_lost() && inner.is_lost());
    assert!(
        by(&lock, "b")
            .acquire_within(Duration::from_secs(60))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_holder_kept_goes_with_it() {
    let lock = coordinator().reentrant_lock("m").unwrap();
    let me = Holder::new("a");
    let mine = lock.held_by(&me);
    mine.acquire().await.unwrap().keep();
    mine.acquire().await.unwrap().keep();
    assert_eq!(mine.hold_count().unwrap(), 2);
    mine.release_kept().await.unwrap();
    assert_eq!(mine.hold_count().unwrap(), 1);
    assert!(by(&lock, "b").try_acquire().await.unwrap().is_none());
    drop((me, mine));
    let b = by(&lock, "b")
        .acquire_within(Duration::from_secs(1))
        .await
        .unwrap();
    assert!(b.is_some(), "renewed for ever is nobody's");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_holds_and_waiting() {
    let coordinator = coordinator();
    let lock = coordinator.reentrant_lock("m").unwrap();
    let held = by(&lock, "a").acquire().await.unwrap();
    let waiting = tokio::spawn({
        let lock = by(&lock, "b");
        async move { lock.acquire().await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    coordinator.close().await.unwrap();
    assert_eq!(held.token().unwrap_err().cause, LossCause::Closed);
    assert_eq!(
        waiting.await.unwrap().unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(
        by(&lock, "c").try_acquire().await.unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(
        coordinator.reentrant_lock("n").unwrap_err().kind(),
        ErrorKind::Closed
    );
}

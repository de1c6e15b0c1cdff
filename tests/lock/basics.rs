//! One lock, one guard.

use std::time::Duration;

use tenure::backend::{Backend, Page};
use tenure::lock::LockOptions;
use tenure::model::{LeaseTerms, MutexOwner};
use tenure::{ErrorKind, LossCause};
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault};

use super::support::World;

#[tokio::test(start_paused = true)]
async fn an_uncontended_acquire_and_release_cost_one_call_each() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = coordinator.lock("m").unwrap();
    lock.acquire().await.unwrap().release().await.unwrap();
    let calls: Vec<_> = faults.log().into_iter().map(|record| record.call).collect();
    assert_eq!(calls, [Call::Acquire, Call::Release]);
}

#[tokio::test(start_paused = true)]
async fn a_second_process_waits_for_the_first() {
    let world = World::new();
    let (one, two) = (world.coordinator(), world.coordinator());
    let guard = one.lock("m").unwrap().acquire().await.unwrap();
    let lock = two.lock("m").unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(
        lock.acquire_within(Duration::from_secs(60))
            .await
            .unwrap()
            .is_none()
    );
    assert!(!guard.is_lost(), "a live owner is renewed");
    let owner = lock.owner().await.unwrap().expect("an owner");
    assert!(owner.is(guard.tenure().contender()));
    assert_eq!(owner.token(), guard.token().ok());

    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    tokio::task::yield_now().await;
    let first = guard.token().unwrap();
    guard.release().await.unwrap();
    let second = waiting.await.unwrap();
    assert!(second.token().unwrap() > first);
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_between_processes_takes_no_time() {
    let world = World::new();
    let (one, two) = (world.coordinator(), world.coordinator());
    let guard = one.lock("m").unwrap().acquire().await.unwrap();
    let lock = two.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = world.clock.now();
    guard.release().await.unwrap();
    drop(waiting.await.unwrap());
    // Woken by push, not by a timer: virtual time stood still.
    assert!(world.clock.now().since(before) < Duration::from_millis(5));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_guard_is_released() {
    let world = World::new();
    let (one, two) = (world.coordinator(), world.coordinator());
    drop(one.lock("m").unwrap().acquire().await.unwrap());
    let guard = two
        .lock("m")
        .unwrap()
        .acquire_within(Duration::from_secs(1))
        .await
        .unwrap();
    assert!(guard.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_guard_is_dead_at_once_when_released() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let tenure = guard.tenure().clone();
    faults.always(Call::Release, Fault::Hang);
    let release = tokio::spawn(guard.release());
    tokio::task::yield_now().await;
    assert_eq!(tenure.token().unwrap_err().cause, LossCause::Released);
    assert!(!release.is_finished());
    faults.heal();
    release.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_that_the_store_never_confirms_is_unconfirmed() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    faults.always(Call::Release, Fault::Fail);
    let error = guard.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed);
    assert!(
        faults.calls(Call::Release) > 3,
        "it is tried again and again"
    );
}

#[tokio::test(start_paused = true)]
async fn releasing_what_was_lost_says_so() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    faults.always(Call::Renew, Fault::Fail);
    assert_eq!(guard.lost().await.cause, LossCause::Deadline);
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_guard_is_lost_at_its_next_renewal() {
    let world = World::new();
    let coordinator = world.coordinator();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    world
        .store
        .revoke(guard.tenure().mutex(), None)
        .await
        .unwrap();
    assert_eq!(guard.lost().await.cause, LossCause::Taken);
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_holds_too_long_is_lost_and_not_renewed() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let options = LockOptions::default().with_max_hold(Duration::from_secs(25));
    let lock = coordinator.lock_with("m", options).unwrap();
    let begin = world.clock.now();
    let guard = lock.acquire().await.unwrap();
    assert_eq!(guard.lost().await.cause, LossCause::Deadline);
    let held = world.clock.now().since(begin);
    assert!((24..=26).contains(&held.as_secs()), "{held:?}");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let renewals = faults.calls(Call::Renew);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(faults.calls(Call::Renew), renewals);
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
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn protected_work_is_dropped_at_the_loss() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    assert_eq!(guard.protect(async { 7 }).await, Ok(7));
    faults.always(Call::Renew, Fault::Hang);
    let lost = guard
        .protect(std::future::pending::<()>())
        .await
        .unwrap_err();
    assert_eq!(lost.cause, LossCause::Deadline);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_gives_up_leaves_nothing_behind() {
    let world = World::new();
    let (one, two) = (world.coordinator(), world.coordinator());
    let guard = one.lock("m").unwrap().acquire().await.unwrap();
    let lock = two.lock("m").unwrap();
    assert!(
        lock.acquire_within(Duration::from_secs(3))
            .await
            .unwrap()
            .is_none()
    );
    guard.release().await.unwrap();
    two.close().await.unwrap();
    let listing = world.store.list(&Page::first(10)).await.unwrap();
    assert!(listing.entries.is_empty(), "{:?}", listing.entries);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_answers_is_an_error_and_not_a_refusal() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    faults.always(Call::Acquire, Fault::Fail);
    let lock = coordinator.lock("m").unwrap();
    let error = lock
        .acquire_within(Duration::from_secs(30))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(
        lock.try_acquire().await.unwrap_err().kind(),
        ErrorKind::Unreachable
    );
}

#[tokio::test(start_paused = true)]
async fn closing_ends_guards_and_waiters() {
    let world = World::new();
    let (one, two) = (world.coordinator(), world.coordinator());
    let guard = one.lock("m").unwrap().acquire().await.unwrap();
    let lock = two.lock("m").unwrap();
    let waiting = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.map(drop) }
    });
    tokio::task::yield_now().await;
    two.close().await.unwrap();
    two.close().await.unwrap();
    assert_eq!(
        waiting.await.unwrap().unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(lock.acquire().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(two.lock("m").unwrap_err().kind(), ErrorKind::Closed);

    one.close().await.unwrap();
    assert_eq!(guard.token().unwrap_err().cause, LossCause::Closed);
    let owner = world.store.owner(guard.tenure().mutex()).await.unwrap();
    assert_eq!(
        owner.owner(),
        &MutexOwner::NONE,
        "the store was told before close returned"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lock_can_have_terms_of_its_own() {
    let world = World::new();
    let terms = LeaseTerms::new(Duration::from_secs(1), Duration::from_secs(1)).unwrap();
    let options = LockOptions::default().with_terms(terms);
    let guard = world
        .coordinator()
        .lock_with("m", options)
        .unwrap()
        .acquire()
        .await
        .unwrap();
    assert!(guard.remaining() <= Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_bad_name_is_refused_before_any_call() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    assert_eq!(
        coordinator.lock(" ").unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert_eq!(
        coordinator.elector("").unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert!(faults.log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_shorter_than_one_call_makes_one_honest_attempt() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let lock = coordinator.lock("m").unwrap();
    let short = Duration::from_millis(1);
    let slow = Fault::DelayBefore(Duration::from_millis(300));
    faults.next(Call::Acquire, slow);
    let guard = lock.acquire_within(short).await.unwrap();
    let guard = guard.expect("it is free, and nobody else wants it");
    assert_eq!(faults.calls(Call::Acquire), 1);

    // Who stands behind another of this process does not ask the store.
    assert!(lock.acquire_within(short).await.unwrap().is_none());
    assert_eq!(faults.calls(Call::Acquire), 1);

    // Held by another process: that is the answer, late as it comes.
    let (other, faults) = world.with_faults();
    faults.always(Call::Acquire, slow);
    let lock = other.lock("m").unwrap();
    assert!(lock.acquire_within(short).await.unwrap().is_none());

    // No answer is no refusal.
    faults.always(Call::Acquire, Fault::Hang);
    let error = lock.acquire_within(short).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    drop(guard);
}

//! Nothing is left behind by a future that is dropped; and an answer that is
//! lost is found again or undone.

use tenure::backend::Page;
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault};

use crate::support::{World, millis, secs};

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_winning_take_is_adopted() {
    let world = World::new();
    let (process, faults) = world.process();
    faults.next(Call::Acquire, Fault::LoseAnswer);
    let sent_at = world.clock.now();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    assert_eq!(faults.calls(Call::Acquire), 2);
    let owner = world.owner("m").await;
    assert_eq!(
        owner.token(),
        guard.token().ok(),
        "the same grant, not another"
    );
    // The lease is the first attempt's, whatever the second one's answer.
    let deadline = world.clock.now() + guard.remaining();
    assert!(deadline.since(sent_at) <= world.terms.valid_for() + millis(1));
}

#[tokio::test(start_paused = true)]
async fn a_take_that_is_answered_after_its_lease_is_not_handed_out() {
    let world = World::new();
    let (process, faults) = world.process();
    // Applied, but every answer is lost until the lease is nearly over.
    faults.always(Call::Acquire, Fault::LoseAnswer);
    let lock = process.lock("m").unwrap();
    let acquiring = tokio::spawn(async move { lock.acquire().await.unwrap() });
    world.pass(world.terms.lease() - millis(20)).await;
    faults.heal();
    let guard = acquiring.await.unwrap();
    assert!(guard.remaining() > secs(1), "{:?}", guard.remaining());
    assert!(!guard.is_lost());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_acquire_whose_answer_was_lost_is_undone() {
    let world = World::new();
    let (process, faults) = world.process();
    for fault in [
        Fault::LoseAnswer,
        Fault::HangAfter,
        Fault::DelayBefore(millis(500)),
    ] {
        faults.next(Call::Acquire, fault);
        let lock = process.lock("m").unwrap();
        let mut acquiring = Box::pin(lock.acquire());
        let cancelled = tokio::time::timeout(millis(10), &mut acquiring)
            .await
            .is_err();
        drop(acquiring);
        if cancelled {
            world.pass(secs(1)).await;
        }
        faults.heal();
        let left = world.store.list(&Page::first(5)).await.unwrap().entries;
        assert!(!cancelled || left.is_empty(), "{fault:?}: {left:?}");
        world.pass(secs(20)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_applied_after_its_release_is_tidied_up() {
    let world = World::new();
    let (process, faults) = world.process();
    // The first request is applied again after the guard has gone.
    faults.next(Call::Acquire, Fault::LoseAnswer);
    faults.next(Call::Acquire, Fault::DuplicateLate(millis(300)));
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    guard.release().await.unwrap();
    world.pass(millis(400)).await;
    assert!(
        world.owner("m").await.owner_id().is_some(),
        "the late request has won"
    );
    world.pass(world.terms.call_timeout() + millis(100)).await;
    assert!(
        world.owner("m").await.owner_id().is_none(),
        "and was undone"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stop_goes_on_in_the_background() {
    let world = World::new();
    let (process, faults) = world.process();
    let service = process
        .contend_service(crate::support::Listener::new("m"))
        .unwrap();
    service.start().unwrap();
    world.until("owned", || service.is_owner()).await;
    faults.next(Call::Release, Fault::DelayAfter(secs(2)));
    assert!(
        tokio::time::timeout(millis(10), service.stop())
            .await
            .is_err()
    );
    world
        .until("stopped", || {
            service.status() == tenure::service::Status::Initial
        })
        .await;
    assert!(world.owner("m").await.owner_id().is_none());
    service.start().unwrap();
    world.until("owned again", || service.is_owner()).await;
}

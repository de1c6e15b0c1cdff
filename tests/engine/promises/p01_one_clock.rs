//! A tenure's deadline is counted from before its request was sent.

use tenure_testkit::fault::{Call, Fault};

use crate::support::{World, secs};

#[tokio::test(start_paused = true)]
async fn a_slow_answer_shortens_the_tenure() {
    let world = World::new();
    for fault in [Fault::DelayBefore(secs(3)), Fault::DelayAfter(secs(3))] {
        let (process, faults) = world.process();
        faults.next(Call::Acquire, fault);
        let sent_at = world.clock.now();
        let guard = process.lock("m").unwrap().acquire().await.unwrap();
        let deadline = world.clock.now() + guard.remaining();
        assert!(world.clock.now().since(sent_at) >= secs(3));
        assert!(
            deadline.since(sent_at) <= world.terms.valid_for(),
            "{fault:?}"
        );
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_renewal_extends_from_when_it_was_sent() {
    let world = World::new();
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    faults.next(Call::Renew, Fault::DelayAfter(secs(1)));
    world
        .until("the renewal is answered", || guard.remaining() > secs(10))
        .await;
    while faults.calls(Call::Renew) == 0 {
        world.pass(secs(1)).await;
    }
    let sent_at = faults
        .log()
        .iter()
        .find(|record| record.call == Call::Renew)
        .unwrap()
        .at;
    world.pass(secs(2)).await;
    let deadline = world.clock.now() + guard.remaining();
    assert!(deadline.since(sent_at) <= world.terms.valid_for());
    assert!(
        deadline.since(sent_at) >= world.terms.valid_for() - secs(1),
        "it was extended"
    );
}

#[tokio::test(start_paused = true)]
async fn the_deadline_lies_a_margin_before_the_store_frees_the_mutex() {
    let world = World::new();
    let (owner, faults) = world.process();
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    faults.always(Call::Renew, Fault::Fail);
    let (other, _) = world.process();
    let lock = other.lock("m").unwrap();
    let taken = tokio::spawn(async move { lock.acquire().await.unwrap() });
    guard.lost().await;
    let lost_at = world.clock.now();
    drop(guard.tenure().clone());
    std::mem::forget(guard); // a holder that hangs: nothing is released
    let next = taken.await.unwrap();
    let gap = world.clock.now().since(lost_at);
    assert!(gap >= world.terms.margin(), "{gap:?}");
    drop(next);
}

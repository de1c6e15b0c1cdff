//! Losing, doubling or reordering wake-ups costs latency only.

use tenure::backend::Hint;
use tenure_testkit::fault::{Call, HintFault};

use crate::support::{World, millis, name, secs};

#[tokio::test(start_paused = true)]
async fn a_waiter_gets_its_turn_whatever_befalls_its_hints() {
    use HintFault::{Delay, Double, Lose, Reorder, Resume};
    for fault in [Lose, Double, Delay(secs(5)), Reorder, Resume] {
        let world = World::new();
        let (owner, _) = world.process();
        let (waiter, faults) = world.process();
        faults.all_hints(fault);
        let guard = owner.lock("m").unwrap().acquire().await.unwrap();
        let lock = waiter.lock("m").unwrap();
        let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
        world.pass(secs(3)).await;
        guard.release().await.unwrap();
        let released_at = world.clock.now();
        drop(waiting.await.unwrap());
        let waited = world.clock.now().since(released_at);
        assert!(
            waited <= millis(2_100),
            "{fault:?}: {waited:?} after the release"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_is_not_taken_for_ownership() {
    let world = World::new();
    let (owner, _) = world.process();
    let (waiter, faults) = world.process();
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    let lock = waiter.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    world.pass(secs(1)).await;
    for hint in [Hint::Turn, Hint::Changed, Hint::Resumed, Hint::Turn] {
        faults.inject(&name("m"), hint);
        world.pass(millis(200)).await;
        assert!(!waiting.is_finished());
    }
    guard.release().await.unwrap();
    drop(waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_asks_nothing_between_its_wake_ups_but_the_safety_look() {
    let world = World::new();
    let (owner, _) = world.process();
    let (waiter, faults) = world.process();
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    let lock = waiter.lock("m").unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    world.pass(secs(1)).await;
    let before = faults.log().len();
    world.pass(secs(100)).await;
    let asked = faults.log().len() - before;
    assert!(
        asked <= 51,
        "{asked} calls in 100 s of waiting, with a look every 2 s"
    );
    drop(guard);
    drop(waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn broadcasts_make_a_candidate_look_at_most_twice_a_second() {
    let world = World::new();
    let (owner, _) = world.process();
    let (candidate, faults) = world.process();
    let guard = owner.lock("m").unwrap().acquire().await.unwrap();
    let service = candidate
        .contend_service(crate::support::Listener::new("m"))
        .unwrap();
    service.start().unwrap();
    world.pass(secs(1)).await;
    let before = faults.calls(Call::Acquire);
    for _ in 0..200 {
        faults.inject(&name("m"), Hint::Changed);
        world.pass(millis(50)).await;
    }
    let looks = faults.calls(Call::Acquire) - before;
    assert!((10..=21).contains(&looks), "{looks} looks in 10 s");
    drop(guard);
}

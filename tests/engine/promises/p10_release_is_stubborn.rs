//! A failed release is retried until the lease would have ended.

use tenure_testkit::fault::{Call, Fault};

use crate::support::{World, millis, secs};

#[tokio::test(start_paused = true)]
async fn it_is_retried_until_it_succeeds() {
    for fault in [Fault::Fail, Fault::LoseRequest, Fault::Hang] {
        let world = World::new();
        let (process, faults) = world.process();
        let guard = process.lock("m").unwrap().acquire().await.unwrap();
        for _ in 0..3 {
            faults.next(Call::Release, fault);
        }
        guard.release().await.unwrap();
        assert_eq!(faults.calls(Call::Release), 4, "{fault:?}");
        assert!(world.owner("m").await.owner_id().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_release_is_still_a_release() {
    let world = World::new();
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    faults.next(Call::Release, Fault::LoseAnswer);
    guard.release().await.unwrap();
    assert_eq!(faults.calls(Call::Release), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_guard_is_released_as_stubbornly() {
    let world = World::new();
    let (process, faults) = world.process();
    drop({
        let guard = process.lock("m").unwrap().acquire().await.unwrap();
        faults.always(Call::Release, Fault::Fail);
        guard
    });
    world.pass(secs(5)).await;
    assert!(world.owner("m").await.owner_id().is_some());
    faults.heal();
    world.pass(secs(3)).await;
    assert!(world.owner("m").await.owner_id().is_none());
}

#[tokio::test(start_paused = true)]
async fn it_is_given_up_when_the_lease_is_over() {
    let world = World::new();
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    faults.always(Call::Release, Fault::Fail);
    let begin = world.clock.now();
    assert!(guard.release().await.is_err());
    let took = world.clock.now().since(begin);
    assert!(took >= world.terms.lease() - millis(100), "{took:?}");
    assert!(took <= world.terms.lease() + secs(1), "{took:?}");
    let tries = faults.calls(Call::Release);
    world.pass(secs(60)).await;
    assert_eq!(faults.calls(Call::Release), tries);
}

//! At the deadline the tenure is over, whatever the network does.

use tenure::LossCause;
use tenure_testkit::fault::{Call, Fault};

use crate::support::{Diary, World, millis, name, secs};

#[tokio::test(start_paused = true)]
async fn a_hung_store_cannot_prevent_the_loss() {
    let world = World::new();
    let (process, faults) = world.process();
    let begin = world.clock.now();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    let all = [
        Call::Acquire,
        Call::Renew,
        Call::Release,
        Call::Leave,
        Call::Owner,
    ];
    all.iter()
        .for_each(|call| faults.always(*call, Fault::Hang));
    let lost = guard.lost().await;
    assert_eq!(lost.cause, LossCause::Deadline);
    let held = world.clock.now().since(begin);
    assert!(held >= world.terms.valid_for() && held < world.terms.valid_for() + millis(5));
    assert_eq!(guard.token().unwrap_err(), lost);
}

#[tokio::test(start_paused = true)]
async fn on_released_comes_at_the_deadline_while_a_call_hangs() {
    let world = World::new();
    let (process, faults) = world.process();
    let diary = Diary::default();
    let service = process.contend_service(diary.contender("m")).unwrap();
    service.start().unwrap();
    world.until("acquired", || service.is_owner()).await;
    let tenure = service.tenure().unwrap();
    faults.always(Call::Renew, Fault::Hang);
    faults.always(Call::Release, Fault::Hang);
    tenure.lost().await;
    assert!(!service.is_owner() && service.tenure().is_none());
    let lost_at = world.clock.now();
    // The callback runs on a thread, in real time, which gets some before each
    // step of the virtual one.
    let is_released = || diary.read().contains(&"released");
    while !is_released() && world.clock.now().since(lost_at) < millis(100) {
        world.pass(millis(5)).await;
        for _ in 0..500 {
            if is_released() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            tokio::task::yield_now().await;
        }
    }
    assert!(is_released(), "100 ms after the loss");
}

#[tokio::test(start_paused = true)]
async fn the_hang_of_one_mutex_does_not_delay_another() {
    let world = World::new();
    let (process, faults) = world.process();
    let mut healthy = Vec::new();
    for number in 0..30 {
        let lock = process.lock(format!("healthy-{number}")).unwrap();
        healthy.push(lock.acquire().await.unwrap());
    }
    let sick = process.lock("sick").unwrap().acquire().await.unwrap();
    // A row that another has locked: every batch that it is part of hangs.
    faults.always_for(Call::Renew, &name("sick"), Fault::Hang);
    assert_eq!(sick.lost().await.cause, LossCause::Deadline);
    world.pass(secs(120)).await;
    let lost: Vec<_> = healthy.iter().filter(|guard| guard.is_lost()).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_stays_lost_when_a_late_renewal_succeeds() {
    let world = World::new();
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    // Applied in time, answered after the deadline.
    faults.always(Call::Renew, Fault::DelayAfter(secs(30)));
    guard.lost().await;
    faults.heal();
    world.pass(secs(60)).await;
    assert!(guard.is_lost());
    assert_eq!(guard.token().unwrap_err().cause, LossCause::Deadline);
}

//! What fails and is tried again is told to the user who wants to know.

use std::time::Duration;

use tenure::schedule::ScheduleConfig;
use tenure::{Doing, ErrorKind, TroubleNews, Troubles};
use tenure_testkit::fault::{Call, Fault};

use super::support::World;

/// What is told, as text, until the first that is no failure.
async fn told(troubles: &mut Troubles, doing: Doing) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let trouble = troubles.next().await.unwrap();
        assert_eq!((trouble.mutex.as_str(), trouble.doing), ("m", doing));
        match trouble.news {
            TroubleNews::Failed(error) => told.push(format!("{:?}", error.kind())),
            news => {
                told.push(format!("{news:?}"));
                return told;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_lock_tells_of_every_try_and_of_the_end() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut troubles = coordinator.troubles();
    faults.next(Call::Acquire, Fault::Fail);
    faults.next(Call::Acquire, Fault::Fail);
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let all = told(&mut troubles, Doing::Contending).await;
    assert_eq!(all, ["Unreachable", "Unreachable", "Well"]);

    faults.next(Call::Renew, Fault::Fail);
    let all = told(&mut troubles, Doing::Contending).await;
    assert_eq!(all, ["Unreachable", "Well"], "a holder as well");
    drop(guard);
    coordinator.close().await.unwrap();
    assert!(troubles.next().await.is_none(), "the last word");
    assert!(coordinator.troubles().next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_says_so() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut troubles = coordinator.troubles();
    faults.always(Call::Acquire, Fault::Fail);
    let waited = coordinator
        .lock("m")
        .unwrap()
        .acquire_within(Duration::from_secs(1))
        .await;
    assert_eq!(waited.unwrap_err().kind(), ErrorKind::Unreachable);
    let all = told(&mut troubles, Doing::Contending).await;
    assert_eq!(all.last().unwrap(), "GivenUp");
    assert!(all.len() > 2, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn observers_tell_of_it() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut troubles = coordinator.troubles();
    faults.next(Call::Owner, Fault::Fail);
    let _observer = coordinator.elector("m").unwrap().observe().unwrap();
    let all = told(&mut troubles, Doing::Observing).await;
    assert_eq!(all, ["Unreachable", "Well"]);
}

#[tokio::test(start_paused = true)]
async fn schedules_tell_of_their_ledger() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut troubles = coordinator.troubles();
    let config = ScheduleConfig::rate(Duration::ZERO, Duration::from_secs(60)).unwrap();
    let scheduler = coordinator.scheduler("m", config).unwrap();
    faults.next(Call::ReadLedger, Fault::Fail);
    for call in [Call::ClaimTick, Call::FinishTick] {
        faults.next(call, Fault::Fail);
        faults.next(call, Fault::Fail);
    }
    let handle = scheduler.start(|_| async {}).unwrap();
    for failures in [1, 2, 2] {
        let all = told(&mut troubles, Doing::Recording).await;
        assert_eq!(all.len(), failures + 1, "{all:?}");
        assert_eq!(all.last().unwrap(), "Well");
    }
    handle.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_who_fail_are_told_apart() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut troubles = coordinator.troubles();
    faults.always(Call::Owner, Fault::Fail);
    let elector = coordinator.elector("m").unwrap();
    let _two = (elector.observe().unwrap(), elector.observe().unwrap());
    let mut sources = std::collections::BTreeSet::new();
    for _ in 0..6 {
        sources.insert(troubles.next().await.unwrap().source);
    }
    assert_eq!(sources.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_keeps_the_newest() {
    let world = World::new();
    let (coordinator, faults) = world.with_faults();
    let mut troubles = coordinator.troubles();
    let lock = coordinator.lock("m").unwrap();
    for _ in 0..1000 {
        faults.next(Call::Acquire, Fault::Fail);
        faults.next(Call::Acquire, Fault::Fail);
        drop(lock.acquire().await.unwrap());
    }
    coordinator.close().await.unwrap();
    let mut last = None;
    let mut count = 0;
    while let Some(trouble) = troubles.next().await {
        last = Some(trouble.news);
        count += 1;
    }
    assert!(matches!(last, Some(TroubleNews::Well)), "{last:?}");
    assert!((100..1000).contains(&count), "{count}");
}

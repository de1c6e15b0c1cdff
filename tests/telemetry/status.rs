//! What this process holds and waits for, and how that changes.

use std::time::Duration;

use tenure::model::Purpose;
use tenure::schedule::ScheduleConfig;
use tenure::{CoordinatorStatus, Standing, StatusChange};

use tenure_testkit::fault::{Call, Fault};
use tracing::Level;

use crate::counted::IN_TROUBLE;
use crate::log::Log;
use crate::recorder::TestRecorder;
use crate::{FaultyStore, seconds};

fn standings(status: &CoordinatorStatus) -> Vec<(Purpose, &str, Standing)> {
    let contenders = status.contenders.iter();
    contenders
        .map(|one| (one.purpose, one.mutex.as_str(), one.standing))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_status_says_what_is_held_and_waited_for_and_for_how_long() {
    let stage = FaultyStore::new();
    let (first, second) = (stage.coordinator(), stage.coordinator());
    assert!(first.status().contenders.is_empty());
    let guard = first.lock("report").unwrap().acquire().await.unwrap();
    let held = Standing::Owning(guard.token().unwrap());
    let waiter = tokio::spawn({
        let lock = second.lock("report").unwrap();
        async move { lock.acquire().await.unwrap().release().await }
    });
    tokio::time::sleep(seconds(5)).await;
    assert_eq!(
        standings(&first.status()),
        [(Purpose::Lock, "report", held)]
    );
    assert_eq!(first.status().contenders[0].for_how_long, seconds(5));
    let waits = [(Purpose::Lock, "report", Standing::Waiting)];
    assert_eq!(standings(&second.status()), waits);
    guard.release().await.unwrap();
    waiter.await.unwrap().unwrap();
    assert!(first.status().contenders.is_empty());
    assert!(second.status().contenders.is_empty());
}

#[tokio::test(start_paused = true)]
async fn tasks_that_wait_behind_another_of_their_process_are_counted() {
    let coordinator = FaultyStore::new().coordinator();
    let lock = coordinator.lock("report").unwrap();
    let guard = lock.acquire().await.unwrap();
    let mut waiters = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let lock = lock.clone();
        waiters.spawn(async move { lock.acquire().await.unwrap().release().await });
    }
    tokio::time::sleep(seconds(1)).await;
    let status = coordinator.status();
    assert_eq!(status.contenders.len(), 1, "{status:?}");
    let [behind] = &status.local_waiters[..] else {
        panic!("{status:?}");
    };
    assert_eq!((behind.mutex.as_str(), behind.count), ("report", 3));
    guard.release().await.unwrap();
    while let Some(ended) = waiters.join_next().await {
        ended.unwrap().unwrap();
    }
    assert_eq!(coordinator.status().local_waiters, []);
}

#[tokio::test(start_paused = true)]
async fn the_changes_tell_a_whole_life_in_its_order() {
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let mut changes = coordinator.status_changes();
    let guard = coordinator.lock("report").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    guard.release().await.unwrap();
    let mut told = Vec::new();
    while told.last() != Some(&Standing::Over) {
        match changes.next().await {
            Some(StatusChange::Contender(status)) => told.push(status.standing),
            other => panic!("{other:?}"),
        }
    }
    // What is given back and ends in one step is not told as waiting between.
    let life = [
        Standing::Waiting,
        Standing::Owning(token),
        Standing::Leaving(token),
        Standing::Over,
    ];
    assert_eq!(told, life);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_is_told_how_much_was_missed_and_then_the_rest() {
    let coordinator = FaultyStore::new().coordinator();
    let mut changes = coordinator.status_changes();
    let lock = coordinator.lock("report").unwrap();
    for _ in 0..1_000 {
        lock.acquire().await.unwrap().release().await.unwrap();
    }
    let Some(StatusChange::Missed(missed)) = changes.next().await else {
        panic!("nothing was missed");
    };
    assert!(missed > 1_000, "{missed}");
    assert!(matches!(
        changes.next().await,
        Some(StatusChange::Contender(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_store_in_trouble_is_not_well_until_it_answers_again() {
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    assert!(coordinator.status().is_store_well);
    let _guard = coordinator.lock("report").unwrap().acquire().await.unwrap();
    stage.cut();
    tokio::time::sleep(seconds(12)).await;
    assert!(!coordinator.status().is_store_well);
    stage.faults.heal();
    tokio::time::sleep(seconds(3)).await;
    assert!(coordinator.status().is_store_well);
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_stays_in_scope_does_not_keep_the_store_in_trouble() {
    let (log, _log_guard) = Log::begin();
    let recorder = TestRecorder::default();
    let _recorder_guard = metrics::set_default_local_recorder(&recorder);
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let guard = coordinator.lock("report").unwrap().acquire().await.unwrap();
    stage.cut();
    guard.tenure().lost().await;
    tokio::time::sleep(seconds(1)).await;
    // Nothing is tried before the guard goes, so nothing fails.
    assert!(coordinator.status().is_store_well);
    assert_eq!(recorder.get(IN_TROUBLE), 0.0);
    // But the store has not answered.
    let told = || log.messages(Level::INFO, "tenure::store");
    assert_eq!(told(), ["the store is in trouble"]);
    stage.faults.heal();
    let other = coordinator.lock("other").unwrap().acquire().await.unwrap();
    assert_eq!(
        told(),
        ["the store is in trouble", "the store is well again"]
    );
    drop((guard, other));
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_is_not_read_does_not_keep_the_store_in_trouble() {
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let campaign = coordinator.elector("billing").unwrap().campaign().unwrap();
    tokio::time::sleep(seconds(1)).await;
    stage.cut();
    // What was won is given back unread, which fails until the lease is over.
    let mut has_failed = false;
    for _ in 0..60 {
        tokio::time::sleep(seconds(1)).await;
        has_failed |= !coordinator.status().is_store_well;
    }
    assert!(has_failed);
    assert!(coordinator.status().is_store_well);
    drop(campaign);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_could_not_read_the_ledger_is_well_while_another_leads() {
    let stage = FaultyStore::new();
    let (first, second) = (stage.coordinator(), stage.coordinator());
    let config = ScheduleConfig::rate(Duration::ZERO, seconds(1_000)).unwrap();
    let leader = first.scheduler("tidy", config.clone()).unwrap();
    let leader = leader.start(|_| async {}).unwrap();
    while leader.status().runs < 1 {
        tokio::time::sleep(seconds(1)).await;
    }
    stage.faults.always(Call::ReadLedger, Fault::Fail);
    let mut troubles = second.troubles();
    let standby = second.scheduler("tidy", config).unwrap();
    let standby = standby.start(|_| async {}).unwrap();
    assert!(troubles.next().await.is_some());
    tokio::time::sleep(seconds(5)).await;
    assert!(second.status().is_store_well);
    standby.stop().await.unwrap();
    leader.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_has_ended_does_not_keep_the_store_in_trouble() {
    let stage = FaultyStore::new();
    let coordinator = stage.coordinator();
    let config = ScheduleConfig::rate(Duration::ZERO, seconds(1_000)).unwrap();
    let scheduler = coordinator.scheduler("tidy", config).unwrap();
    stage.faults.always(Call::ReadLedger, Fault::Fail);
    let handle = scheduler.start(|_| async {}).unwrap();
    tokio::time::sleep(seconds(5)).await;
    assert!(!coordinator.status().is_store_well);
    handle.stop().await.unwrap();
    assert!(coordinator.status().is_store_well);
    drop(scheduler);
}

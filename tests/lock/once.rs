//! Work that is done once in a period.

use std::time::Duration;

use tenure::backend::Backend;
use tenure::clock::Clock;
use tenure::lock::{GuardedTurn, Lock, LockGuard, LockOptions, Turn};
use tenure::model::MutexName;
use tenure::stores::memory::Memory;
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Host {
    coordinator: Coordinator,
    faults: Faults,
}

fn host(store: &Memory, clock: &Clock, seed: u64) -> Host {
    let faults = Faults::new(clock.clone());
    let backend = FaultBackend::new(store.another_client(), &faults);
    let coordinator = Coordinator::builder()
        .clock(clock.clone())
        .deterministic(seed)
        .with_backend(backend)
        .unwrap();
    Host {
        coordinator,
        faults,
    }
}

fn hosts() -> (Memory, [Host; 2]) {
    let clock = Clock::tokio();
    let store = Memory::with_clock(clock.clone());
    let hosts = [1, 2].map(|seed| host(&store, &clock, seed));
    (store, hosts)
}

async fn lock(host: &Host) -> LockGuard {
    host.coordinator
        .lock("nightly")
        .unwrap()
        .acquire()
        .await
        .unwrap()
}

/// Whether it was this host's turn, which it then did.
async fn does(host: &Host, period: Duration) -> bool {
    let guard = lock(host).await;
    let is_ours = match guard.once_per(period).await.unwrap() {
        Turn::Ours(turn) => turn.done().await.unwrap(),
        Turn::Done(_) => false,
    };
    guard.release().await.unwrap();
    is_ours
}

#[tokio::test(start_paused = true)]
async fn the_second_host_is_told_when_and_by_whom_it_was_done() {
    let (store, [one, two]) = hosts();
    let name = MutexName::new("nightly").unwrap();
    let guard = lock(&one).await;
    let begun = store.owner(&name).await.unwrap().now();
    let Turn::Ours(turn) = guard.once_per(DAY).await.unwrap() else {
        panic!("nobody has done it")
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(turn.done().await.unwrap());
    let (token, id) = (
        guard.token().unwrap(),
        guard.tenure().contender().to_string(),
    );
    guard.release().await.unwrap();
    let guard = lock(&two).await;
    let Turn::Done(before) = guard.once_per(DAY).await.unwrap() else {
        panic!("it has been done")
    };
    assert_eq!((&*before.by, before.token), (id.as_str(), token));
    assert_eq!(
        before.begun_at, begun,
        "the period counts from the beginning"
    );
    assert_eq!(before.done_at, begun + Duration::from_secs(5));
    assert_eq!(before.again_at, begun + (DAY - DAY / 10));
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_comes_a_little_early_is_not_left_out() {
    let (_, [one, two]) = hosts();
    assert!(does(&one, DAY).await);
    assert!(!does(&two, DAY).await);
    tokio::time::sleep(DAY / 2).await;
    assert!(!does(&one, DAY).await);
    assert!(
        does(&two, DAY / 2).await,
        "the period that is asked for counts"
    );
    tokio::time::sleep(DAY - Duration::from_secs(60)).await;
    assert!(does(&one, DAY).await);
}

#[tokio::test(start_paused = true)]
async fn what_failed_or_was_not_recorded_may_be_repeated_at_once() {
    let (_, [one, two]) = hosts();
    let guard = lock(&one).await;
    let Turn::Ours(turn) = guard.once_per(DAY).await.unwrap() else {
        panic!("nobody has done it")
    };
    assert!(turn.failed().await.unwrap());
    let Turn::Ours(cut) = guard.once_per(DAY).await.unwrap() else {
        panic!("it failed")
    };
    drop(cut);
    guard.release().await.unwrap();
    assert!(does(&two, DAY).await, "it was cut short");
    assert!(!does(&one, DAY).await);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_neither_repeat_nor_forget_it() {
    let (_, [one, two]) = hosts();
    one.faults.next(Call::FinishTick, Fault::LoseAnswer);
    one.faults.next(Call::FinishTick, Fault::Fail);
    assert!(does(&one, DAY).await);
    assert!(!does(&two, DAY).await);
    tokio::time::sleep(DAY).await;
    two.faults.next(Call::ClaimTick, Fault::LoseAnswer);
    let guard = lock(&two).await;
    let error = guard.once_per(DAY).await.unwrap_err();
    assert_eq!(error.mutex().unwrap().as_str(), "nightly");
    let Turn::Ours(turn) = guard.once_per(DAY).await.unwrap() else {
        panic!("it was begun and not done")
    };
    assert!(turn.done().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_end_after_anothers_turn_is_not_recorded() {
    let (_, [one, two]) = hosts();
    let guard = lock(&one).await;
    let Turn::Ours(late) = guard.once_per(DAY).await.unwrap() else {
        panic!("nobody has done it")
    };
    guard.release().await.unwrap();
    assert!(does(&two, DAY).await);
    assert!(!late.done().await.unwrap(), "it is another's by now");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_said() {
    let (_, [one, two]) = hosts();
    let guard = lock(&one).await;
    let error = guard.once_per(Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    guard.release().await.unwrap();
    let config = tenure::schedule::ScheduleConfig::rate(Duration::ZERO, DAY).unwrap();
    let schedule = two
        .coordinator
        .scheduler("nightly", config.clone())
        .unwrap();
    let handle = schedule.start(|_| async {}).unwrap();
    while handle.status().last_run.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    handle.stop().await.unwrap();
    let guard = lock(&one).await;
    let error = guard.once_per(DAY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(
        error.to_string().contains("a schedule has this name"),
        "{error}"
    );
    // After a loss the store says so.
    one.coordinator.revoke("nightly", None).await.unwrap();
    let name = "other";
    let lock = one.coordinator.lock(name).unwrap();
    let guard = lock.acquire().await.unwrap();
    one.coordinator.revoke(name, None).await.unwrap();
    let error = guard.once_per(DAY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_taken_only_by_who_has_work_to_do() {
    let (_, [one, two]) = hosts();
    let [one, two] = [one, two].map(|host| host.coordinator.lock("nightly").unwrap());
    let GuardedTurn::Ours(guard, turn) = one.once_per(DAY).await.unwrap() else {
        panic!("nobody has done it")
    };
    let by = guard.tenure().contender().to_string();
    assert!(two.try_acquire().await.unwrap().is_none(), "it is held");
    assert!(turn.done().await.unwrap());
    guard.release().await.unwrap();
    let GuardedTurn::Done(before) = two.once_per(DAY).await.unwrap() else {
        panic!("it has been done")
    };
    assert_eq!(&*before.by, by);
    assert_eq!(one.owner().await.unwrap(), None, "and nobody holds it");
    let error = two.once_per(Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        one.acquire_within(DAY).await.unwrap().is_some(),
        "given back"
    );
}

const LEAST: Duration = Duration::from_secs(60);

/// The lock of both hosts, kept for a while after short work.
fn kept(hosts: &[Host; 2]) -> [Lock; 2] {
    let options = LockOptions::default().with_at_least_for(LEAST);
    [0, 1].map(|host| {
        let coordinator = &hosts[host].coordinator;
        coordinator.lock_with("minutely", options.clone()).unwrap()
    })
}

#[tokio::test]
async fn a_lock_cannot_be_held_for_longer_than_it_may_be() {
    let (_, hosts) = hosts();
    let coordinator = &hosts[0].coordinator;
    let with = |most| {
        let options = LockOptions::default().with_at_least_for(LEAST);
        coordinator.lock_with("minutely", options.with_max_hold(most))
    };
    let error = with(LEAST - Duration::from_millis(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let said = error.to_string();
    assert!(
        said.contains("at_least_for") && said.contains("max_hold"),
        "{said}"
    );
    with(LEAST).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_held_for_at_least_a_time_is_not_free_before() {
    let (_, hosts) = hosts();
    let [one, two] = kept(&hosts);
    for is_dropped in [true, false] {
        let begun = tokio::time::Instant::now();
        let guard = one.acquire().await.unwrap();
        let released = match is_dropped {
            true => {
                drop(guard);
                begun.elapsed()
            }
            false => {
                guard.release().await.unwrap();
                begun.elapsed()
            }
        };
        assert_eq!(released >= LEAST, !is_dropped, "{released:?}");
        // Renewed for all that time, which is longer than a lease.
        let next = two.acquire().await.unwrap();
        assert!(begun.elapsed() >= LEAST, "{:?}", begun.elapsed());
        // Who has worked for longer than that keeps it no longer.
        tokio::time::sleep(LEAST).await;
        let done = tokio::time::Instant::now();
        next.release().await.unwrap();
        assert!(done.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_for_who_has_nothing_to_do_or_has_lost_it() {
    let (_, hosts) = hosts();
    let [one, two] = kept(&hosts);
    let GuardedTurn::Ours(guard, turn) = one.once_per(DAY).await.unwrap() else {
        panic!("nobody has done it")
    };
    turn.done().await.unwrap();
    guard.release().await.unwrap();
    let begun = tokio::time::Instant::now();
    assert!(matches!(
        two.once_per(DAY).await.unwrap(),
        GuardedTurn::Done(_)
    ));
    let guard = one.acquire().await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    hosts[1].coordinator.revoke("minutely", None).await.unwrap();
    let error = guard.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert!(begun.elapsed() < LEAST, "{:?}", begun.elapsed());
    // Closing gives back what is kept.
    drop(one.acquire().await.unwrap());
    let begun = tokio::time::Instant::now();
    hosts[0].coordinator.close().await.unwrap();
    assert!(two.acquire().await.is_ok());
    assert!(begun.elapsed() < LEAST / 2, "{:?}", begun.elapsed());
}

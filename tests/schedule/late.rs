//! Runs that are later than the late limit.

use std::time::Duration;

use tenure::backend::TickState;
use tenure::lock::Turn;
use tenure::schedule::{Misfire, ScheduleConfig, Unfinished};
use tenure_testkit::fault::{Call, Fault};

use super::support::{Diary, World, millis, rate, seconds, until};

/// The ticks that are run when tick 2 of a rate of 10 s ends at 58 s, how many
/// were too late, and how many left out by the misfire rule.
async fn after_a_long_run(misfire: Misfire, limit: Duration) -> (Vec<u64>, u64, u64) {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = rate(seconds(10)).with_misfire(misfire);
    let scheduler = world
        .process()
        .scheduler(config.with_late_limit(limit).unwrap());
    let long = |tick: &tenure::Tick| seconds(if tick.number() == 2 { 38 } else { 1 });
    let handle = scheduler.start(diary.job(0, long)).unwrap();
    until(|| diary.ticks().contains(&6)).await;
    let status = handle.status();
    (diary.ticks(), status.too_late, status.skipped)
}

#[tokio::test(start_paused = true)]
async fn the_last_late_tick_is_skipped_when_it_is_too_late() {
    let once = |limit| after_a_long_run(Misfire::Once, seconds(limit));
    assert_eq!(once(7).await, (vec![0, 1, 2, 6], 1, 2), "8 s late");
    assert_eq!(once(9).await, (vec![0, 1, 2, 5, 6], 0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_burst_begins_with_the_first_that_is_not_too_late() {
    let burst = |limit| after_a_long_run(Misfire::Burst, seconds(limit));
    assert_eq!(burst(15).await, (vec![0, 1, 2, 5, 6], 1, 1));
    assert_eq!(burst(20).await, (vec![0, 1, 2, 4, 5, 6], 1, 0));
    assert_eq!(burst(40).await, (vec![0, 1, 2, 3, 4, 5, 6], 0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_the_misfire_rule_leaves_out_is_not_too_late() {
    let skip = after_a_long_run(Misfire::Skip, millis(1)).await;
    assert_eq!(skip, (vec![0, 1, 2, 6], 0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_is_just_as_late_as_it_may_be_is_run() {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = rate(seconds(10)).with_late_limit(seconds(5)).unwrap();
    let long = |tick: &tenure::Tick| seconds(if tick.number() == 0 { 15 } else { 1 });
    let scheduler = world.process().scheduler(config);
    let _handle = scheduler.start(diary.job(0, long)).unwrap();
    until(|| diary.runs().len() == 3).await;
    assert_eq!(diary.ticks(), [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_skipped_tick_is_recorded_with_its_number_and_due_time() {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = || rate(seconds(60)).with_late_limit(seconds(5)).unwrap();
    let (dying, heir) = (world.process(), world.process());
    let one = dying
        .scheduler(config())
        .start(diary.job(1, |_| millis(10)));
    until(|| one.as_ref().unwrap().status().last_run.is_some()).await;
    let first = diary.runs().remove(0);
    tokio::time::sleep(seconds(55)).await;
    dying.fate.kill();
    let two = heir.scheduler(config()).start(diary.job(2, |_| millis(10)));
    let two = two.unwrap();
    until(|| two.status().too_late == 1).await;
    until(|| two.status().next_run.is_some()).await;
    let entry = world.ledger().await.unwrap();
    assert_eq!((entry.last_tick, entry.state), (1, TickState::Skipped));
    assert_eq!(entry.due_at, first.due_at + seconds(60));
    assert!(entry.finished_at.is_some() && entry.begun_at.is_none());
    until(|| diary.runs().len() == 2).await;
    let next = diary.runs().remove(1);
    assert_eq!((next.tick, next.process), (2, 2));
    until(|| two.status().last_run.is_some()).await;
    let entry = world.ledger().await.unwrap();
    assert!(entry.begun_at.is_some(), "a run says when it began");
}

#[tokio::test(start_paused = true)]
async fn a_delay_counts_from_when_its_tick_was_skipped() {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = || {
        let delay = ScheduleConfig::delay(Duration::ZERO, seconds(10)).unwrap();
        delay.with_late_limit(seconds(2)).unwrap()
    };
    let (dying, heir) = (world.process(), world.process());
    drop(
        dying
            .scheduler(config())
            .start(diary.job(1, |_| millis(10))),
    );
    until(|| diary.runs().len() == 2).await;
    tokio::time::sleep(seconds(5)).await;
    dying.fate.kill();
    let two = heir.scheduler(config()).start(diary.job(2, |_| millis(10)));
    let two = two.unwrap();
    until(|| two.status().too_late == 1).await;
    let skipped_at = world.clock.now();
    until(|| diary.runs().len() == 3).await;
    let next = diary.runs().remove(2);
    assert_eq!(next.tick, 3, "2 was skipped");
    let pause = next.began.since(skipped_at);
    assert!(pause > seconds(9) && pause < seconds(11), "{pause:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_tick_is_run_again_only_while_it_is_not_too_late() {
    for (limit, is_rerun) in [(5, false), (60, true)] {
        let world = World::new();
        let diary = Diary::new(&world);
        let config = || {
            let config = rate(seconds(100)).with_rerun_of_unfinished();
            config.with_late_limit(seconds(limit)).unwrap()
        };
        let (dying, heir) = (world.process(), world.process());
        drop(
            dying
                .scheduler(config())
                .start(diary.job(1, |_| seconds(50))),
        );
        until(|| diary.runs().len() == 1).await;
        dying.fate.kill();
        let two = heir.scheduler(config()).start(diary.job(2, |_| seconds(1)));
        let two = two.unwrap();
        until(|| two.status().too_late + two.status().runs == 1).await;
        let of_heir: Vec<_> = diary
            .runs()
            .into_iter()
            .filter(|run| run.process == 2)
            .collect();
        assert_eq!(of_heir.len(), usize::from(is_rerun), "{of_heir:?}");
        assert!(of_heir.iter().all(|run| run.is_rerun && run.tick == 0));
        until(|| two.status().next_run.is_some()).await;
        let state = world.ledger().await.unwrap().state;
        let expected = if is_rerun {
            TickState::Done
        } else {
            TickState::Skipped
        };
        assert_eq!(state, expected, "limit {limit}");
        assert_eq!(two.status().unfinished, 1, "reported in any case");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cut_again_and_again_is_given_up_when_it_is_too_late() {
    let world = World::new();
    let config = rate(seconds(100)).with_rerun_of_unfinished();
    let scheduler = world
        .process()
        .scheduler(config.with_late_limit(seconds(3)).unwrap());
    let handle = scheduler
        .start(|_| async { Err::<(), _>(Unfinished::new("cut")) })
        .unwrap();
    until(|| handle.status().too_late == 1).await;
    assert!(handle.status().runs > 1, "{:?}", handle.status());
    until(|| handle.status().next_run.is_some()).await;
    let entry = world.ledger().await.unwrap();
    assert_eq!((entry.last_tick, entry.state), (0, TickState::Skipped));
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_takes_too_long_makes_its_tick_too_late() {
    for (limit, runs) in [(seconds(2), 0), (seconds(60), 1)] {
        let world = World::new();
        let diary = Diary::new(&world);
        let process = world.process();
        let config = ScheduleConfig::rate(seconds(20), seconds(100)).unwrap();
        let scheduler = process.scheduler(config.with_late_limit(limit).unwrap());
        let handle = scheduler.start(diary.job(1, |_| millis(10))).unwrap();
        until(|| handle.status().next_run.is_some()).await;
        process.faults.always(Call::ClaimTick, Fault::Fail);
        tokio::time::sleep(seconds(25)).await;
        assert!(diary.runs().is_empty());
        process.faults.heal();
        until(|| handle.status().too_late + handle.status().runs == 1).await;
        assert_eq!(diary.runs().len(), runs, "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_is_skipped_does_no_work_that_is_done_once_in_a_period() {
    let world = World::new();
    let process = world.process();
    let config = rate(seconds(10)).with_late_limit(seconds(1)).unwrap();
    let lock = process.coordinator.lock("work").unwrap();
    let done = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (tell, clock) = (std::sync::Arc::clone(&done), world.clock.clone());
    let job = move |tick: tenure::Tick| {
        let (lock, tell, clock) = (lock.clone(), std::sync::Arc::clone(&tell), clock.clone());
        async move {
            if tick.number() == 0 {
                clock.sleep(seconds(15)).await; // So that tick 1 is 5 s late.
                return Ok(());
            }
            let guard = lock.acquire().await?;
            if let Turn::Ours(turn) = guard.once_per(seconds(1_000)).await? {
                tell.lock().unwrap().push(tick.number());
                turn.done().await?;
            }
            guard.release().await
        }
    };
    let handle = process.scheduler(config).start(job).unwrap();
    until(|| handle.status().runs == 4).await;
    assert_eq!(handle.status().too_late, 1);
    assert_eq!(*done.lock().unwrap(), [2], "not 1, and only once");
}

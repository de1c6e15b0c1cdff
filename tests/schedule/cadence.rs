//! Fixed rate, fixed delay, cron, and late ticks.

use std::time::Duration;

use tenure::schedule::{Misfire, ScheduleConfig};

use super::support::{Diary, World, millis, rate, seconds, until};

#[tokio::test(start_paused = true)]
async fn a_rate_keeps_its_grid() {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = ScheduleConfig::rate(seconds(2), seconds(5)).unwrap();
    let scheduler = world.process().scheduler(config);
    let begin = world.clock.now();
    let _handle = scheduler
        .start(diary.job(0, |tick| millis(100 * (1 + tick.number() % 7))))
        .unwrap();
    tokio::time::sleep(seconds(120)).await;
    let runs = diary.runs();
    assert_eq!(diary.ticks(), (0..24).collect::<Vec<_>>());
    for run in &runs {
        let due = seconds(2) + seconds(5) * u32::try_from(run.tick).unwrap();
        let at = run.began.since(begin);
        assert!(at >= due && at < due + millis(5), "{run:?} at {at:?}");
        let grid = run.due_at.since(runs[0].due_at);
        assert_eq!(grid, seconds(5) * u32::try_from(run.tick).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_counts_from_the_end_of_the_last_run() {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = ScheduleConfig::delay(Duration::ZERO, seconds(5)).unwrap();
    let scheduler = world.process().scheduler(config);
    let _handle = scheduler.start(diary.job(0, |_| seconds(3))).unwrap();
    tokio::time::sleep(seconds(79)).await;
    let runs = diary.runs();
    assert_eq!(diary.ticks(), (0..10).collect::<Vec<_>>());
    for pair in runs.windows(2) {
        let pause = pair[1].began.since(pair[0].ended.unwrap());
        assert!(pause >= millis(4_999) && pause < millis(5_010), "{pause:?}");
    }
}

/// The ticks that are run when tick 2 of a rate of 10 s takes 35 s.
async fn after_a_long_run(misfire: Misfire) -> (Vec<u64>, u64) {
    let world = World::new();
    let diary = Diary::new(&world);
    let scheduler = world
        .process()
        .scheduler(rate(seconds(10)).with_misfire(misfire));
    let long = |tick: &tenure::Tick| {
        if tick.number() == 2 {
            seconds(35)
        } else {
            seconds(1)
        }
    };
    let handle = scheduler.start(diary.job(0, long)).unwrap();
    until(|| diary.ticks().last() >= Some(&8)).await;
    for pair in diary.runs().windows(2) {
        assert!(pair[1].began >= pair[0].ended.unwrap(), "one at a time");
    }
    handle.stop().await.unwrap();
    (diary.ticks(), handle.status().skipped)
}

#[tokio::test(start_paused = true)]
async fn late_ticks_are_skipped() {
    // Tick 2 runs from 20 to 55: those of 30, 40 and 50 are left out.
    let ran = after_a_long_run(Misfire::Skip).await;
    assert_eq!(ran, (vec![0, 1, 2, 6, 7, 8], 3));
}

#[tokio::test(start_paused = true)]
async fn late_ticks_are_run_once() {
    let ran = after_a_long_run(Misfire::Once).await;
    assert_eq!(ran, (vec![0, 1, 2, 5, 6, 7, 8], 2));
}

#[tokio::test(start_paused = true)]
async fn late_ticks_are_all_run() {
    let ran = after_a_long_run(Misfire::Burst).await;
    assert_eq!(ran, ((0..=8).collect(), 0));
}

#[cfg(feature = "cron")]
#[tokio::test(start_paused = true)]
async fn cron_runs_on_the_seconds_of_the_store() {
    let world = World::new();
    let diary = Diary::new(&world);
    let config = ScheduleConfig::cron("*/10 * * * * *", "Europe/Zurich").unwrap();
    let scheduler = world.process().scheduler(config);
    let _handle = scheduler.start(diary.job(0, |_| seconds(1))).unwrap();
    until(|| diary.runs().len() == 12).await;
    assert_eq!(diary.ticks(), (0..12).collect::<Vec<_>>());
    for pair in diary.runs().windows(2) {
        assert_eq!(pair[0].due_at.as_millis() % 10_000, 0);
        assert_eq!(pair[1].due_at.since(pair[0].due_at), seconds(10));
        let apart = pair[1].began.since(pair[0].began);
        assert!(apart > millis(9_990) && apart < millis(10_010));
    }
}

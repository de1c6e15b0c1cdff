//! Different configs under one name, and input that cannot be right.

use std::time::Duration;

use tenure::ErrorKind;
use tenure::schedule::{ScheduleConfig, Strategy};
use tenure_testkit::fault::{Call, Fault};

use super::support::{Diary, NAME, World, millis, rate, seconds, until};

#[tokio::test(start_paused = true)]
async fn another_config_under_the_same_name_is_refused_at_its_start() {
    let world = World::new();
    let diary = Diary::new(&world);
    let (first, second) = (world.process(), world.process());
    let one = first
        .scheduler(rate(seconds(5)))
        .start(diary.job(1, |_| millis(10)))
        .unwrap();
    until(|| diary.runs().len() == 1).await;
    let other = second.scheduler(rate(seconds(7)));
    let error = other.run(|_| async {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.mutex().unwrap().as_str(), NAME);
    let text = error.to_string();
    for words in [
        "rate 5000ms after 0ms",
        "rate 7000ms after 0ms",
        "with_plan_replaced",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert!(!other.running());
    let ended = other.start(|_| async {}).unwrap().ended().await;
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Conflict);
    assert!(one.running(), "the one in office is not disturbed");
}

#[tokio::test(start_paused = true)]
async fn another_config_is_refused_in_office_at_the_latest() {
    let world = World::new();
    let diary = Diary::new(&world);
    let (first, second) = (world.process(), world.process());
    let waiting = ScheduleConfig::delay(seconds(3), seconds(5)).unwrap();
    let one = first
        .scheduler(waiting)
        .start(diary.job(1, |_| millis(10)))
        .unwrap();
    until(|| one.status().next_run.is_some()).await;
    // The store does not answer at the start: the conflict cannot be seen.
    second.faults.next(Call::ReadLedger, Fault::Fail);
    let two = second
        .scheduler(rate(seconds(7)))
        .start(diary.job(2, |_| millis(10)))
        .unwrap();
    until(|| diary.runs().len() == 2).await;
    assert!(two.running());
    one.stop().await.unwrap();
    let error = two.ended().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(diary.runs().iter().all(|run| run.process == 1));
    let lock = first.coordinator.lock(NAME).unwrap();
    assert!(
        lock.try_acquire().await.unwrap().is_some(),
        "the office was given back"
    );
}

#[tokio::test(start_paused = true)]
async fn a_plan_can_be_replaced() {
    let world = World::new();
    let diary = Diary::new(&world);
    let (first, second, third) = (world.process(), world.process(), world.process());
    let one = first
        .scheduler(rate(seconds(5)))
        .start(diary.job(1, |_| millis(10)))
        .unwrap();
    until(|| diary.runs().len() == 3).await;
    let config = rate(seconds(7)).with_plan_replaced();
    let two = second
        .scheduler(config)
        .start(diary.job(2, |_| millis(10)))
        .unwrap();
    let old = third
        .scheduler(rate(seconds(5)))
        .start(diary.job(3, |_| millis(10)))
        .unwrap();
    tokio::time::sleep(millis(10)).await;
    one.stop().await.unwrap();
    until(|| diary.runs().len() == 6).await;
    let runs = diary.runs();
    assert_eq!(diary.ticks(), [0, 1, 2, 3, 4, 5], "the numbers go on");
    assert_eq!(runs[5].due_at.since(runs[4].due_at), seconds(7));
    two.stop().await.unwrap();
    let error = old.ended().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "the old plan is refused");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_at_the_start_is_no_conflict() {
    let world = World::new();
    let diary = Diary::new(&world);
    let process = world.process();
    process.faults.next(Call::ReadLedger, Fault::Fail);
    process.faults.next(Call::ReadLedger, Fault::Hang);
    let handle = process
        .scheduler(rate(seconds(5)))
        .start(diary.job(1, |_| millis(10)))
        .unwrap();
    until(|| diary.runs().len() == 2).await;
    handle.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_need_not_wait_for_a_store_that_does_not_answer() {
    let world = World::new();
    let process = world.process();
    process.faults.always(Call::ReadLedger, Fault::Fail);
    let handle = process
        .scheduler(rate(seconds(5)))
        .start(|_| async {})
        .unwrap();
    until(|| handle.status().leading.is_some()).await;
    let begin = world.clock.now();
    handle.stop().await.unwrap();
    assert!(world.clock.now().since(begin) < seconds(1));
}

#[tokio::test(start_paused = true)]
async fn input_that_cannot_be_right_is_refused_before_any_call() {
    let world = World::new();
    let process = world.process();
    let (zero, day) = (Duration::ZERO, seconds(86_400));
    let cases = [
        (
            ScheduleConfig::rate(zero, zero),
            "a period must be at least 1 ms",
        ),
        (
            ScheduleConfig::delay(zero, zero),
            "a period must be at least 1 ms",
        ),
        (
            ScheduleConfig::rate(zero, Duration::from_micros(1_500)),
            "a period must be a whole number of milliseconds",
        ),
        (
            ScheduleConfig::rate(Duration::from_nanos(1_000_001), day),
            "an initial delay must be a whole number of milliseconds",
        ),
        (
            ScheduleConfig::delay(zero, Duration::MAX),
            "a period must be",
        ),
        (
            ScheduleConfig::delay(zero, day * 365 * 101),
            "at most 100 years",
        ),
        (
            rate(day).with_time_limit(zero),
            "a time limit must be at least 1 ms",
        ),
    ];
    for (config, words) in cases {
        let error = config.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(words), "{error}");
    }
    for name in ["", " padded", "control\u{7}", &"x".repeat(67)] {
        let error = process.coordinator.scheduler(name, rate(day)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name:?}");
    }
    for worker in ["", "nul\0", &"x".repeat(65)] {
        let error = process
            .scheduler(rate(day))
            .with_worker(worker)
            .unwrap_err();
        assert!(error.to_string().contains("1 to 64 bytes"), "{error}");
    }
    assert!(
        process.faults.log().is_empty(),
        "nothing was asked of the store"
    );
}

#[test]
fn a_config_says_what_it_is() {
    let rate = ScheduleConfig::rate(seconds(1), seconds(2)).unwrap();
    let delay = ScheduleConfig::delay(seconds(3), seconds(4)).unwrap();
    assert_eq!(rate.strategy(), Strategy::FixedRate);
    assert_eq!(delay.strategy(), Strategy::FixedDelay);
    assert_eq!(
        (rate.initial_delay(), rate.period()),
        (seconds(1), Some(seconds(2)))
    );
    assert_eq!(
        (delay.initial_delay(), delay.period()),
        (seconds(3), Some(seconds(4)))
    );
    assert_eq!(delay.plan(), "delay 4000ms after 3000ms");
    #[cfg(feature = "cron")]
    {
        let cron = ScheduleConfig::cron("@daily", "UTC").unwrap();
        assert_eq!((cron.strategy(), cron.period()), (Strategy::Cron, None));
    }
}

//! Before the first run: the plan stands from the first leader on.

use tenure::ErrorKind;
use tenure::backend::TickState;
use tenure::schedule::{Misfire, ScheduleConfig};
use tenure_testkit::fault::{Call, Fault};

use super::support::{Diary, World, millis, rate, seconds, until};

fn after(initial: u64, period: u64) -> ScheduleConfig {
    ScheduleConfig::rate(seconds(initial), seconds(period)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_initial_delay_does_not_begin_again_with_each_restart() {
    for config in [
        after(60, 10),
        ScheduleConfig::delay(seconds(60), seconds(10)).unwrap(),
    ] {
        let world = World::new();
        let diary = Diary::new(&world);
        let begin = world.clock.now();
        while diary.runs().is_empty() {
            let took = world.clock.now().since(begin);
            assert!(took < seconds(90), "no run in {took:?}");
            let process = world.process();
            let scheduler = process.scheduler(config.clone());
            let handle = scheduler.start(diary.job(1, |_| millis(10))).unwrap();
            tokio::time::sleep(seconds(7)).await;
            handle.stop().await.unwrap();
        }
        let first = diary.runs().remove(0);
        assert_eq!(first.tick, 0);
        let took = first.began.since(begin);
        assert!(took >= seconds(60) && took < seconds(61), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_initial_delay_goes_on_after_the_death_of_the_first_leader() {
    let world = World::new();
    let diary = Diary::new(&world);
    let (dying, heir) = (world.process(), world.process());
    let one = dying
        .scheduler(after(60, 10))
        .start(diary.job(1, |_| millis(10)));
    let one = one.unwrap();
    until(|| one.status().next_run.is_some()).await;
    let entry = world.ledger().await.expect("the plan is written");
    assert_eq!((entry.last_tick, entry.state), (0, TickState::Planned));
    dying.fate.kill();
    drop(
        heir.scheduler(after(60, 10))
            .start(diary.job(2, |_| millis(10))),
    );
    until(|| !diary.runs().is_empty()).await;
    let first = &diary.runs()[0];
    assert_eq!((first.process, first.tick), (2, 0));
    assert_eq!(first.due_at, entry.origin + seconds(60));
    assert!(first.token > entry.token);
}

#[tokio::test(start_paused = true)]
async fn the_first_tick_that_was_missed_follows_the_rule() {
    // Due at 30, 40 and 50; the next leader comes at 55.
    for (misfire, ticks) in [
        (Misfire::Skip, [3, 4, 5]),
        (Misfire::Once, [2, 3, 4]),
        (Misfire::Burst, [0, 1, 2]),
    ] {
        let world = World::new();
        let diary = Diary::new(&world);
        let config = after(30, 10).with_misfire(misfire);
        let first = world.process().scheduler(config.clone());
        let handle = first.start(diary.job(1, |_| millis(10))).unwrap();
        tokio::time::sleep(seconds(5)).await;
        handle.stop().await.unwrap();
        tokio::time::sleep(seconds(50)).await;
        let next = world.process().scheduler(config);
        drop(next.start(diary.job(2, |_| millis(10))).unwrap());
        until(|| diary.runs().len() == 3).await;
        assert_eq!(diary.ticks(), ticks, "{misfire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_begins_at_once_does_so_under_every_rule() {
    for misfire in [Misfire::Skip, Misfire::Once, Misfire::Burst] {
        let world = World::new();
        let diary = Diary::new(&world);
        let process = world.process();
        // Its plan takes a while to be written: that is not late.
        process
            .faults
            .next(Call::ClaimTick, Fault::DelayBefore(seconds(2)));
        let config = rate(seconds(1)).with_misfire(misfire);
        drop(
            process
                .scheduler(config)
                .start(diary.job(1, |_| millis(10))),
        );
        until(|| !diary.runs().is_empty()).await;
        assert_eq!(diary.ticks()[0], 0, "{misfire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_plan_is_noticed_before_the_first_run() {
    let world = World::new();
    let (first, second) = (world.process(), world.process());
    let one = first
        .scheduler(after(86_400, 10))
        .start(|_| async {})
        .unwrap();
    until(|| one.status().next_run.is_some()).await;
    let other = second.scheduler(rate(seconds(7)));
    let refused = tokio::time::timeout(seconds(60), other.run(|_| async {})).await;
    let error = refused.expect("it is noticed at its start").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    // A plan that replaces it is noticed at once as well.
    one.stop().await.unwrap();
    let config = after(86_400, 7).with_plan_replaced();
    let two = second.scheduler(config).start(|_| async {}).unwrap();
    until(|| two.status().next_run.is_some()).await;
    assert_eq!(two.status().next_run.unwrap().tick, 0, "nothing was run");
    let old = first.scheduler(after(86_400, 10));
    let refused = tokio::time::timeout(seconds(60), old.run(|_| async {})).await;
    let error = refused.expect("it is noticed at its start").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[tokio::test(start_paused = true)]
async fn a_plan_whose_answer_is_lost_is_written_once() {
    for fault in [
        Fault::Fail,
        Fault::LoseRequest,
        Fault::LoseAnswer,
        Fault::Duplicate,
    ] {
        let world = World::new();
        let diary = Diary::new(&world);
        let process = world.process();
        process.faults.next(Call::ClaimTick, fault);
        let handle = process
            .scheduler(after(30, 10))
            .start(diary.job(1, |_| millis(10)));
        let handle = handle.unwrap();
        until(|| handle.status().next_run.is_some()).await;
        let planned = world.ledger().await.unwrap();
        until(|| diary.runs().len() == 2).await;
        assert_eq!(diary.ticks(), [0, 1], "{fault:?}");
        assert_eq!(diary.runs()[0].due_at, planned.origin + seconds(30));
        assert_eq!(world.ledger().await.unwrap().origin, planned.origin);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_need_not_wait_for_a_plan_that_cannot_be_written() {
    let world = World::new();
    let process = world.process();
    process.faults.always(Call::ClaimTick, Fault::Fail);
    let handle = process
        .scheduler(after(30, 10))
        .start(|_| async {})
        .unwrap();
    until(|| handle.status().leading.is_some()).await;
    tokio::time::sleep(seconds(1)).await;
    let begin = world.clock.now();
    handle.stop().await.unwrap();
    assert!(world.clock.now().since(begin) < seconds(1));
}

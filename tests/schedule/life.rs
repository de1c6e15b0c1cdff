//! The life of a scheduler: errors, panics, limits, stop, restart, close.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tenure::backend::{Backend, TickState};
use tenure::schedule::{JobError, RunOutcome, ScheduleConfig, Unfinished};
use tenure::{Coordinator, ErrorKind};
use tenure_testkit::fault::{Call, Fault};

use super::mortal::{Fate, Mortal};
use super::support::{Diary, NAME, World, millis, rate, seconds, terms, until};

#[tokio::test(start_paused = true)]
async fn errors_and_panics_are_counted_and_the_schedule_goes_on() {
    let world = World::new();
    let scheduler = world.process().scheduler(rate(seconds(1)));
    let handle = scheduler
        .start(|tick| {
            assert!(tick.number() != 3, "before its first await");
            async move {
                tokio::task::yield_now().await;
                assert!(tick.number() != 1, "after it");
                if tick.number() == 2 {
                    return Err("it does not work");
                }
                Ok(())
            }
        })
        .unwrap();
    let mut outcomes = Vec::new();
    until(|| {
        let last = handle.status().last_run;
        outcomes.extend(last.filter(|run| run.tick == outcomes.len() as u64));
        outcomes.len() == 5
    })
    .await;
    let outcomes: Vec<_> = outcomes.iter().map(|run| run.outcome).collect();
    use RunOutcome::{Done, Failed, Panicked};
    assert_eq!(outcomes, [Done, Panicked, Failed, Panicked, Done]);
    let status = handle.status();
    assert_eq!((status.runs, status.failures, status.cut), (5, 3, 0));
    assert_eq!(world.ledger().await.unwrap().state, TickState::Done);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_given_up_at_its_time_limit() {
    let world = World::new();
    let config = rate(seconds(10)).with_time_limit(seconds(3)).unwrap();
    let handle = world
        .process()
        .scheduler(config)
        .start(|_| std::future::pending::<()>())
        .unwrap();
    until(|| handle.status().failures == 2).await;
    let last = handle.status().last_run.unwrap();
    assert_eq!((last.tick, last.outcome), (1, RunOutcome::TimedOut));
    assert!(last.took >= seconds(3) && last.took < millis(3_010));
    until(|| handle.status().next_run.is_some()).await;
    assert_eq!(world.ledger().await.unwrap().state, TickState::Failed);
}

#[tokio::test(start_paused = true)]
async fn stop_waits_for_the_run_and_then_releases() {
    let world = World::new();
    let diary = Diary::new(&world);
    let scheduler = world.process().scheduler(rate(seconds(20)));
    for life in 0..3 {
        let handle = scheduler.start(diary.job(life, |_| seconds(4))).unwrap();
        assert!(scheduler.running());
        until(|| diary.runs().len() == life + 1).await;
        handle.stop().await.unwrap();
        let run = diary.runs().pop().unwrap();
        assert!(run.ended.is_some(), "the run came to its end");
        assert!(!handle.running() && handle.status().leading.is_none());
        assert_eq!(world.ledger().await.unwrap().state, TickState::Done);
        let lock = world.process().coordinator.lock(NAME).unwrap();
        let free = lock.try_acquire().await.unwrap();
        free.expect("it was released").release().await.unwrap();
    }
    assert_eq!(
        diary.ticks(),
        [0, 1, 2],
        "each life goes on where the last stopped"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_the_stop_is_dropped_and_the_office_given_back() {
    let world = World::new();
    let diary = Diary::new(&world);
    let scheduler = world.process().scheduler(rate(seconds(20)));
    let handle = scheduler.start(diary.job(0, |_| seconds(999))).unwrap();
    until(|| diary.runs().len() == 1).await;
    let begin = world.clock.now();
    handle.stop().await.unwrap();
    let took = world.clock.now().since(begin);
    assert!(took >= seconds(30) && took < seconds(31), "{took:?}");
    assert_eq!(handle.status().cut, 1);
    let state = world.ledger().await.unwrap().state;
    assert_eq!(state, TickState::Claimed, "it did not end");
    let lock = world.process().coordinator.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.unwrap().is_some(), "released");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_cut_short_is_neither_done_nor_failed() {
    for rerun in [false, true] {
        let world = World::new();
        let mut config = rate(seconds(20));
        if rerun {
            config = config.with_rerun_of_unfinished();
        }
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let scheduler = world.process().scheduler(config);
        let job = move |tick: tenure::Tick| {
            tell.send((tick.number(), tick.is_rerun())).unwrap();
            let is_cut = tick.number() == 1 && !tick.is_rerun();
            async move {
                if is_cut {
                    return Err(JobError::from(Unfinished::new("told to end")));
                }
                Ok(())
            }
        };
        let handle = scheduler.start(job).unwrap();
        until(|| handle.status().cut == 1).await;
        let state = world.ledger().await.unwrap().state;
        assert_eq!(state, TickState::Claimed, "it has no end");
        until(|| handle.status().runs == 4).await;
        let status = handle.status();
        assert_eq!((status.failures, status.unfinished), (0, 1));
        let mut runs = Vec::new();
        while let Ok(run) = told.try_recv() {
            runs.push(run);
        }
        let expected = if rerun {
            [(0, false), (1, false), (1, true), (2, false)]
        } else {
            [(0, false), (1, false), (2, false), (3, false)]
        };
        assert_eq!(runs, expected);
        until(|| handle.status().next_run.is_some()).await;
        assert_eq!(world.ledger().await.unwrap().state, TickState::Done);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_always_cut_short_does_not_hold_up_a_stop() {
    let world = World::new();
    let config = rate(seconds(20)).with_rerun_of_unfinished();
    let scheduler = world.process().scheduler(config);
    let job = |_| async { Err(JobError::from(Unfinished::new("told to end"))) };
    let handle = scheduler.start(job).unwrap();
    until(|| handle.status().cut >= 3).await;
    let begin = world.clock.now();
    handle.stop().await.unwrap();
    assert!(world.clock.now().since(begin) < seconds(1));
    assert_eq!(world.ledger().await.unwrap().state, TickState::Claimed);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_runs_once_at_a_time() {
    let world = World::new();
    let scheduler = world.process().scheduler(rate(seconds(1)));
    let wrong = |result: tenure::Result<()>| result.unwrap_err().kind() == ErrorKind::WrongState;
    assert!(wrong(scheduler.stop().await));
    let handle = scheduler.start(|_| async {}).unwrap();
    assert!(wrong(scheduler.clone().start(|_| async {}).map(drop)));
    assert!(wrong(scheduler.run(|_| async {}).await));
    scheduler.stop().await.unwrap();
    assert!(wrong(handle.stop().await));
    handle.ended().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn stop_at_once_after_start_is_fine() {
    let world = World::new();
    let process = world.process();
    let scheduler = process.scheduler(rate(seconds(1)));
    for _ in 0..5 {
        let handle = scheduler.start(|_| async {}).unwrap();
        handle.stop().await.unwrap();
    }
    process.coordinator.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn close_lets_the_run_end_and_ends_the_scheduler() {
    let world = World::new();
    let diary = Diary::new(&world);
    let process = world.process();
    let scheduler = process.scheduler(rate(seconds(20)));
    drop(scheduler.start(diary.job(0, |_| seconds(4))).unwrap());
    until(|| diary.runs().len() == 1).await;
    process.coordinator.close().await.unwrap();
    assert!(diary.runs()[0].ended.is_some());
    assert!(!scheduler.running());
    assert_eq!(world.ledger().await.unwrap().state, TickState::Done);
    let error = scheduler.start(|_| async {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_drops_the_job_and_then_gives_the_office_back() {
    struct Job(Arc<AtomicBool>, tenure::Tenure);
    impl Drop for Job {
        fn drop(&mut self) {
            assert!(!self.1.is_lost(), "the office is kept while the job ends");
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let world = World::new();
    let scheduler = world.process().scheduler(rate(seconds(1)));
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let running = scheduler.run(move |tick| {
        let job = Job(Arc::clone(&flag), tick.tenure().clone());
        async move {
            std::future::pending::<()>().await;
            drop(job);
        }
    });
    assert!(tokio::time::timeout(seconds(40), running).await.is_err());
    assert!(dropped.load(Ordering::SeqCst));
    assert!(!scheduler.running());
    assert_eq!(scheduler.status().cut, 1);
    let lock = world.process().coordinator.lock(NAME).unwrap();
    let next = lock.acquire_within(seconds(1)).await.unwrap();
    assert!(next.is_some(), "released");
}

#[tokio::test(start_paused = true)]
async fn the_status_tells_what_comes() {
    let world = World::new();
    let config = ScheduleConfig::rate(seconds(7), seconds(5)).unwrap();
    let scheduler = world.process().scheduler(config);
    assert_eq!(
        scheduler.status(),
        tenure::schedule::ScheduleStatus::default()
    );
    let handle = scheduler
        .start(|tick| async move {
            drop(tick.tenure().protect(std::future::pending::<()>()).await);
        })
        .unwrap();
    until(|| handle.status().next_run.is_some()).await;
    let status = handle.status();
    assert!(status.running && status.leading.is_some() && status.current.is_none());
    let next = status.next_run.unwrap();
    assert_eq!(next.tick, 0);
    assert!(next.due_at.since(world.now().await) > seconds(6));
    until(|| handle.status().current == Some(0)).await;
    assert_eq!((handle.status().runs, handle.status().last_run), (1, None));
}

#[tokio::test(start_paused = true)]
async fn a_run_is_not_lost_on_store_trouble() {
    let world = World::new();
    let diary = Diary::new(&world);
    let process = world.process();
    let handle = process
        .scheduler(rate(seconds(5)))
        .start(diary.job(0, |_| millis(10)))
        .unwrap();
    let faults = &process.faults;
    until(|| diary.runs().len() == 1).await;
    // Lost, applied and not answered, applied twice, late, never answered.
    for fault in [
        Fault::Fail,
        Fault::LoseRequest,
        Fault::LoseAnswer,
        Fault::Duplicate,
        Fault::DelayAfter(millis(400)),
        Fault::DuplicateLate(millis(400)),
    ] {
        for call in [Call::ClaimTick, Call::FinishTick] {
            faults.next(call, fault);
        }
        let count = diary.runs().len();
        until(|| diary.runs().len() > count).await;
        until(|| handle.status().next_run.is_some()).await;
        let entry = world.ledger().await.unwrap();
        assert_eq!(entry.state, TickState::Done, "{fault:?}");
    }
    assert_eq!(diary.ticks(), (0..7).collect::<Vec<_>>());
    assert_eq!(handle.status().failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_a_ledger_still_has_one_leader() {
    let world = World::new();
    let diary = Diary::new(&world);
    let store = Mortal::new(world.store.another_client(), &Fate::immortal()).without_ledger();
    assert!(store.ledger().is_none());
    let coordinator = Coordinator::builder()
        .clock(world.clock.clone())
        .terms(terms())
        .with_backend(store)
        .unwrap();
    let scheduler = coordinator.scheduler(NAME, rate(seconds(5))).unwrap();
    let handle = scheduler.start(diary.job(0, |_| seconds(1))).unwrap();
    until(|| diary.runs().len() == 4).await;
    handle.stop().await.unwrap();
    let handle = scheduler.start(diary.job(0, |_| seconds(1))).unwrap();
    until(|| diary.runs().len() == 6).await;
    handle.stop().await.unwrap();
    assert_eq!(diary.ticks(), [0, 1, 2, 3, 4, 5], "this process remembers");
    assert!(world.ledger().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_future_of_run_may_stay_on_its_thread() {
    let world = World::new();
    let scheduler = world.process().scheduler(rate(seconds(1)));
    let count = std::rc::Rc::new(AtomicUsize::new(0));
    let counted = std::rc::Rc::clone(&count);
    let running = scheduler.run(move |_| {
        let counted = std::rc::Rc::clone(&counted);
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let stopping = async {
        until(|| count.load(Ordering::SeqCst) == 3).await;
        scheduler.stop().await
    };
    let (ran, stopped) = tokio::join!(running, stopping);
    ran.and(stopped).unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

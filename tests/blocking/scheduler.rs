//! Schedules whose job is a plain function.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::backend::TickState;
use tenure::blocking::{Coordinator, Tick};
use tenure::model::MutexName;
use tenure::schedule::{RunOutcome, ScheduleConfig};
use tenure::stores::memory::Memory;
use tenure::{ErrorKind, Outcome};
use tenure_testkit::Whole as _;
use tenure_testkit::fault::{Call, Fault};

use super::support::{LONG, coordinator, faulty, long_terms, millis, terms, until};

fn rate(period: Duration) -> ScheduleConfig {
    ScheduleConfig::rate(Duration::ZERO, period).unwrap()
}

#[test]
fn the_job_runs_on_a_thread_with_the_name_of_the_worker() {
    let store = Memory::new();
    let coordinator = coordinator(&store, terms());
    let (tell, told) = mpsc::channel();
    let scheduler = coordinator.scheduler("m", rate(millis(5))).unwrap();
    let scheduler = scheduler.with_worker("settler").unwrap();
    let handle = scheduler
        .start(move |tick: Tick| {
            let name = std::thread::current().name().map(str::to_owned);
            assert!(!tick.tenure().is_lost());
            let _ = tell.send((tick.number(), name));
        })
        .unwrap();
    let ticks: Vec<_> = (0..3).map(|_| told.recv_timeout(LONG).unwrap()).collect();
    assert!(ticks.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(ticks[0].1.as_deref(), Some("settler-0"));
    assert!(scheduler.running() && handle.status().runs >= 3);
    handle.stop().unwrap();
    assert!(!scheduler.running());
    assert_eq!(scheduler.stop().unwrap_err().kind(), ErrorKind::WrongState);
}

#[test]
fn stop_waits_for_the_run_then_releases_and_it_starts_again() {
    let store = Memory::new();
    let here = coordinator(&store, long_terms());
    let scheduler = here.scheduler("m", rate(LONG * 2)).unwrap();
    let (tell, told) = mpsc::channel();
    let ended = Arc::new(Mutex::new(false));
    let flag = Arc::clone(&ended);
    let handle = scheduler
        .start(move |_| {
            tell.send(()).unwrap();
            std::thread::sleep(millis(150));
            *flag.lock().unwrap() = true;
        })
        .unwrap();
    told.recv_timeout(LONG).unwrap();
    handle.stop().unwrap();
    assert!(*ended.lock().unwrap());
    let there = coordinator(&store, long_terms());
    assert!(there.lock("m").unwrap().try_acquire().unwrap().is_some());
    let again = scheduler.start(|_| ()).unwrap();
    until(|| again.status().leading.is_some());
    here.close().unwrap();
    again.wait_ended().unwrap();
}

#[test]
fn errors_and_panics_are_counted() {
    let store = Memory::new();
    let coordinator = coordinator(&store, terms());
    let scheduler = coordinator.scheduler("m", rate(millis(2))).unwrap();
    let handle = scheduler
        .start(|tick: Tick| match tick.number() % 3 {
            0 => panic!("every third"),
            1 => Err("and the one after it"),
            _ => Ok(()),
        })
        .unwrap();
    until(|| handle.status().runs >= 12);
    handle.stop().unwrap();
    let status = handle.status();
    assert!(
        status.failures > 0 && status.failures < status.runs,
        "{status:?}"
    );
}

#[test]
fn a_run_beyond_its_limit_fails_and_the_next_waits_for_its_return() {
    let store = Memory::new();
    let coordinator = coordinator(&store, terms());
    let config = rate(millis(20)).with_time_limit(millis(30)).unwrap();
    let inside = Arc::new(Mutex::new(()));
    let watched = Arc::clone(&inside);
    let handle = coordinator
        .scheduler("m", config)
        .unwrap()
        .start(move |tick: Tick| {
            let _alone = watched.try_lock().expect("one run at a time");
            if tick.number() == 0 {
                std::thread::sleep(millis(200));
            }
        })
        .unwrap();
    until(|| handle.status().runs >= 3);
    handle.stop().unwrap();
    assert!(handle.status().failures >= 1);
    assert_ne!(handle.status().last_run.unwrap().outcome, RunOutcome::Cut);
}

#[test]
fn a_job_that_loses_office_is_told_and_the_next_term_waits_for_it() {
    let store = Memory::new();
    let (coordinator, faults) = faulty(&store);
    let (tell, told) = mpsc::channel();
    let (healer, busy) = (faults.clone(), Arc::new(Mutex::new(())));
    let handle = coordinator
        .scheduler("m", rate(millis(50)))
        .unwrap()
        .start(move |tick: Tick| {
            let _alone = busy.try_lock().expect("one run at a time");
            let token = tick.tenure().token().unwrap();
            if tick.number() == 0 {
                healer.always(Call::Renew, Fault::Fail);
                tick.tenure().wait_lost(LONG).expect("it is lost");
                healer.heal();
                std::thread::sleep(millis(100));
            }
            let _ = tell.send(token);
        })
        .unwrap();
    let first = told.recv_timeout(LONG).unwrap();
    let second = told.recv_timeout(LONG).unwrap();
    assert!(second > first);
    handle.stop().unwrap();
    let status = handle.status();
    assert_eq!((status.cut, status.unfinished), (1, 1), "{status:?}");
}

#[test]
fn a_job_that_does_not_return_keeps_the_office_until_it_runs_out() {
    let store = Memory::new();
    let builder = tenure::Coordinator::builder()
        .terms(terms())
        .quiesce(millis(100));
    let here = Coordinator::from_builder(builder, store.another_client()).unwrap();
    let scheduler = here.scheduler("m", rate(LONG)).unwrap();
    let (tell, told) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let handle = scheduler
        .start(move |_| {
            tell.send(()).unwrap();
            let _ = gone.recv();
        })
        .unwrap();
    told.recv_timeout(LONG).unwrap();
    let error = handle.stop().unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Unconfirmed, Outcome::MayHave)
    );
    assert!(error.to_string().contains("still runs"), "{error}");
    let error = scheduler.start(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongState);
    assert!(error.to_string().contains("has not returned"), "{error}");
    drop(go);
    until(|| scheduler.start(|_| ()).is_ok());
    scheduler.stop().unwrap();
    let entry = now(store.read_ledger(&MutexName::new("m").unwrap()));
    assert_ne!(entry.unwrap().unwrap().state, TickState::Failed);
}

/// What a future says that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(future)
}

#[test]
fn another_config_under_the_same_name_is_an_error() {
    let store = Memory::new();
    let (here, there) = (coordinator(&store, terms()), coordinator(&store, terms()));
    let handle = here
        .scheduler("m", rate(millis(5)))
        .unwrap()
        .start(|_| ())
        .unwrap();
    until(|| handle.status().runs > 0);
    let error = there
        .scheduler("m", rate(millis(6)))
        .unwrap()
        .run(|_| ())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

//! Locks from plain threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenure::blocking::{Cancel, Coordinator, GuardedTurn};
use tenure::lock::LockOptions;
use tenure::stores::memory::Memory;
use tenure::{ErrorKind, LossCause};
use tenure_testkit::fault::{Call, Fault};

use super::support::{LONG, coordinator, faulty, long_terms, millis, terms};

#[test]
fn many_threads_of_two_processes_take_turns() {
    let store = Memory::new();
    let processes = [coordinator(&store, terms()), coordinator(&store, terms())];
    let inside = Arc::new(AtomicBool::new(false));
    let last = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let lock = processes[thread % 2].lock("m").unwrap();
            let (inside, last) = (&inside, &last);
            scope.spawn(move || {
                for _ in 0..15 {
                    let guard = lock.acquire().unwrap();
                    assert!(!inside.swap(true, Ordering::SeqCst), "one at a time");
                    let token = guard.token().unwrap().value();
                    assert!(last.swap(token, Ordering::SeqCst) < token, "tokens rise");
                    inside.store(false, Ordering::SeqCst);
                    guard.release().unwrap();
                }
            });
        }
    });
}

#[test]
fn what_is_held_is_refused_in_time() {
    let store = Memory::new();
    let (here, there) = (coordinator(&store, terms()), coordinator(&store, terms()));
    let guard = here.lock("m").unwrap().acquire().unwrap();
    let lock = there.lock("m").unwrap();
    assert!(lock.try_acquire().unwrap().is_none());
    let begin = Instant::now();
    assert!(lock.acquire_within(millis(60)).unwrap().is_none());
    assert!(begin.elapsed() >= millis(60));
    let owner = lock.owner().unwrap().expect("an owner");
    assert!(owner.is(guard.tenure().contender()));
    guard.release().unwrap();
    let guard = lock.acquire_within(LONG).unwrap();
    assert!(guard.is_some());
}

#[test]
fn waiting_can_be_cancelled_from_another_thread() {
    let store = Memory::new();
    let (here, there) = (coordinator(&store, terms()), coordinator(&store, terms()));
    let guard = here.lock("m").unwrap().acquire().unwrap();
    let (lock, cancel) = (there.lock("m").unwrap(), Cancel::new());
    let waiting = std::thread::spawn({
        let (lock, cancel) = (lock.clone(), cancel.clone());
        move || lock.acquire_unless(&cancel).unwrap().is_none()
    });
    cancel.cancel();
    assert!(waiting.join().unwrap(), "it gave up");
    guard.release().unwrap();
    let won = lock.acquire_unless(&Cancel::new()).unwrap();
    assert!(won.is_some(), "nobody said otherwise");
}

#[test]
fn work_is_done_once_in_a_period() {
    let store = Memory::new();
    let [here, there] = [(), ()].map(|()| coordinator(&store, long_terms()));
    let (one, two) = (here.lock("m").unwrap(), there.lock("m").unwrap());
    let GuardedTurn::Ours(guard, turn) = one.once_per(LONG).unwrap() else {
        panic!("nobody has done it")
    };
    assert!(turn.failed().unwrap());
    guard.release().unwrap();
    let GuardedTurn::Ours(guard, turn) = two.once_per(LONG).unwrap() else {
        panic!("it failed")
    };
    let by = guard.tenure().contender().to_string();
    assert!(turn.done().unwrap());
    guard.release().unwrap();
    let GuardedTurn::Done(before) = one.once_per(LONG).unwrap() else {
        panic!("it has been done")
    };
    assert_eq!(&*before.by, by);
    assert!(two.try_acquire().unwrap().is_some(), "given back");
}

#[test]
fn a_lock_may_be_held_for_at_least_a_time() {
    let store = Memory::new();
    let coordinator = coordinator(&store, long_terms());
    let options = LockOptions::default().with_at_least_for(millis(80));
    let lock = coordinator.lock_with("m", options).unwrap();
    let begin = Instant::now();
    lock.acquire().unwrap().release().unwrap();
    assert!(begin.elapsed() >= millis(80));
    drop(lock.acquire().unwrap());
    assert!(lock.acquire_within(LONG).unwrap().is_some());
    assert!(begin.elapsed() >= millis(160));
}

#[tokio::test]
async fn it_works_inside_a_runtime_with_one_thread() {
    inside_a_runtime();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_works_inside_a_runtime_with_many_threads() {
    tokio::spawn(async { inside_a_runtime() }).await.unwrap();
}

fn inside_a_runtime() {
    let coordinator = Coordinator::connect("memory:").unwrap();
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().unwrap();
    assert!(guard.wait_lost(millis(10)).is_none());
    drop(guard);
    lock.acquire().unwrap().release().unwrap();
    coordinator.close().unwrap();
    drop(coordinator);
}

#[test]
fn wait_lost_tells_of_the_loss_and_not_before() {
    let store = Memory::new();
    let (coordinator, faults) = faulty(&store);
    let guard = coordinator.lock("m").unwrap().acquire().unwrap();
    let begin = Instant::now();
    assert_eq!(guard.wait_lost(millis(50)), None);
    assert!(begin.elapsed() >= millis(50));
    assert!(!guard.is_lost());
    let tenure = guard.tenure().clone();
    let waiter = std::thread::spawn(move || tenure.wait_lost(LONG));
    faults.always(Call::Renew, Fault::Fail);
    let lost = waiter.join().unwrap().expect("it is lost at its deadline");
    assert_eq!(lost.cause, LossCause::Deadline);
    assert_eq!(guard.wait_lost(Duration::ZERO), Some(lost.clone()));
    assert_eq!(guard.wait_lost(Duration::MAX), Some(lost));
    assert!(guard.token().is_err() && guard.remaining().is_zero());
    faults.heal();
    assert_eq!(guard.release().unwrap_err().kind(), ErrorKind::Lost);
}

#[test]
fn the_last_one_out_releases_what_is_left() {
    let store = Memory::new();
    let here = coordinator(&store, long_terms());
    let guard = here.lock("m").unwrap().acquire().unwrap();
    drop(here);
    assert!(!guard.is_lost(), "a guard keeps the background alive");
    drop(guard);
    let there = coordinator(&store, long_terms());
    let next = there.lock("m").unwrap().acquire_within(LONG).unwrap();
    assert!(next.is_some(), "released, not run out");
}

#[test]
fn close_releases_and_later_calls_fail() {
    let store = Memory::new();
    let here = coordinator(&store, long_terms());
    let lock = here.lock("m").unwrap();
    let guard = lock.acquire().unwrap();
    here.close().unwrap();
    assert_eq!(guard.wait_lost(LONG).unwrap().cause, LossCause::Closed);
    assert_eq!(lock.acquire().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(here.lock("n").unwrap_err().kind(), ErrorKind::Closed);
    here.close().unwrap();
    let there = coordinator(&store, long_terms());
    assert!(there.lock("m").unwrap().try_acquire().unwrap().is_some());
}

#[test]
fn bad_input_is_refused() {
    let error = Coordinator::connect("carrier-pigeon:").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let coordinator = Coordinator::connect("memory:").unwrap();
    assert!(coordinator.lock("").is_err() && coordinator.elector(" ").is_err());
}

#[test]
fn handles_can_be_sent_and_shared() {
    fn everywhere<T: Send + Sync + 'static>() {}
    everywhere::<Coordinator>();
    everywhere::<tenure::blocking::Lock>();
    everywhere::<tenure::blocking::LockGuard>();
    everywhere::<tenure::blocking::Elector>();
    everywhere::<tenure::blocking::Scheduler>();
    everywhere::<tenure::blocking::SchedulerHandle>();
    everywhere::<tenure::blocking::Tenure>();
    everywhere::<tenure::blocking::Tick>();
}

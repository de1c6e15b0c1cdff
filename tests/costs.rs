//! What an uncontended lock costs in this process: allocations, memory, tasks,
//! and the size of its futures. Nothing here measures time.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use tenure::lock::LockOptions;
use tenure::{Coordinator, Lock};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn coordinator(runtime: &Runtime) -> Coordinator {
    runtime.block_on(Coordinator::connect("memory:")).unwrap()
}

/// What `future` returns without waiting: no task has had its turn.
fn at_once<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits for a task, and the memory store does not"),
    }
}

fn take_and_free(lock: &Lock) {
    let guard = at_once(lock.acquire()).unwrap();
    at_once(guard.release()).unwrap();
}

#[test]
fn a_free_lock_is_taken_and_freed_with_few_allocations_and_no_task() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let _entered = runtime.enter();
    let lock = coordinator.lock("m").unwrap();
    // The first may fill caches, and starts the one task of all.
    take_and_free(&lock);
    let tasks = runtime.metrics().num_alive_tasks();
    let cost = measure(|| take_and_free(&lock));
    assert!(cost.count_total <= 8, "{} allocations", cost.count_total);
    assert_eq!(runtime.metrics().num_alive_tasks(), tasks);
}

#[test]
fn a_lingering_lock_is_taken_and_freed_with_hardly_any() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let _entered = runtime.enter();
    let options = LockOptions::default().with_linger(Duration::from_millis(400));
    let lock = coordinator.lock_with("m", options).unwrap();
    take_and_free(&lock);
    let cost = measure(|| take_and_free(&lock));
    assert!(cost.count_total <= 2, "{} allocations", cost.count_total);
}

/// What only readers of the status need is made for the first of them.
#[test]
fn a_coordinator_without_readers_is_small() {
    let runtime = runtime();
    coordinator(&runtime);
    let mut made = Vec::with_capacity(1);
    let cost = measure(|| made.push(coordinator(&runtime)));
    assert!(
        cost.bytes_current < 16 * 1024,
        "{} bytes",
        cost.bytes_current
    );
    let reader = measure(|| drop(made[0].status_changes()));
    assert!(reader.bytes_current > cost.bytes_current, "{reader:?}");
}

#[test]
fn what_is_owned_costs_no_task() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let _entered = runtime.enter();
    let before = runtime.metrics().num_alive_tasks();
    let hold = |number: u32| {
        let lock = coordinator.lock(format!("m{number}")).unwrap();
        at_once(lock.acquire()).unwrap()
    };
    let guards: Vec<_> = (0..1000).map(hold).collect();
    let tasks = runtime.metrics().num_alive_tasks() - before;
    assert!(tasks <= 1, "{tasks} tasks for {} names", guards.len());
}

#[test]
fn a_limit_on_holding_costs_no_task() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let _entered = runtime.enter();
    let options = || LockOptions::default().with_max_hold(Duration::from_secs(60));
    let before = runtime.metrics().num_alive_tasks();
    let hold = |number: u32| {
        let lock = coordinator.lock_with(format!("m{number}"), options());
        at_once(lock.unwrap().acquire()).unwrap()
    };
    let guards: Vec<_> = (0..100).map(hold).collect();
    let tasks = runtime.metrics().num_alive_tasks() - before;
    assert!(tasks <= 1, "{tasks} tasks for {} names", guards.len());
}

/// Bytes for each of `count` names that are held.
fn bytes_for_each(count: usize) -> usize {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let _entered = runtime.enter();
    let warm = at_once(coordinator.lock("warm").unwrap().acquire()).unwrap();
    let mut guards = Vec::with_capacity(count);
    let cost = measure(|| {
        for number in 0..count {
            let lock = coordinator.lock(format!("name-{number}")).unwrap();
            guards.push(at_once(lock.acquire()).unwrap());
        }
    });
    drop(warm);
    usize::try_from(cost.bytes_current).unwrap() / count
}

#[test]
fn a_thousand_held_names_take_two_and_a_quarter_kilobytes_each() {
    let each = bytes_for_each(1_000);
    assert!(each <= 2_250, "{each} bytes");
}

#[test]
fn ten_thousand_held_names_take_twenty_three_megabytes() {
    let each = bytes_for_each(10_000);
    assert!(each * 10_000 <= 23_000_000, "{each} bytes each");
}

#[test]
fn the_futures_of_a_lock_are_small() {
    let runtime = runtime();
    let coordinator = coordinator(&runtime);
    let _entered = runtime.enter();
    let lock = coordinator.lock("m").unwrap();
    for (what, size, most) in [
        ("acquire", size_of_val(&lock.acquire()), 2_048),
        ("try_acquire", size_of_val(&lock.try_acquire()), 2_048),
        (
            "acquire_within",
            size_of_val(&lock.acquire_within(Duration::ZERO)),
            5_120,
        ),
    ] {
        assert!(size <= most, "{what}: {size} bytes");
    }
    let guard = at_once(lock.acquire()).unwrap();
    let size = size_of_val(&guard.release());
    assert!(size <= 1_536, "release: {size} bytes");
}

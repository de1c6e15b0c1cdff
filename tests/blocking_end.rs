//! The background thread of `tenure::blocking` ends with its last user. Alone
//! in this program, so that no other test has such a thread.

use std::fs;
use std::time::{Duration, Instant};

use tenure::blocking::Coordinator;

/// How many threads of this process are called `tenure`.
fn background_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "tenure").count()
}

#[test]
fn the_background_thread_ends_after_the_last_release() {
    assert_eq!(background_threads(), 0);
    let coordinator = Coordinator::connect("memory:").unwrap();
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().unwrap();
    let reentrant = coordinator.reentrant_lock("r").unwrap();
    reentrant.acquire().unwrap().keep();
    reentrant.release_kept().unwrap();
    drop((coordinator, lock, reentrant));
    let end = Instant::now() + Duration::from_secs(20);
    // A thread has its parent's name until it has given itself one.
    while background_threads() > 1 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(background_threads(), 1, "the guard needs it");
    assert!(!guard.is_lost());
    drop(guard);
    let end = Instant::now() + Duration::from_secs(20);
    while background_threads() > 0 {
        assert!(Instant::now() < end, "it stays, though nobody is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

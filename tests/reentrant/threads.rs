//! Plain threads: each is a holder.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tenure::ErrorKind;
use tenure::blocking::{Cancel, Coordinator};

use crate::support::{PATIENCE, fresh, shared, url};

#[test]
fn the_thread_holds_and_names_the_hold() {
    let coordinator = Coordinator::connect(url(shared())).unwrap();
    let name = fresh("threads");
    let lock = coordinator.reentrant_lock(&name).unwrap();
    let (go, told) = channel::<()>();
    let (say, hear) = channel();
    let worker = thread::Builder::new().name("import worker".into());
    let worker = worker.spawn({
        let lock = lock.clone();
        move || {
            let outer = lock.acquire().unwrap();
            let inner = lock.acquire().unwrap();
            assert_eq!(outer.token().unwrap(), inner.token().unwrap());
            say.send((lock.hold_count(), inner.remaining())).unwrap();
            told.recv().unwrap();
            inner.release().unwrap();
            outer.release().unwrap();
        }
    });
    let (count, remaining) = hear.recv_timeout(PATIENCE).unwrap();
    assert!(count == 2 && !remaining.is_zero());
    assert!(!lock.is_held() && lock.hold_count() == 0 && lock.remaining().is_zero());
    assert!(lock.try_acquire().unwrap().is_none());
    assert!(
        lock.acquire_within(Duration::from_millis(50))
            .unwrap()
            .is_none()
    );
    assert_eq!(
        lock.release_kept().unwrap_err().kind(),
        ErrorKind::WrongState
    );
    let owner = lock.owner().unwrap().expect("an owner");
    let id = owner.id().to_string();
    assert!(id.contains(":import worker:"), "{id}");
    go.send(()).unwrap();
    let ours = lock.acquire_within(PATIENCE).unwrap().expect("our turn");
    assert!(lock.is_held() && ours.hold_count() == 1 && !ours.is_lost());
    worker.unwrap().join().unwrap();
    drop(ours);
    coordinator.close().unwrap();
}

#[test]
fn waiting_can_be_cancelled_from_another_thread() {
    let coordinator = Coordinator::connect("memory:").unwrap();
    let lock = coordinator.reentrant_lock("m").unwrap();
    let held = lock.acquire().unwrap();
    let cancel = Cancel::new();
    let waiting = thread::spawn({
        let (lock, cancel) = (lock.clone(), cancel.clone());
        move || lock.acquire_unless(&cancel).unwrap().is_none()
    });
    cancel.cancel();
    assert!(waiting.join().unwrap(), "it gave up");
    held.release().unwrap();
    let free = Cancel::new();
    assert!(lock.acquire_unless(&free).unwrap().is_some());
    coordinator.close().unwrap();
}

#[test]
fn what_a_thread_kept_is_given_back_when_it_ends() {
    let coordinator = Coordinator::connect("memory:").unwrap();
    let lock = coordinator.reentrant_lock("m").unwrap();
    let worker = thread::spawn({
        let lock = lock.clone();
        move || {
            lock.acquire().unwrap().keep();
            lock.acquire().unwrap().keep();
            lock.release_kept().unwrap();
            assert_eq!(lock.hold_count(), 1);
        }
    });
    worker.join().unwrap();
    assert!(lock.acquire_within(PATIENCE).unwrap().is_some());
    coordinator.close().unwrap();
}

#[test]
fn threads_exclude_each_other() {
    let coordinator = Coordinator::connect(url(shared())).unwrap();
    let lock = coordinator.reentrant_lock(fresh("count")).unwrap();
    let counter = std::sync::atomic::AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let _outer = lock.acquire().unwrap();
                    let seen = counter.load(std::sync::atomic::Ordering::Relaxed);
                    let _inner = lock.acquire().unwrap();
                    thread::yield_now();
                    counter.store(seen + 1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), 100);
    coordinator.close().unwrap();
}

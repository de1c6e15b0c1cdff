//! A holder's id in the shared layout is no other's, by whichever peer it is made.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tenure::model::{ContenderId, ContenderIdGenerator};
use tenure::{Coordinator, Holder, blocking};

use crate::support::{by, fresh, shared, soon, url};

/// What a user may well write.
#[derive(Debug)]
struct Constant;

impl ContenderIdGenerator for Constant {
    fn generate(&self) -> tenure::Result<ContenderId> {
        ContenderId::new("worker")
    }
}

async fn constant() -> Coordinator {
    let builder = Coordinator::builder().ids(Constant);
    builder.connect(url(shared())).await.unwrap()
}

fn field(name: &str) -> String {
    shared().command(&["HKEYS", name]).unwrap()
}

#[tokio::test]
async fn two_coordinators_with_one_constant_id_never_both_hold() {
    let (one, two) = (constant().await, constant().await);
    let name = fresh("constant");
    // The same name of the holder too.
    let first = by(&one.reentrant_lock(&name).unwrap(), "worker");
    let second = by(&two.reentrant_lock(&name).unwrap(), "worker");
    let guard = first.acquire().await.unwrap();
    let before = field(&name);
    assert!(second.try_acquire().await.unwrap().is_none());
    let token = guard.token().unwrap();
    guard.release().await.unwrap();
    let guard = second.try_acquire().await.unwrap().expect("free");
    assert!(guard.token().unwrap() > token);
    assert_ne!(field(&name), before);
    assert!(first.try_acquire().await.unwrap().is_none());
    drop(guard);
    one.close().await.unwrap();
    two.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_field_is_ever_used_twice() {
    let coordinators = [constant().await, constant().await];
    let name = fresh("fields");
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut tasks = Vec::new();
    for number in 0..6 {
        let lock = coordinators[number % 2].reentrant_lock(&name).unwrap();
        let (lock, seen, name) = (by(&lock, "worker"), Arc::clone(&seen), name.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                let guard = lock.acquire().await.unwrap();
                let token = guard.token().unwrap();
                let new = seen.lock().unwrap().insert((field(&name), token));
                assert!(new, "one field and token for two grants");
                guard.release().await.unwrap();
            }
        }));
    }
    for task in tasks {
        soon("its turns", task).await.unwrap();
    }
    assert_eq!(seen.lock().unwrap().len(), 30);
    for coordinator in coordinators {
        coordinator.close().await.unwrap();
    }
}

#[test]
fn two_threads_of_one_name_are_two_holders() {
    let coordinator = blocking::Coordinator::connect(url(shared())).unwrap();
    let name = fresh("threads");
    let lock = coordinator.reentrant_lock(&name).unwrap();
    let thread = |lock: blocking::ReentrantLock| {
        let builder = std::thread::Builder::new().name("worker".to_owned());
        builder.spawn(move || lock.try_acquire().unwrap().is_some())
    };
    let guard = std::thread::Builder::new().name("worker".to_owned());
    let (hold, held) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let first = {
        let lock = lock.clone();
        guard.spawn(move || {
            let guard = lock.acquire().unwrap();
            hold.send(()).unwrap();
            let _ = ended.recv();
            guard.release().unwrap();
        })
    };
    held.recv().unwrap();
    assert!(!thread(lock.clone()).unwrap().join().unwrap());
    drop(end);
    first.unwrap().join().unwrap();
    assert!(thread(lock).unwrap().join().unwrap());
    coordinator.close().unwrap();
}

#[tokio::test]
async fn holders_of_one_name_are_different() {
    let one = constant().await;
    let lock = one.reentrant_lock(fresh("names")).unwrap();
    let (a, b) = (Holder::new("same"), Holder::new("same"));
    let guard = lock.held_by(&a).acquire().await.unwrap();
    assert!(lock.held_by(&b).try_acquire().await.unwrap().is_none());
    drop(guard);
    one.close().await.unwrap();
}

//! Reentrancy, waiting, threads.

use std::time::Instant;

use tenure::model::Purpose;
use tenure::{Coordinator, ErrorKind, Holder, blocking};

use super::support::*;

#[tokio::test]
async fn nested_holds_are_counted_here_and_shown_on_every_node() {
    let (name, servers) = ("nested", servers(3));
    let lock = contender(&servers, name).await;
    let outer = lock.acquire().await.unwrap();
    let inner = lock.acquire().await.unwrap();
    assert_eq!((lock.hold_count().unwrap(), inner.hold_count()), (2, 2));
    for server in &servers {
        assert_eq!(count(server, name).as_deref(), Some("2"));
    }
    inner.release().await.unwrap();
    for server in &servers {
        assert_eq!(count(server, name).as_deref(), Some("1"));
    }
    outer.keep();
    assert!(lock.is_held().unwrap() && lock.remaining().unwrap() > SECOND);
    let other = lock.held_by(&Holder::new("other"));
    assert!(other.try_acquire().await.unwrap().is_none());
    assert_eq!(
        other.release_kept().await.unwrap_err().kind(),
        ErrorKind::WrongState
    );
    let owner = other.owner().await.unwrap().expect("an owner");
    assert_eq!(Some(owner.to_string()), holder(&servers[0], name));
    assert!(owner.id().as_str().contains(":test:"), "{owner}");
    lock.release_kept().await.unwrap();
    assert_eq!(other.owner().await.unwrap(), None);
    free_everywhere(&servers, name).await;
}

/// On a node both lie in one layout: what is written there tells them apart.
#[tokio::test]
async fn the_part_on_a_node_says_that_it_is_one() {
    let servers = servers(2);
    let both = contender(&servers, "both").await;
    let _both = both.acquire().await.unwrap();
    let node = Coordinator::connect(&over(&servers)[0]).await.unwrap();
    let one = node.reentrant_lock("one").unwrap();
    let one = one.held_by(&Holder::new("test"));
    let _one = one.acquire().await.unwrap();
    // As Redisson does, which does not say it.
    let theirs = "285475da-9152-4c83-822a-67ee2f116a79:47";
    for words in [
        &["HSET", "theirs", theirs, "1"][..],
        &["PEXPIRE", "theirs", "60000"],
        &["SET", "redisson_lock_token:{theirs}", "5"],
    ] {
        servers[0].command(words).unwrap();
    }
    let held = node.reentrant_locks(&[]).await.unwrap();
    let told: Vec<_> = held
        .iter()
        .map(|hold| (hold.name.as_str(), hold.purpose))
        .collect();
    let expected = [
        ("both", Some(Purpose::Combination)),
        ("one", Some(Purpose::Reentrant)),
        ("theirs", None),
    ];
    assert_eq!(told, expected);
}

pub(crate) async fn a_node_that_comes_back_shows_the_count_too() {
    let (name, servers) = ("nested-again", servers(3));
    let builder = brisk(SECOND * 5).nodes(over(&servers));
    let lock = build(builder, name).await;
    let _outer = lock.acquire().await.unwrap();
    let _inner = lock.acquire().await.unwrap();
    blocking(|| servers[2].restart_empty());
    eventually("the count is shown", || {
        count(&servers[2], name).as_deref() == Some("2")
    })
    .await;
}

#[tokio::test]
async fn a_waiter_of_another_process_is_woken_by_the_unlock() {
    let (name, servers) = ("woken", servers(3));
    let holder = contender(&servers, name).await;
    let builder = patient().spin_wait(PATIENCE * 4).nodes(over(&servers));
    let waiter = build(builder, name).await;
    let guard = holder.acquire().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.acquire().await });
    tokio::time::sleep(SECOND).await;
    assert!(!waiting.is_finished());
    let freed = Instant::now();
    guard.release().await.unwrap();
    let won = tokio::time::timeout(PATIENCE, waiting).await;
    let guard = won.expect("in time").unwrap().unwrap();
    // Its expiry would have been another reason to look.
    assert!(freed.elapsed() < SECOND * 10);
    drop(guard);
    free_everywhere(&servers, name).await;
}

#[test]
fn threads_hold_for_themselves() {
    let (name, servers) = ("threads", servers(2));
    let builder = patient().nodes(over(&servers));
    let lock = blocking::CombinationLock::build(builder, name).unwrap();
    let outer = lock.acquire().unwrap();
    let inner = lock.try_acquire().unwrap().expect("the same thread");
    assert_eq!((lock.hold_count(), inner.hold_count()), (2, 2));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert!(lock.try_acquire().unwrap().is_none());
            assert!(!lock.is_held());
            assert!(lock.acquire_within(SECOND / 10).unwrap().is_none());
            let cancel = blocking::Cancel::new();
            cancel.cancel();
            assert!(lock.acquire_unless(&cancel).unwrap().is_none());
            assert_eq!(
                lock.release_kept().unwrap_err().kind(),
                ErrorKind::WrongState
            );
        });
        other.join().unwrap();
    });
    assert!(lock.is_held() && lock.remaining() > SECOND);
    assert!(outer.wait_lost(SECOND / 100).is_none());
    inner.keep();
    lock.release_kept().unwrap();
    outer.release().unwrap();
    assert_eq!(lock.owner().unwrap(), None);
    std::thread::scope(|scope| {
        scope.spawn(|| lock.acquire().unwrap().release().unwrap());
    });
    lock.close().unwrap();
    assert!(servers.iter().all(|server| holder(server, name).is_none()));
}

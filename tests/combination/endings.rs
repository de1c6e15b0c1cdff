//! Giving back when answers are late, and closing when a node is slow.

use std::time::Duration;

use tenure::{ErrorKind, blocking};
use tenure_testkit::servers::{Flow, Proxy, Redis, Way};

use super::support::*;

/// How long a command may take: short, for its end is the subject, and long enough for a busy
/// machine to do what is healthy.
const CALL: Duration = Duration::from_millis(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_whose_answers_were_late_is_a_release() {
    let (name, servers) = ("late-answers", servers(3));
    for round in 0..5 {
        let builder = patient().command_timeout(CALL);
        let remote = Remote::with(builder, &servers, name).await;
        let guard = remote.lock.acquire().await.unwrap();
        // Freed, and no waiter hears of it in time.
        for way in &remote.ways[..2] {
            way.set(Way::ToClient, Flow::Hold);
        }
        let releasing = tokio::spawn(guard.release());
        for server in &servers {
            eventually("freed", || holder(server, name).is_none()).await;
        }
        tokio::time::sleep(CALL * 2).await;
        for way in &remote.ways[..2] {
            way.heal().unwrap();
        }
        let released = tokio::time::timeout(PATIENCE, releasing).await;
        let released = released.expect("in time").unwrap();
        assert!(released.is_ok(), "in round {round}: {released:?}");
        remote.lock.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_another_took_is_still_said_to_be_lost() {
    let (name, servers) = ("truly-lost", servers(3));
    let lock = contender(&servers, name).await;
    let guard = lock.acquire().await.unwrap();
    for server in &servers[..2] {
        server.command(&["DEL", name]).unwrap();
        occupy(server, name);
    }
    let error = guard.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_waits_for_the_unlocks_of_a_slow_node() {
    let (name, servers) = ("slow-close", servers(3));
    let builder = patient().command_timeout(CALL);
    let remote = Remote::with(builder, &servers, name).await;
    let guard = remote.lock.acquire().await.unwrap();
    one_holder(&servers, name);
    // Slower than a command may be, for a while.
    servers[2].pause().unwrap();
    guard.release().await.unwrap();
    let lock = remote.lock.clone();
    let closing = tokio::spawn(async move { lock.close().await });
    tokio::time::sleep(CALL * 2).await;
    assert!(!closing.is_finished(), "one unlock is under way");
    servers[2].resume().unwrap();
    let closed = tokio::time::timeout(PATIENCE, closing).await;
    closed.expect("in time").unwrap().unwrap();
    assert_eq!(holder(&servers[2], name), None, "it waited for that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_is_bounded_and_says_what_it_left() {
    let (name, servers) = ("left-behind", servers(3));
    let builder = patient().command_timeout(CALL);
    let lock = build(builder.nodes(over(&servers)), name).await;
    let guard = lock.acquire().await.unwrap();
    servers[2].pause().unwrap();
    guard.release().await.unwrap();
    let closed = tokio::time::timeout(PATIENCE, lock.close()).await;
    let error = closed.expect("bounded").unwrap_err();
    servers[2].resume().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unconfirmed, "{error}");
    let place = format!("node 3 (redis://127.0.0.1:{})", servers[2].port());
    assert!(error.to_string().contains(&place), "{error}");
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    lock.close().await.unwrap();
}

/// A lock of plain threads, and the way to its third node.
fn in_threads(servers: &[Redis], name: &str) -> (blocking::CombinationLock, Proxy) {
    let way = Proxy::start(servers[2].address()).unwrap();
    let nodes = over(&servers[..2]);
    let builder = patient().command_timeout(CALL).nodes(nodes);
    let builder = builder.node(url(way.port()));
    (
        blocking::CombinationLock::build(builder, name).unwrap(),
        way,
    )
}

#[test]
fn close_waits_in_plain_threads_too() {
    let (name, servers) = ("slow-thread", servers(3));
    let (lock, way) = in_threads(&servers, name);
    let guard = lock.acquire().unwrap();
    way.refuse().unwrap();
    way.cut().unwrap();
    guard.release().unwrap();
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| lock.close());
        std::thread::sleep(CALL * 2);
        assert!(!closing.is_finished(), "one unlock is under way");
        way.heal().unwrap();
        closing.join().unwrap().unwrap();
    });
    assert_eq!(holder(&servers[2], name), None);
}

#[test]
fn a_lock_of_plain_threads_that_is_dropped_leaves_nothing() {
    let (name, servers) = ("dropped-thread", servers(3));
    let (lock, way) = in_threads(&servers, name);
    let guard = lock.acquire().unwrap();
    way.refuse().unwrap();
    way.cut().unwrap();
    drop(guard);
    drop(lock);
    std::thread::sleep(CALL * 2);
    way.heal().unwrap();
    let end = std::time::Instant::now() + PATIENCE;
    while servers.iter().any(|server| holder(server, name).is_some()) {
        assert!(std::time::Instant::now() < end, "left behind");
        std::thread::sleep(Duration::from_millis(20));
    }
}

//! A mutex that one client takes again and again is taken by a creation alone: its
//! number says that nobody came in between, where nothing else has happened.

use std::time::Duration;

use futures_util::FutureExt as _;
use tenure::backend::{AnyBackend, Backend, Held};
use tenure_testkit::servers::{Proxy, ZooKeeper};

use crate::support::{PATIENCE, SERVER, bid, client, metric, name, raw};

/// Takes what is free.
async fn take(store: &AnyBackend, mutex: &str, who: &str) -> Held {
    let bid = bid(mutex, who);
    let won = store.acquire(&bid).await.unwrap();
    bid.held(won.token().expect("it was free"))
}

async fn free(store: &AnyBackend, held: &Held) {
    assert!(store.release(held).await.unwrap().is_won());
}

/// Takes and frees so often that the next take lists nothing.
async fn run(store: &AnyBackend, mutex: &str) {
    for _ in 0..4 {
        let held = take(store, mutex, "runner").await;
        free(store, &held).await;
    }
}

/// Removes an empty parent, which the server may just have done itself.
async fn remove(raw: &zookeeper_client::Client, dir: &str) {
    match raw.delete(dir, None).await {
        Ok(()) | Err(zookeeper_client::Error::NoNode) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Whether `who` is refused, also when it asks again.
async fn is_refused(store: &AnyBackend, mutex: &str, who: &str) -> bool {
    let bid = bid(mutex, who);
    let asking = async {
        let mut answers = 0;
        while answers < 2 {
            match store.acquire(&bid).await {
                Ok(answer) if answer.is_won() => return false,
                Ok(_) => answers += 1,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        true
    };
    let refused = tokio::time::timeout(PATIENCE, asking).await.unwrap();
    store.leave(&bid).await.unwrap();
    refused
}

#[tokio::test]
async fn from_the_fourth_take_running_it_costs_two_requests() {
    let server = ZooKeeper::start().unwrap();
    let store = client(server.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let other = client(server.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let received = || metric(&server, "zk_packets_received");
    let cycle = async |store: &AnyBackend| {
        let mut least = u64::MAX;
        // Heartbeats may come in between.
        for _ in 0..10 {
            let before = received();
            let held = take(store, "run", "runner").await;
            free(store, &held).await;
            // The question itself is counted.
            least = least.min(received() - before - 1);
        }
        least
    };
    run(&store, "run").await;
    assert_eq!(cycle(&store).await, 2, "a create and a delete");
    // Where another came in between, all are listed; and then it begins again.
    let before = received();
    let held = take(&other, "run", "other").await;
    free(&other, &held).await;
    let held = take(&store, "run", "runner").await;
    free(&store, &held).await;
    let spent = received() - before;
    assert!(spent >= 6, "{spent} for two that do not follow each other");
    assert_eq!(cycle(&store).await, 2);
}

#[tokio::test]
async fn who_comes_in_between_or_holds_it_is_seen() {
    let (store, other) = (
        client(SERVER.address(), "").await.unwrap(),
        client(SERVER.address(), "").await.unwrap(),
    );
    let mutex = name("between");
    for _ in 0..2 {
        run(&store, &mutex).await;
        let held = take(&other, &mutex, "other").await;
        assert!(is_refused(&store, &mutex, "runner").await);
        free(&other, &held).await;
        // Another task of its own, while the last of the run is held.
        run(&store, &mutex).await;
        let held = take(&store, &mutex, "runner").await;
        assert!(is_refused(&store, &mutex, "second").await);
        assert!(is_refused(&other, &mutex, "other").await);
        free(&store, &held).await;
    }
}

#[tokio::test]
async fn one_whose_node_a_stranger_deleted_does_not_go_on_with_its_run() {
    let (store, other) = (
        client(SERVER.address(), "").await.unwrap(),
        client(SERVER.address(), "").await.unwrap(),
    );
    let (mutex, raw) = (name("deleted"), raw().await);
    run(&store, &mutex).await;
    let held = take(&store, &mutex, "runner").await;
    let dir = format!("/simba/{mutex}");
    let children = raw.list_children(&dir).await.unwrap();
    raw.delete(&format!("{dir}/{}", children[0]), None)
        .await
        .unwrap();
    let next = take(&other, &mutex, "other").await;
    assert!(!store.release(&held).await.unwrap().is_won());
    assert!(is_refused(&store, &mutex, "runner").await);
    free(&other, &next).await;
}

#[tokio::test]
async fn a_parent_that_was_made_anew_counts_from_zero_and_is_another() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let store = client(proxy.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let other = client(SERVER.address(), "").await.unwrap();
    let raw = raw().await;
    for is_cut in [false, true, false, true] {
        let mutex = name("anew");
        run(&store, &mutex).await;
        if is_cut {
            proxy.refuse().unwrap();
            proxy.cut().unwrap();
        }
        // As the server does when it is empty for long. Then others come, and the next
        // number is the one that would go on with the run.
        remove(&raw, &format!("/simba/{mutex}")).await;
        for _ in 0..3 {
            let held = take(&other, &mutex, "other").await;
            free(&other, &held).await;
        }
        let held = take(&other, &mutex, "other").await;
        if is_cut {
            proxy.heal().unwrap();
        }
        assert!(
            is_refused(&store, &mutex, "runner").await,
            "two own, cut: {is_cut}"
        );
        free(&other, &held).await;
    }
}

#[tokio::test]
async fn a_deletion_that_is_told_of_late_frees_no_later_node_of_the_same_number() {
    let store = client(SERVER.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let (mutex, raw) = (name("late"), raw().await);
    let dir = format!("/simba/{mutex}");
    for _ in 0..3 {
        let held = take(&store, &mutex, "runner").await;
        free(&store, &held).await;
    }
    let first = take(&store, &mutex, "runner").await;
    let mut late = Box::pin(store.release(&first));
    // Sent, and nobody looks for the answer.
    assert!(late.as_mut().now_or_never().is_none());
    let gone = async {
        while !raw.list_children(&dir).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    remove(&raw, &dir).await;
    // In a new parent, until one has the same number, and what that rests on is watched.
    for _ in 0..3 {
        let held = take(&store, &mutex, "runner").await;
        free(&store, &held).await;
    }
    let second = take(&store, &mutex, "runner").await;
    let _ = late.await;
    assert!(is_refused(&store, &mutex, "second").await, "two own");
    free(&store, &second).await;
}

/// Nobody has numbered it, so it may stand behind one node and before the next.
#[tokio::test]
async fn a_node_without_a_number_of_the_servers_is_not_passed_over() {
    let (store, raw) = (client(SERVER.address(), "").await.unwrap(), raw().await);
    let mutex = name("unnumbered");
    let held = take(&store, &mutex, "runner").await;
    let options =
        zookeeper_client::CreateMode::Ephemeral.with_acls(zookeeper_client::Acls::anyone_all());
    let path = format!("/simba/{mutex}/by-hand-latch-00000000055");
    raw.create(&path, b"by hand", &options).await.unwrap();
    free(&store, &held).await;
    let mut won = 0;
    for _ in 0..8 {
        let bid = bid(&mutex, "runner");
        if store.acquire(&bid).await.unwrap().is_won() {
            won += 1;
        }
        store.leave(&bid).await.unwrap();
    }
    assert!(won < 8, "it was passed over");
    raw.delete(&path, None).await.unwrap();
}

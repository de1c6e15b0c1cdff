//! Together with Redisson on the same lock.

use std::time::Duration;

use tenure::Coordinator;
use tenure::lock::ReentrantOptions;
use tenure_testkit::servers::{Redis, RedisCluster};

use crate::redisson::Redisson;
use crate::support::{by, coordinator, eventually, fresh, shared, soon};

const LEASE: Duration = Duration::from_secs(60);

/// No waiter looks by itself within a test: what wakes is the word of an unlock.
fn deaf_without_words() -> ReentrantOptions {
    ReentrantOptions::default()
        .with_spin_wait(Duration::from_secs(600))
        .with_expiry(LEASE)
}

fn subscribers(server: &Redis, verb: &str, channel: &str) -> String {
    server.command(&["PUBSUB", verb, channel]).unwrap()
}

/// Both directions, reentrancy included, each woken by the other's word.
async fn back_and_forth(
    ours: &Coordinator,
    peer: &Redisson<'_>,
    name: &str,
    listens: impl Fn() -> bool,
) {
    let lock = by(
        &ours
            .reentrant_lock_with(name, deaf_without_words())
            .unwrap(),
        "rust",
    );
    // Theirs first, twice.
    assert_eq!(peer.lock(LEASE), None);
    assert_eq!(peer.lock(LEASE), None);
    assert_eq!(peer.hold_count(), "2");
    assert!(lock.try_acquire().await.unwrap().is_none());
    let owner = lock.owner().await.unwrap().expect("an owner");
    assert!(owner.id().as_str().ends_with(":17"), "{owner:?}");
    let waiting = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap() }
    });
    eventually("ours listens", async || listens()).await;
    assert_eq!(peer.unlock(), Ok(false), "one hold is left");
    assert!(!waiting.is_finished());
    assert_eq!(peer.unlock(), Ok(true));
    let outer = soon("woken by theirs", waiting).await.unwrap();
    let inner = lock.acquire().await.unwrap();
    // Ours now, twice.
    assert!(
        peer.lock(LEASE).is_some_and(|left| left > LEASE / 2),
        "ours has the lease"
    );
    assert_eq!(peer.unlock(), Err("not locked by this thread"));
    let ear = peer.listen();
    drop(inner);
    eventually("one hold is shown", async || {
        lock.hold_count().unwrap() == 1
    })
    .await;
    assert!(peer.lock(LEASE).is_some());
    outer.release().await.unwrap();
    assert_eq!(ear.hears(), "0");
    assert_eq!(peer.lock(LEASE), None, "theirs again");
    assert_eq!(peer.unlock(), Ok(true));
}

#[tokio::test]
async fn the_lock_goes_back_and_forth_by_push() {
    let server = shared();
    let ours = coordinator(server).await;
    for name in [fresh("plain"), format!("{}:{{tag}}", fresh("tagged"))] {
        let channel = if name.contains('{') {
            format!("redisson_lock__channel:{name}")
        } else {
            format!("redisson_lock__channel:{{{name}}}")
        };
        let listens = || subscribers(server, "NUMSUB", &channel).ends_with('1');
        back_and_forth(&ours, &Redisson::new(server, &name), &name, listens).await;
    }
    ours.close().await.unwrap();
}

#[tokio::test]
async fn in_a_cluster_words_stay_in_the_shard() {
    let cluster = RedisCluster::start().unwrap();
    let port = cluster.nodes()[0].port();
    let ours = Coordinator::connect(format!("redis+cluster://127.0.0.1:{port}"))
        .await
        .unwrap();
    for name in ["a", "b", "stock:{eu}"] {
        let slot = cluster.nodes()[0]
            .command(&["CLUSTER", "KEYSLOT", name])
            .unwrap();
        let slot: usize = slot.parse().unwrap();
        let at = [5461, 10923, 16384]
            .iter()
            .position(|end| slot < *end)
            .unwrap();
        let node = &cluster.nodes()[at];
        let channel = if name.contains('{') {
            format!("redisson_lock__channel:{name}")
        } else {
            format!("redisson_lock__channel:{{{name}}}")
        };
        let listens = || subscribers(node, "SHARDNUMSUB", &channel).ends_with('1');
        back_and_forth(&ours, &Redisson::in_cluster(node, name), name, listens).await;
    }
    let scattered = ours.reentrant_lock("a{b").unwrap();
    let error = by(&scattered, "rust").try_acquire().await.unwrap_err();
    assert!(error.to_string().contains("hash tag"), "{error}");
    ours.close().await.unwrap();
}

#[tokio::test]
async fn tokens_rise_over_those_of_a_fenced_lock() {
    let server = shared();
    let ours = coordinator(server).await;
    let name = fresh("fenced");
    let (lock, peer) = (
        ours.reentrant_lock(&name).unwrap(),
        Redisson::new(server, &name),
    );
    let lock = by(&lock, "rust");
    let key = format!("redisson_lock_token:{{{name}}}");
    let mut last = 0;
    for _ in 0..3 {
        assert_eq!(peer.lock(LEASE), None);
        let theirs = peer.fence();
        assert!(theirs > last, "{theirs} after {last}");
        peer.unlock().unwrap();
        let guard = lock.acquire().await.unwrap();
        last = guard.token().unwrap().store();
        assert!(last > theirs, "{last} after {theirs}");
        let nested = lock.acquire().await.unwrap();
        assert_eq!(server.command(&["GET", &key]).unwrap(), last.to_string());
        drop((guard, nested));
        eventually("free", async || {
            server.command(&["EXISTS", &name]).unwrap() == "0"
        })
        .await;
        // Theirs has no end, and must not get one: it would begin at 1 again.
        assert_eq!(server.command(&["TTL", &key]).unwrap(), "-1");
    }
    ours.close().await.unwrap();
}

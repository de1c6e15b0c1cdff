//! Fail-overs that keep what was granted, and one that forgets it.

use std::time::{Duration, Instant};

use tenure::backend::Backend;
use tenure::{Coordinator, ErrorKind, LossCause, Outcome};
use tenure_testkit::servers::{Redis, RedisCluster, RedisSentinel, wait};

use crate::cluster::{name_at, slot_of};
use crate::support::{PATIENCE, bid, eventually, held, long, name, open, terms, win};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_a_fail_over_forgets_ends_within_its_lease() {
    const LEASE: Duration = Duration::from_secs(30);
    let redis = tokio::task::spawn_blocking(|| RedisSentinel::start().unwrap())
        .await
        .unwrap();
    let sentinels = redis.sentinels().iter().map(|it| it.address().to_string());
    let url = format!(
        "redis+sentinel://{}/0?master={}",
        sentinels.collect::<Vec<_>>().join(","),
        RedisSentinel::MASTER_NAME
    );
    let coordinator = Coordinator::builder().terms(terms(10_000, 20_000));
    let coordinator = coordinator.connect(&url).await.unwrap();
    let rival = open(&url).await;
    let [master, replica] = redis.nodes();
    // From now on the replica hears nothing: it may not come back.
    let deaf = ["ACL", "SETUSER", "default", "-psync", "-sync"];
    master.command(&deaf).unwrap();
    master
        .command(&["CLIENT", "KILL", "TYPE", "replica"])
        .unwrap();
    wait::until_true("a replica that hears nothing", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("master_link_status:down"))
    })
    .unwrap();
    let asked = Instant::now();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    assert_eq!(replica.command(&["GET", "simba:{m}"]).unwrap(), "(nil)");
    master.kill().unwrap();
    assert!(guard.token().is_ok(), "nobody has told it");
    let theirs = bid(&name("m"), "rival", long());
    let second = eventually("a grant of the new master", async || {
        held(&theirs, &rival.acquire(&theirs).await.ok()?)
    })
    .await;
    // Both may believe in theirs for a moment. A fenced resource knows better.
    assert!(second.token > token, "{:?} after {token:?}", second.token);
    let lost = tokio::time::timeout(LEASE, guard.lost()).await.unwrap();
    assert_eq!(lost.cause, LossCause::Taken, "the new master says so");
    assert!(asked.elapsed() < LEASE, "{:?}", asked.elapsed());
    assert!(guard.token().is_err());
    assert!(rival.release(&second).await.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_fail_over_to_a_clock_that_is_ahead_ends_leases_early_by_as_much() {
    const LEASE: Duration = Duration::from_secs(60);
    const AHEAD: Duration = Duration::from_secs(50);
    let redis = tokio::task::spawn_blocking(|| {
        let node = Redis::builder().own_clock().unwrap();
        RedisSentinel::builder().nodes(node).start().unwrap()
    })
    .await
    .unwrap();
    let sentinels = redis.sentinels().iter().map(|it| it.address().to_string());
    let url = format!(
        "redis+sentinel://{}/0?master={}",
        sentinels.collect::<Vec<_>>().join(","),
        RedisSentinel::MASTER_NAME
    );
    let [_, replica] = redis.nodes();
    replica.set_clock(AHEAD).unwrap();
    let client = open(&url).await;
    let asked = Instant::now();
    let first = win(&client, &bid(&name("m"), "a", terms(30_000, 30_000))).await;
    wait::until_true("the grant at the replica", || {
        replica
            .command(&["GET", "simba:{m}:grant"])
            .is_ok_and(|grant| grant != "(nil)")
    })
    .unwrap();
    // Nothing is lost: the replica has it all, and is asked to take over.
    eventually("the sentinels begin", async || {
        let words = ["SENTINEL", "FAILOVER", RedisSentinel::MASTER_NAME];
        redis.sentinels()[0].command(&words).ok()
    })
    .await;
    eventually("another master", async || {
        (redis.master_port()? == replica.port()).then_some(())
    })
    .await;
    let theirs = bid(&name("m"), "rival", long());
    let second = eventually("the lease has ended there", async || {
        held(&theirs, &client.acquire(&theirs).await.ok()?)
    })
    .await;
    let took = asked.elapsed();
    assert!(
        took < LEASE - Duration::from_secs(1),
        "{took:?}: it did not end early"
    );
    let early = LEASE - AHEAD;
    assert!(
        took + Duration::from_secs(1) > early,
        "{took:?}: by more than that"
    );
    assert!(second.token > first.token, "{second:?} after {first:?}");
}

/// How many keys of `mutex` a node has.
fn keys_at(cluster: &RedisCluster, node: &Redis, mutex: &str) -> String {
    let slot = slot_of(cluster, mutex).0;
    node.command(&["CLUSTER", "COUNTKEYSINSLOT", &slot])
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_waits_for_replicas_and_survives_a_master() {
    let cluster = tokio::task::spawn_blocking(|| {
        let one = RedisCluster::builder(Redis::builder()).replicas(1);
        one.start().unwrap()
    })
    .await
    .unwrap();
    let (master, replica) = (&cluster.nodes()[0], &cluster.replicas()[0]);
    let plain = format!("redis+cluster://127.0.0.1:{}", cluster.nodes()[1].port());
    let careful = open(&format!("{plain}?wait_replicas=1")).await;
    let short = || terms(2_000, 2_000);
    // Where there is a replica it has the grant by the time that it counts.
    let safe = name_at(&cluster, 0, "safe");
    let mine = bid(&safe, "a", short());
    let grant = eventually("a confirmed grant", async || {
        held(&mine, &careful.acquire(&mine).await.ok()?)
    })
    .await;
    assert_ne!(keys_at(&cluster, replica, safe.as_str()), "0");
    let renewed = careful.renew(std::slice::from_ref(&grant)).await.remove(0);
    assert!(renewed.unwrap().is_won());
    assert!(careful.release(&grant).await.unwrap().is_won());
    // Where there is none, nothing is granted, and nothing stays behind.
    let alone = name_at(&cluster, 1, "alone");
    let lonely = bid(&alone, "a", short());
    let error = careful.acquire(&lonely).await.unwrap_err();
    let judged = (error.kind(), error.outcome());
    assert_eq!(judged, (ErrorKind::Store, Outcome::MayHave), "{error:?}");
    assert!(error.to_string().contains("0 of the 1 replicas"), "{error}");
    careful.leave(&lonely).await.unwrap();
    let owner = careful.owner(&alone).await.unwrap();
    assert_eq!(owner.owner().token(), None);
    // An owner and a waiter, and the master dies.
    let tried = name_at(&cluster, 0, "tried");
    let here = Coordinator::builder().terms(terms(1_000, 29_000));
    let (here, there) = (
        here.connect(&plain).await.unwrap(),
        Coordinator::connect(&plain).await.unwrap(),
    );
    let guard = here.lock(tried.as_str()).unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let lock = there.lock(tried.as_str()).unwrap();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    let channel = format!("simba:{{{tried}}}:*");
    eventually("it waits", async || {
        let heard = master.command(&["PUBSUB", "CHANNELS", &channel]).unwrap();
        (!heard.is_empty()).then_some(())
    })
    .await;
    wait::until_true("the grant at the replica", || {
        keys_at(&cluster, replica, tried.as_str()) != "0"
    })
    .unwrap();
    master.kill().unwrap();
    wait::until_true("the replica is master", || {
        let role = replica.command(&["ROLE"]);
        role.is_ok_and(|role| role.starts_with("master"))
    })
    .unwrap();
    // What had reached the replica is still owned, by the same grant.
    let renewed = async || (guard.remaining() > Duration::from_secs(27)).then_some(());
    eventually("renewed by the new master", renewed).await;
    assert_eq!(guard.token().unwrap(), token);
    assert!(!waiting.is_finished());
    // This client was not told; there is no replica, for the time being.
    let told = eventually("the new master's word", async || {
        let error = careful.acquire(&mine).await.err()?;
        (error.kind() == ErrorKind::Store).then_some(error)
    })
    .await;
    assert!(told.to_string().contains("0 of the 1 replicas"), "{told}");
    guard.release().await.unwrap();
    let next = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    let next = next.unwrap().expect("who waits goes on waiting");
    assert!(next.token().unwrap() > token);
    next.release().await.unwrap();
    master.start().unwrap();
    eventually("the old master is a replica", async || {
        held(&mine, &careful.acquire(&mine).await.ok()?)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_replica_a_cluster_without_a_master_serves_the_others() {
    let cluster = tokio::task::spawn_blocking(|| {
        let node = Redis::builder().set("cluster-require-full-coverage", "no");
        RedisCluster::builder(node).start().unwrap()
    })
    .await
    .unwrap();
    let url = format!("redis+cluster://127.0.0.1:{}", cluster.nodes()[1].port());
    let client = open(&url).await;
    let (gone, there) = (name_at(&cluster, 0, "gone"), name_at(&cluster, 1, "there"));
    win(&client, &bid(&gone, "a", long())).await;
    cluster.nodes()[0].kill().unwrap();
    let error = eventually("it is noticed", async || {
        client.acquire(&bid(&gone, "b", long())).await.err()
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    let bid = bid(&there, "a", long());
    let held = eventually("the others are served", async || {
        held(&bid, &client.acquire(&bid).await.ok()?)
    })
    .await;
    assert!(client.release(&held).await.unwrap().is_won());
}

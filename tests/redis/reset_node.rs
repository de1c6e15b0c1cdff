//! A node of a cluster that was reset by mistake, and given all slots: it takes
//! itself for a cluster of one.

use std::time::Duration;

use tenure::backend::{Answer, Backend};
use tenure_testkit::servers::{Redis, RedisCluster};
use tokio::task::JoinSet;

use crate::cluster::{name_at, url};
use crate::support::{bid, eventually, held, long, lose, open, try_open, win};

fn url_of_all(cluster: &RedisCluster) -> String {
    let host = |node: &Redis| format!("127.0.0.1:{}", node.port());
    let hosts: Vec<String> = cluster.nodes().iter().map(host).collect();
    format!("redis+cluster://{}", hosts.join(","))
}

async fn start() -> RedisCluster {
    tokio::task::spawn_blocking(|| RedisCluster::start().unwrap())
        .await
        .unwrap()
}

/// The first node forgets the others, and says that all slots are its own.
///
/// The others of a Valkey since 8.1 invite it again, and it is one of them a
/// second later. So they are stopped until it is well.
async fn reset(cluster: &RedisCluster) {
    let node = &cluster.nodes()[0];
    let rest = &cluster.nodes()[1..];
    rest.iter().for_each(|node| node.pause().unwrap());
    node.command(&["FLUSHALL"]).unwrap();
    node.command(&["CLUSTER", "RESET", "SOFT"]).unwrap();
    node.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"])
        .unwrap();
    eventually("it is well, in its own eyes", async || {
        let info = node.command(&["CLUSTER", "INFO"]).unwrap();
        let alone = ["cluster_state:ok\r", "cluster_known_nodes:1\r"];
        alone.iter().all(|part| info.contains(part)).then_some(())
    })
    .await;
    rest.iter().for_each(|node| node.resume().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_reset_does_not_speak_for_its_cluster() {
    let cluster = start().await;
    let (one, all) = (url(&cluster), url_of_all(&cluster));
    let mutex = name_at(&cluster, 1, "m");
    let owner = open(&all).await;
    let grant = win(&owner, &bid(&mutex, "owner", long())).await;
    // One that knew the others, by whatever URL.
    let before = open(&one).await;
    lose(&before, &bid(&mutex, "before", long())).await;
    reset(&cluster).await;
    let rest = &cluster.nodes()[1..];
    // Where all can be reached, it is outvoted.
    eventually("the owner is seen", async || {
        let fresh = try_open(&all).await.ok()?;
        let tried = fresh.acquire(&bid(&mutex, "fresh", long())).await.ok()?;
        assert!(!tried.is_won(), "the owner lives, at the second node");
        Some(())
    })
    .await;
    // A client that reaches no other node must not take its word.
    rest.iter().for_each(|node| node.pause().unwrap());
    let tried = before.acquire(&bid(&mutex, "before", long())).await;
    tried.expect_err("it knew three masters, and hears one");
    // Nor when it asks again, having heard of one master only.
    let tried = before.acquire(&bid(&mutex, "before", long())).await;
    tried.expect_err("it knew three masters, and hears one");
    if let Ok(late) = try_open(&all).await {
        let tried = late.acquire(&bid(&mutex, "late", long())).await;
        tried.expect_err("the URL lists three, and one answers");
    }
    rest.iter().for_each(|node| node.resume().unwrap());
    // The others are the cluster, for what they have.
    eventually("the owner goes on", async || {
        let renewed = owner.renew(std::slice::from_ref(&grant)).await.remove(0);
        renewed.ok().filter(Answer::is_won)
    })
    .await;
    eventually("and can give it back", async || {
        owner.release(&grant).await.ok().filter(Answer::is_won)
    })
    .await;
}

/// The bound: nothing tells such a node from a cluster of one, if no other is
/// known. A client whose URL lists more nodes is safe.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_of_one_node_cannot_know_that_it_was_reset() {
    let cluster = start().await;
    let mutex = name_at(&cluster, 1, "m");
    let owner = open(&url_of_all(&cluster)).await;
    let first = win(&owner, &bid(&mutex, "owner", long())).await;
    reset(&cluster).await;
    let fresh = open(&url(&cluster)).await;
    let second = bid(&mutex, "fresh", long());
    let second = eventually("it takes the only node that it knows", async || {
        held(&second, &fresh.acquire(&second).await.ok()?)
    })
    .await;
    // A fenced resource knows the later one.
    assert!(second.token > first.token);
}

/// Two of three answer, and agree on a part only: what the one says of the rest
/// makes it no voter of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_reset_is_not_the_only_voter_while_another_is_silent() {
    let cluster = start().await;
    let all = url_of_all(&cluster);
    let mutex = name_at(&cluster, 2, "m");
    let owner = open(&all).await;
    win(&owner, &bid(&mutex, "owner", long())).await;
    let mut others = Vec::new();
    for number in 0..8 {
        let other = open(&all).await;
        let theirs = bid(&mutex, &format!("other-{number}"), long());
        lose(&other, &theirs).await;
        others.push((other, theirs));
    }
    reset(&cluster).await;
    cluster.nodes()[1].pause().unwrap();
    for _ in 0..3 {
        // What was heard a second ago is not asked for again.
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let mut tries = JoinSet::new();
        for (other, theirs) in others.clone() {
            tries.spawn(async move { other.acquire(&theirs).await });
        }
        for tried in tries.join_all().await {
            let won = tried.is_ok_and(|answer| answer.is_won());
            assert!(!won, "the owner lives, at the third node");
        }
    }
    cluster.nodes()[1].resume().unwrap();
}

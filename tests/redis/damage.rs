//! Keys that others have written.

use tenure::Coordinator;

use crate::support;
use tenure_testkit::every_store::damage::{damage, is_isolated_and_mended};
use tenure_testkit::every_store::ledgers;
use tenure_testkit::servers::{Redis, RedisCluster};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_mutexes_are_named_and_mended_and_hurt_no_other() {
    let server = Redis::start().unwrap();
    let run = |words: &[&str]| server.command(words).unwrap();
    run(&["HSET", "simba:{hash}", "a", "1"]);
    run(&["SET", "simba:{queue}:contender", "no set"]);
    run(&["RPUSH", "simba:{grant}:grant", "x"]);
    run(&["SADD", "simba:{kept}:kept", "x"]);
    run(&["SET", "simba:{fence}", "0:1@h", "PX", "600000"]);
    run(&["RPUSH", "simba:{fence}:fence", "x"]);
    run(&["SET", "simba:{no id}", "a\nb", "PX", "600000"]);
    run(&["SET", "simba:{two parts}", "a@@b", "PX", "600000"]);
    run(&["SET", "simba:{empty}", "", "PX", "600000"]);
    run(&["SET", "simba:{for ever}", "0:1@h"]);
    run(&[
        "EVAL",
        r"return redis.call('SET', 'simba:{bytes}', 'a\255', 'PX', 600000)",
        "0",
    ]);
    run(&[
        "EVAL",
        r"return redis.call('SET', 'simba:{\255b}', 'a', 'PX', 600000)",
        "0",
    ]);
    let jvm = "名".repeat(66);
    run(&["SET", &format!("simba:{{{jvm}}}"), "0:1@h", "PX", "600000"]);
    run(&["SET", "simba:{ padded}", "0:1@h", "PX", "600000"]);
    run(&["SET", "simba:{}", "0:1@h", "PX", "600000"]);
    let coordinator = Coordinator::connect(support::url(&server)).await.unwrap();
    let damage = [
        damage("hash", "another type: owner"),
        damage("queue", "another type: queue"),
        damage("grant", "another type: grant"),
        damage("kept", "another type: kept"),
        damage("fence", "another type: fence"),
        damage("no id", r#""a\nb""#),
        damage("two parts", "no contender id"),
        damage("empty", "no contender id"),
        damage("for ever", "no expiry"),
        damage("bytes", r"a\\xff"),
        damage(r"\xffb", "no UTF-8"),
        damage(&jvm, "at most 66 bytes"),
        damage(" padded", "white space"),
        damage("", "blank"),
    ];
    is_isolated_and_mended(&coordinator, &damage).await;
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_in_a_cluster() {
    let cluster = RedisCluster::start().unwrap();
    let run = |words: &[&str]| {
        // Wherever its slot is.
        let done = cluster
            .nodes()
            .iter()
            .any(|node| node.command(words).is_ok());
        assert!(done, "{words:?}");
    };
    run(&["HSET", "simba:{hash}", "a", "1"]);
    run(&["SET", "simba:{queue}:contender", "no set"]);
    run(&["SET", "simba:{no id}", "a\nb", "PX", "600000"]);
    run(&["SET", "simba:{for ever}", "0:1@h"]);
    run(&["SET", "simba:{ padded}", "0:1@h", "PX", "600000"]);
    let url = crate::cluster::url(&cluster);
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let damage = [
        damage("hash", "another type: owner"),
        damage("queue", "another type: queue"),
        damage("no id", r#""a\nb""#),
        damage("for ever", "no expiry"),
        damage(" padded", "white space"),
    ];
    is_isolated_and_mended(&coordinator, &damage).await;
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_ledgers_are_named_and_hide_no_other() {
    let server = Redis::start().unwrap();
    let run = |words: &[&str]| server.command(words).unwrap();
    run(&["SET", "simba:{text}:schedule", "no hash"]);
    run(&[
        "HSET",
        "simba:{half}:schedule",
        "plan",
        "rate 1000ms after 0ms",
    ]);
    let bytes = r"return redis.call('HSET', 'simba:{b}:schedule', 'plan', 'a\255')";
    run(&["EVAL", bytes, "0"]);
    let name = r"return redis.call('HSET', 'simba:{\255}:schedule', 'plan', 'a')";
    run(&["EVAL", name, "0"]);
    let url = support::url(&server);
    let place = url.parse().unwrap();
    let client = tenure::stores::open(&place, tenure::clock::Clock::boot());
    let client = client.await.unwrap();
    let coordinator = Coordinator::connect(&url).await.unwrap();
    let damaged = ["b", "half", "text", r"\xff"];
    ledgers::damage_hides_no_other(&client, &coordinator, &damaged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_ledgers_of_a_cluster_hide_no_other() {
    let cluster = RedisCluster::start().unwrap();
    let words = ["SET", "simba:{text}:schedule", "no hash"];
    let mut nodes = cluster.nodes().iter();
    assert!(nodes.any(|node| node.command(&words).is_ok()));
    let url = crate::cluster::url(&cluster);
    let place = url.parse().unwrap();
    let client = tenure::stores::open(&place, tenure::clock::Clock::boot());
    let client = client.await.unwrap();
    let coordinator = Coordinator::connect(&url).await.unwrap();
    ledgers::damage_hides_no_other(&client, &coordinator, &["text"]).await;
}

/// A revocation without a token mends also what has an owner that is well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_damaged_beside_an_owner_is_mended_by_a_revocation() {
    let server = Redis::start().unwrap();
    let owner = Coordinator::connect(support::url(&server)).await.unwrap();
    let other = Coordinator::connect(support::url(&server)).await.unwrap();
    let damages: [(&str, &[&str]); 2] = [
        ("queue", &["SET", "simba:{queue}:contender", "no set"]),
        ("fence", &["RPUSH", "simba:{fence}:fence", "x"]),
    ];
    for (name, words) in damages {
        let guard = owner.lock(name).unwrap().acquire().await.unwrap();
        server.command(&["DEL", words[1]]).unwrap();
        server.command(words).unwrap();
        let revoked = other.revoke(name, None).await.unwrap();
        assert!(revoked.is_freed(), "{name}: {revoked:?}");
        let taken = other.lock(name).unwrap().try_acquire().await.unwrap();
        assert!(taken.is_some(), "{name} works again");
        drop(guard);
    }
    owner.close().await.unwrap();
    other.close().await.unwrap();
}

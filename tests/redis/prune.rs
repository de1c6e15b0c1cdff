//! Removing what is not used.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::Prune;
use tenure_testkit::every_store::prune::{pruned, removes_what_is_old, works_for_people};
use tenure_testkit::servers::{Redis, RedisCluster};

use crate::support::{client, open, url};

const AGE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_fences_and_ledgers_go_and_tokens_rise() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let mutexes = removes_what_is_old(&client, 250, AGE).await;
    assert_eq!(mutexes, 249, "all but the one that is owned");
    tokio::time::sleep(Duration::from_millis(50)).await;
    pruned(
        &client,
        Prune::unused_for(Duration::from_millis(1)).with_schedules(),
    )
    .await;
    let left = server.command(&["KEYS", "*"]).unwrap();
    assert_eq!(left, "", "nothing is left");
    works_for_people(&Coordinator::connect(url(&server)).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_in_a_cluster() {
    let cluster = RedisCluster::start().unwrap();
    let client = open(&crate::cluster::url(&cluster)).await;
    assert_eq!(removes_what_is_old(&client, 120, AGE).await, 119);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_judged_stays() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    for words in [
        ["SET", "simba:{a}:fence", "9007199254740990"],
        ["SET", "simba:{b}:fence", "no number"],
        ["RPUSH", "simba:{c}:fence", "x"],
        ["SADD", "simba:{d}:schedule", "x"],
    ] {
        server.command(&words).unwrap();
    }
    server.command(&["SET", "simba:{e}:fence", "5"]).unwrap();
    server.command(&["HSET", "simba:{e}", "a", "1"]).unwrap();
    let none = Prune::unused_for(Duration::ZERO).with_schedules();
    assert_eq!(pruned(&client, none).await, (0, 0));
}

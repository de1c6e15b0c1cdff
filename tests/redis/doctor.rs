//! What the doctor says of servers that may take over from each other.

use std::time::Duration;

use tenure::backend::{Finding, Severity};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Redis, RedisCluster, wait};

use crate::support::{open, shared, url};

async fn finding(url: &str, subject: &str) -> Option<Finding> {
    let findings = open(url).await.check().await;
    let mut found = findings.into_iter().filter(|it| it.subject == subject);
    let first = found.next();
    assert!(found.next().is_none(), "{subject} is told once");
    first
}

fn in_step(replica: &Redis) {
    wait::until_true("a replica in step", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("master_link_status:up"))
    })
    .unwrap();
}

/// Fails when the suite runs on a version that is not written down yet.
#[tokio::test]
async fn the_doctor_knows_the_version_that_the_tests_run_on() {
    let told = finding(&url(shared()), "version").await;
    let told = told.expect("the server is told of").detail;
    assert!(told.ends_with("a tested version"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_would_go_on_without_its_replicas_is_found() {
    let master = Redis::start().unwrap();
    assert_eq!(finding(&url(&master), "replication").await, None, "alone");
    assert_eq!(finding(&url(&master), "clocks").await, None);
    let replica = Redis::builder().replica_of(&master).start().unwrap();
    in_step(&replica);
    let told = finding(&url(&master), "replication").await.unwrap();
    assert_eq!(told.severity, Severity::Warning, "{told:?}");
    let told = finding(&url(&master), "clocks").await.unwrap();
    assert_eq!(told.severity, Severity::Good, "{told:?}");
    let careful = format!("{}?wait_replicas=1", url(&master));
    let told = finding(&careful, "replication").await.unwrap();
    assert_eq!(told.severity, Severity::Good, "{told:?}");
    let set = ["CONFIG", "SET", "min-replicas-to-write", "1"];
    master.command(&set).unwrap();
    let told = finding(&url(&master), "replication").await.unwrap();
    assert_eq!(told.severity, Severity::Good, "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_whose_clock_is_ahead_is_found() {
    let master = Redis::start().unwrap();
    let replica = Redis::builder().own_clock().unwrap();
    let replica = replica.replica_of(&master).start().unwrap();
    in_step(&replica);
    let told = finding(&url(&master), "clocks").await.unwrap();
    assert_eq!(told.severity, Severity::Good, "{told:?}");
    replica.set_clock(Duration::from_secs(3)).unwrap();
    let told = finding(&url(&master), "clocks").await.unwrap();
    assert_eq!(told.severity, Severity::Warning, "{told:?}");
    let who = format!("the clock of 127.0.0.1:{} is", replica.port());
    assert!(told.detail.contains(&who), "{told:?}");
    replica.set_clock(Duration::ZERO).unwrap();
    let told = finding(&url(&master), "clocks").await.unwrap();
    assert_eq!(told.severity, Severity::Good, "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clocks_of_all_nodes_of_a_cluster_are_compared() {
    let cluster = tokio::task::spawn_blocking(|| {
        let one = RedisCluster::builder(Redis::builder()).replicas(1);
        one.start().unwrap()
    })
    .await
    .unwrap();
    let url = format!("redis+cluster://127.0.0.1:{}", cluster.nodes()[0].port());
    let told = finding(&url, "clocks").await.unwrap();
    assert_eq!(told.severity, Severity::Good, "{told:?}");
    assert!(told.detail.starts_with("4 servers"), "{told:?}");
}

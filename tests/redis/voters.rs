//! Sentinels that a URL names too few of, or twice.

use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::backend::{Backend, Severity};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{RedisSentinel, Sentinel};

use crate::support::{PATIENCE, bid, eventually, held, long, name, open, terms, try_open, win};

const LEASE: Duration = Duration::from_secs(4);

fn url<'a>(hosts: impl IntoIterator<Item = &'a str>) -> String {
    let hosts = hosts.into_iter().collect::<Vec<_>>().join(",");
    let master = RedisSentinel::MASTER_NAME;
    format!("redis+sentinel://{hosts}/0?master={master}")
}

fn all(redis: &RedisSentinel) -> Vec<String> {
    let address = |it: &Sentinel| it.address().to_string();
    redis.sentinels().iter().map(address).collect()
}

async fn start(separable: bool) -> RedisSentinel {
    let builder = RedisSentinel::builder();
    let builder = if separable {
        builder.separable()
    } else {
        builder
    };
    tokio::task::spawn_blocking(move || builder.start().unwrap())
        .await
        .unwrap()
}

/// What the doctor says of the sentinels.
async fn told(url: &str) -> (Severity, String) {
    let findings = open(url).await.check().await;
    let mut found = findings.into_iter().filter(|it| it.subject == "sentinels");
    let told = found.next().expect("it looks at the sentinels");
    (told.severity, told.detail.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_names_one_sentinel_of_three_does_not_follow_it_into_a_minority() {
    let redis = start(true).await;
    let hosts = all(&redis);
    let few = url([hosts[0].as_str()]);
    let coordinator = Coordinator::builder().terms(terms(1_000, 3_000));
    let coordinator = coordinator.connect(&few).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    let token = guard.token().unwrap();
    // The old master, the one sentinel and the owner on one side. The others
    // are out of the owner's reach, at the addresses that it can learn.
    redis.split();
    redis.hide(1);
    redis.hide(2);
    let rival = open(&url(hosts.iter().map(String::as_str))).await;
    let theirs = bid(&name("m"), "rival", long());
    let second = eventually("a grant of the new master", async || {
        let held = held(&theirs, &rival.acquire(&theirs).await.ok()?)?;
        (held.token > token).then_some(held)
    })
    .await;
    let since = Instant::now();
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    lost.expect("it follows what one sentinel of three says");
    assert!(
        since.elapsed() < LEASE,
        "both owned for {:?}",
        since.elapsed()
    );
    drop(guard);
    let error = try_open(&few).await.unwrap_err().to_string();
    assert!(error.contains("1 of the 3 sentinels"), "{error}");
    assert!(error.contains("the URL lists 1"), "{error}");
    // Where it reaches them, it follows the two, though the one of its URL
    // still names the old master.
    assert!(rival.release(&second).await.unwrap().is_won());
    redis.heal().unwrap();
    redis.split();
    let next = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    let next = next.unwrap().unwrap();
    assert!(next.token().unwrap() > second.token);
    let owner = redis.nodes()[1].command(&["EXISTS", "simba:{m}"]);
    assert_eq!(owner.unwrap(), "1", "at the new master");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_sentinel_under_two_names_has_one_vote() {
    let redis = start(false).await;
    let hosts = all(&redis);
    let [one, ..] = redis.sentinels() else {
        panic!("three sentinels");
    };
    let twin = format!("localhost:{}", one.address().port());
    let doubled = url([hosts[0].as_str(), &twin, &hosts[1]]);
    let (severity, detail) = told(&doubled).await;
    assert_eq!(severity, Severity::Warning, "{detail}");
    assert!(detail.contains(&twin), "{detail}");
    // It names another than the others do.
    let master = RedisSentinel::MASTER_NAME;
    one.command(&["SENTINEL", "REMOVE", master]).unwrap();
    let other = redis.nodes()[1].port().to_string();
    one.command(&["SENTINEL", "MONITOR", master, "127.0.0.1", &other, "2"])
        .unwrap();
    let client = open(&doubled).await;
    win(&client, &bid(&name("m"), "a", long())).await;
    let owner = redis.nodes()[0].command(&["EXISTS", "simba:{m}"]);
    assert_eq!(owner.unwrap(), "1", "at the master of the other two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_counts_the_sentinels() {
    let redis = start(false).await;
    let hosts = all(&redis);
    let (severity, detail) = told(&url(hosts.iter().map(String::as_str))).await;
    assert_eq!(severity, Severity::Good, "{detail}");
    let (severity, detail) = told(&url([hosts[2].as_str()])).await;
    assert_eq!(severity, Severity::Warning, "{detail}");
    assert!(detail.contains("1 of the 3"), "{detail}");
    // A login from before, which may ask for the master and nothing else.
    let login = "&sentinel_user=old&sentinel_password=secret";
    for sentinel in redis.sentinels() {
        let user = "old on >secret -@all +sentinel|get-master-addr-by-name";
        let words: Vec<&str> = ["ACL", "SETUSER"]
            .into_iter()
            .chain(user.split(' '))
            .collect();
        sentinel.command(&words).unwrap();
    }
    let old = format!("{}{login}", url(hosts.iter().map(String::as_str)));
    let (severity, detail) = told(&old).await;
    assert_eq!(severity, Severity::Warning, "{detail}");
    win(&open(&old).await, &bid(&name("m"), "a", long())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_may_be_replaced_one_by_one_under_an_old_url() {
    let redis = start(false).await;
    let hosts = all(&redis);
    // Of those that the URL lists, two have gone for good; the one that is
    // left knows who has come. (Here: the two that the URL does not list.)
    let gone = ["127.0.0.1:9", "127.0.0.1:10"];
    let old = url([hosts[0].as_str(), gone[0], gone[1]]);
    let client = open(&old).await;
    let held = win(&client, &bid(&name("m"), "a", long())).await;
    let renewed = client.renew(std::slice::from_ref(&held)).await.remove(0);
    assert!(renewed.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_that_has_forgotten_the_others_does_not_decide_alone() {
    let redis = start(true).await;
    let hosts = all(&redis);
    let client = open(&url([hosts[0].as_str()])).await;
    let held = win(&client, &bid(&name("m"), "a", long())).await;
    assert!(client.release(&held).await.unwrap().is_won());
    redis.split();
    redis.hide(1);
    redis.hide(2);
    let next = bid(&name("m"), "b", long());
    eventually("one of three is not enough", async || {
        match client.acquire(&next).await {
            Ok(answer) => {
                // What was heard a second ago still counts.
                let held = next.held(answer.token()?);
                let _ = client.release(&held).await;
                None
            }
            Err(_undecided) => Some(()),
        }
    })
    .await;
    let one = &redis.sentinels()[0];
    let master = RedisSentinel::MASTER_NAME;
    one.command(&["SENTINEL", "RESET", master]).unwrap();
    eventually("it knows nobody", async || {
        let others = one.command(&["SENTINEL", "SENTINELS", master]).ok()?;
        others.trim().is_empty().then_some(())
    })
    .await;
    let end = Instant::now() + LEASE;
    while Instant::now() < end {
        let tried = client.acquire(&next).await;
        tried.expect_err("this process has known three");
        tokio::time::sleep(LEASE / 10).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_names_a_silent_sentinel_also_where_leases_are_short() {
    let redis = start(false).await;
    let hosts = all(&redis);
    let coordinator = Coordinator::builder().terms(terms(1_000, 3_000));
    let url = url(hosts.iter().map(String::as_str));
    let coordinator = coordinator.connect(&url).await.unwrap();
    redis.sentinels()[2].pause().unwrap();
    // On a machine that stands still the time of the call is soon over.
    let told = eventually("the doctor is not too late", async || {
        let findings = coordinator.check().await.ok()?;
        findings.into_iter().find(|it| it.subject == "sentinels")
    })
    .await;
    redis.sentinels()[2].resume().unwrap();
    assert_eq!(told.severity, Severity::Warning, "{told:?}");
    assert!(told.detail.contains(&hosts[2]), "{told:?}");
}

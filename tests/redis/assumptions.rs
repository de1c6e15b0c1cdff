//! What is assumed of servers and of those who run them, and what happens when
//! it is not so.

use std::time::{Duration, Instant};

use tenure::backend::Backend;
use tenure::{Coordinator, LossCause};
use tenure_testkit::servers::{Redis, RedisSentinel};

use crate::support::{PATIENCE, bid, eventually, held, long, name, open, terms, url, win};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_a_server_ends_early_is_lost_at_the_next_renewal_and_tokens_rise() {
    let server = Redis::start().unwrap();
    let coordinator = Coordinator::builder().terms(terms(2_000, 58_000));
    let coordinator = coordinator.connect(url(&server)).await.unwrap();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let rival = open(&url(&server)).await;
    // What a forward step of its clock does, and the clock of a promoted
    // replica that is ahead: all that is kept for a while ends at once.
    for key in ["simba:{m}", "simba:{m}:grant"] {
        server.command(&["PEXPIRE", key, "1"]).unwrap();
    }
    let theirs = bid(&name("m"), "rival", long());
    let second = eventually("the lease has ended for the server", async || {
        held(&theirs, &rival.acquire(&theirs).await.ok()?)
    })
    .await;
    assert!(second.token > token);
    // The first learns of it from its next renewal.
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.cause, LossCause::Taken);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_clock_steps_forward_ends_leases_early_and_tokens_rise() {
    let server = Redis::builder().own_clock().unwrap().start().unwrap();
    let coordinator = Coordinator::builder().terms(terms(2_000, 58_000));
    let coordinator = coordinator.connect(url(&server)).await.unwrap();
    let guard = coordinator.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let rival = open(&url(&server)).await;
    let theirs = bid(&name("m"), "rival", long());
    crate::support::lose(&rival, &theirs).await;
    server.set_clock(Duration::from_secs(61)).unwrap();
    let second = eventually("the lease has ended for the server", async || {
        held(&theirs, &rival.acquire(&theirs).await.ok()?)
    })
    .await;
    assert!(second.token > token);
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await.unwrap();
    assert_eq!(lost.cause, LossCause::Taken);
    // Back again: what was granted meanwhile lasts for longer, and a new
    // token is larger all the same.
    server.set_clock(Duration::ZERO).unwrap();
    assert!(rival.release(&second).await.unwrap().is_won());
    let third = win(&rival, &bid(&name("m"), "third", long())).await;
    assert!(third.token > second.token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_grace_is_as_long_as_the_lease_of_the_one_who_takes() {
    let server = Redis::start().unwrap();
    let url = format!("{}?restart_grace=on", url(&server));
    let (long_lease, short_lease) = (open(&url).await, open(&url).await);
    let owner = bid(&name("m"), "a", terms(30_000, 30_000));
    // Nothing is asked of a server that is old enough; this one is not.
    let plain = open(&crate::support::url(&server)).await;
    win(&plain, &owner).await;
    server.restart().unwrap();
    let restarted = Instant::now();
    let mine = bid(&name("m"), "b", terms(1_000, 1_000));
    eventually("one lease of the taker's", async || {
        held(&mine, &short_lease.acquire(&mine).await.ok()?)
    })
    .await;
    assert!(
        restarted.elapsed() < owner.terms.lease(),
        "the owner's runs on"
    );
    assert!(
        long_lease.acquire(&owner).await.is_err(),
        "not yet for its own"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_that_names_another_master_is_outvoted() {
    let redis = tokio::task::spawn_blocking(|| RedisSentinel::start().unwrap())
        .await
        .unwrap();
    let [one, two, three] = redis.sentinels() else {
        panic!("three sentinels");
    };
    let master = RedisSentinel::MASTER_NAME;
    // It forgets who is master, and is told of another: as after a RESET, or
    // when it is cut off from the other two.
    one.command(&["SENTINEL", "REMOVE", master]).unwrap();
    let other = redis.nodes()[1].port().to_string();
    one.command(&["SENTINEL", "MONITOR", master, "127.0.0.1", &other, "2"])
        .unwrap();
    let url = |hosts: &[&tenure_testkit::servers::Sentinel]| {
        let hosts = hosts.iter().map(|it| it.address().to_string());
        let hosts = hosts.collect::<Vec<_>>().join(",");
        format!("redis+sentinel://{hosts}/0?master={master}")
    };
    // With all of them it is outvoted.
    let client = open(&url(&[one, two, three])).await;
    let held = win(&client, &bid(&name("m"), "a", long())).await;
    let renewed = client.renew(std::slice::from_ref(&held)).await.remove(0);
    assert!(renewed.unwrap().is_won());
    // Of two that disagree neither decides: the third is asked too, for they
    // know it.
    let few = url(&[one, two]);
    let client = open(&few).await;
    let renewed = client.renew(std::slice::from_ref(&held)).await.remove(0);
    assert!(renewed.unwrap().is_won());
    // Without it, nothing is decided.
    three.pause().unwrap();
    let alone = crate::support::try_open(&few).await;
    let error = alone.unwrap_err().to_string();
    assert!(error.contains("1 of the 3 sentinels"), "{error}");
    three.resume().unwrap();
}

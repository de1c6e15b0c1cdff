//! Replicas, sentinels, and a server that has forgotten.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tenure::backend::{
    Administration as _, Answer, Backend, Claim, ClaimAnswer, Hint, Ledger as _,
};
use tenure::model::StoreTime;
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::servers::{Flow, Proxy, Redis, RedisSentinel, Way, wait};

use crate::support::{
    PATIENCE, Waiter, bid, calls, eventually, held, long, name, open, terms, win,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fail_over_is_followed_and_tokens_rise() {
    let redis = tokio::task::spawn_blocking(|| RedisSentinel::start().unwrap())
        .await
        .unwrap();
    let sentinels = redis
        .sentinels()
        .iter()
        .map(|sentinel| sentinel.address().to_string());
    let hosts = sentinels.collect::<Vec<_>>().join(",");
    let wrong = format!("redis+sentinel://{hosts}/0?master=nobody");
    let error = crate::support::try_open(&wrong).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    let url = format!(
        "redis+sentinel://{hosts}/0?master={}",
        RedisSentinel::MASTER_NAME
    );
    let (here, there) = (open(&url).await, open(&url).await);
    let mutex = name("m");
    let first = win(&here, &bid(&mutex, "a", long())).await;
    let mut waiter = Waiter::stand(&there, bid(&mutex, "b", long())).await;
    let [master, replica] = redis.nodes();
    wait::until_true("the grant at the replica", || {
        replica
            .command(&["GET", "simba:{m}"])
            .is_ok_and(|owner| owner == "a")
    })
    .unwrap();
    master.kill().unwrap();
    let resumed = async { while waiter.hints.next().await.unwrap() != Hint::Resumed {} };
    tokio::time::timeout(3 * PATIENCE, resumed)
        .await
        .expect("wake-ups from the new master");
    // What was replicated is still owned.
    let renewed = eventually("an answer of the new master", async || {
        here.renew(std::slice::from_ref(&first))
            .await
            .remove(0)
            .ok()
    })
    .await;
    assert!(renewed.is_won());
    eventually("the other one is there too", async || {
        there.owner(&mutex).await.ok()
    })
    .await;
    assert!(here.release(&first).await.unwrap().is_won());
    let second = waiter.win(&there).await;
    assert!(second.token > first.token);
    // The old master comes back as a replica, and no client goes there.
    master.start().unwrap();
    assert!(there.release(&second).await.unwrap().is_won());
    win(&here, &bid(&mutex, "c", long())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_counts_only_when_replicas_have_it() {
    let master = Redis::start().unwrap();
    let replica = Redis::builder().replica_of(&master).start().unwrap();
    wait::until_true("a replica in step", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("master_link_status:up"))
    })
    .unwrap();
    let url = format!("redis://127.0.0.1:{}?wait_replicas=1", master.port());
    let client = open(&url).await;
    let mine = bid(&name("m"), "a", terms(2_000, 2_000));
    let grant = eventually("a confirmed grant", async || {
        let answer = client.acquire(&mine).await.ok()?;
        held(&mine, &answer)
    })
    .await;
    assert_eq!(
        replica.command(&["GET", "simba:{m}"]).unwrap(),
        "a",
        "it is there already"
    );
    assert!(
        client
            .renew(std::slice::from_ref(&grant))
            .await
            .remove(0)
            .unwrap()
            .is_won()
    );
    replica.pause().unwrap();
    // A renewal that a fail-over would forget is none.
    let renewed = client.renew(std::slice::from_ref(&grant)).await.remove(0);
    assert!(renewed.is_err_and(|error| error.retry() == Retry::Later));
    // That it is another's by now is told, however few replicas have heard of it.
    let plain = open(&format!("redis://127.0.0.1:{}", master.port())).await;
    assert!(
        plain.revoke(&grant.name, None).await.unwrap().is_won(),
        "freed"
    );
    win(&plain, &bid(&name("m"), "b", long())).await;
    let renewed = client.renew(std::slice::from_ref(&grant)).await.remove(0);
    assert!(!renewed.unwrap().is_won());
    let at = StoreTime::from_millis(1);
    let claimed = client
        .claim_tick(&grant, &Claim::new("plan", at, 1, at))
        .await;
    assert_eq!(claimed.unwrap(), ClaimAnswer::NotOwner);
    let unconfirmed = bid(&name("n"), "a", terms(2_000, 2_000));
    let error = client.acquire(&unconfirmed).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Store, Outcome::MayHave)
    );
    assert!(error.to_string().contains("0 of the 1 replicas"), "{error}");
    client.leave(&unconfirmed).await.unwrap();
    assert_eq!(
        master.command(&["EXISTS", "simba:{n}"]).unwrap(),
        "0",
        "given back"
    );
    replica.resume().unwrap();
    let listed = master
        .command(&["CLIENT", "LIST", "TYPE", "normal"])
        .unwrap();
    // One of them is the connection that asks.
    assert!(listed.lines().count() <= 5, "{listed}");
}

/// A claim that a fail-over would forget is none: its tick would be run again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_counts_only_when_replicas_have_it() {
    let master = Redis::start().unwrap();
    let replica = Redis::builder().replica_of(&master).start().unwrap();
    let info = || master.command(&["INFO", "replication"]).unwrap();
    wait::until_true("a replica", || info().contains("state=online")).unwrap();
    let url = format!("redis://127.0.0.1:{}?wait_replicas=1", master.port());
    let client = open(&url).await;
    let mine = bid(&name("m"), "a", long());
    let grant = eventually("a confirmed grant", async || {
        let answer = client.acquire(&mine).await.ok()?;
        held(&mine, &answer)
    })
    .await;
    let ledger = client.ledger().unwrap();
    let claim = |tick| {
        let at = |tick: u64| StoreTime::from_millis(1_700_000_000_000 + tick * 1000);
        Claim::new("rate 1s", at(0), tick, at(tick))
    };
    let last = |server: &Redis| server.command(&["HGET", "simba:{m}:schedule", "last_tick"]);
    let claimed = ledger.claim_tick(&grant, &claim(1)).await.unwrap();
    assert_eq!(claimed, ClaimAnswer::Claimed);
    assert_eq!(last(&replica).unwrap(), "1", "it is there already");
    replica.pause().unwrap();
    for _ in 0..2 {
        let error = ledger.claim_tick(&grant, &claim(2)).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::MayHave, "{error}");
    }
    replica.resume().unwrap();
    // Found again, and confirmed now.
    let found = eventually("a confirmed claim", async || {
        ledger.claim_tick(&grant, &claim(2)).await.ok()
    })
    .await;
    let ClaimAnswer::Refused(entry) = found else {
        panic!("{found:?}");
    };
    assert_eq!((entry.last_tick, entry.token), (2, grant.token));
    assert_eq!(last(&replica).unwrap(), "2");
}

/// A take did not count, for want of replicas, and its caller gave up. The same
/// bid asks again, and counts. Nothing of the first attempt may arrive late and
/// free what the second has found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_did_not_count_is_not_undone_under_the_next_attempt() {
    let (master, replica) = tokio::task::spawn_blocking(|| {
        let master = Redis::start().unwrap();
        let replica = Redis::builder().replica_of(&master).start().unwrap();
        (master, replica)
    })
    .await
    .unwrap();
    let info = || master.command(&["INFO", "replication"]).unwrap();
    wait::until_true("a replica", || info().contains("state=online")).unwrap();
    let way = Proxy::start(master.address()).unwrap();
    let url = |port| format!("redis://127.0.0.1:{port}?wait_replicas=1");
    let (slow, direct) = (
        open(&url(way.port())).await,
        open(&url(master.port())).await,
    );
    let mutex = name("m");
    let asked = bid(&mutex, "a", terms(4_000, 4_000));
    replica.pause().unwrap();
    let first = tokio::spawn({
        let asked = asked.clone();
        async move { slow.acquire(&asked).await }
    });
    wait::until_true("it is taken", || {
        master.command(&["EXISTS", "simba:{m}"]).unwrap() == "1"
    })
    .unwrap();
    // What it says from here on is on its way for long.
    way.set(Way::ToServer, Flow::Hold);
    let error = tokio::time::timeout(PATIENCE, first).await;
    let error = error.expect("an end").unwrap().unwrap_err();
    assert!(error.may_have_happened(), "{error}");
    replica.resume().unwrap();
    let grant = eventually("the replica confirms", async || {
        held(&asked, &direct.acquire(&asked).await.ok()?)
    })
    .await;
    way.heal().unwrap();
    // Whatever was held back has arrived by the time a new connection works.
    let third = open(&url(way.port())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let late = third.acquire(&bid(&mutex, "b", terms(4_000, 4_000))).await;
    assert!(!late.unwrap().is_won(), "the first owns");
    let renewed = direct.renew(std::slice::from_ref(&grant)).await.remove(0);
    assert!(renewed.unwrap().is_won());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_nobody_takes_before_one_lease() {
    let server = Redis::start().unwrap();
    let url = format!("redis://127.0.0.1:{}?restart_grace=on", server.port());
    let client = open(&url).await;
    let lease = Duration::from_secs(4);
    let mine = || bid(&name("m"), "a", terms(2_000, 2_000));
    let taken = async || client.acquire(&mine()).await.ok().filter(Answer::is_won);
    eventually("old enough", taken).await;
    // Started shortly before a second of the wall clock ends: the server soon
    // says that it has been up for one.
    server.kill().unwrap();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let into = Duration::from_nanos(u64::from(wall.subsec_nanos()));
    let late = Duration::from_millis(900);
    let next = if into < late {
        late - into
    } else {
        late + Duration::from_secs(1) - into
    };
    tokio::time::sleep(next).await;
    let restarted = Instant::now();
    server.start().unwrap();
    let error = eventually("an answer", async || {
        let error = client.acquire(&mine()).await.err()?;
        (error.kind() == ErrorKind::Store).then_some(error)
    })
    .await;
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Later)
    );
    assert!(error.to_string().contains("restart_grace"), "{error}");
    // Who comes new is held back as well.
    let newcomer = open(&url).await;
    assert!(newcomer.acquire(&mine()).await.is_err());
    eventually("one lease", taken).await;
    assert!(restarted.elapsed() >= lease, "{:?}", restarted.elapsed());
}

/// A grant whose answer was lost is found again only once replicas have it.
async fn is_found_again_with_its_replicas(
    open: impl AsyncFn(String) -> tenure::backend::AnyBackend,
) {
    let master = Redis::start().unwrap();
    let replica = Redis::builder().replica_of(&master).start().unwrap();
    wait::until_true("a replica in step", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("master_link_status:up"))
    })
    .unwrap();
    let url = format!("redis://127.0.0.1:{}?wait_replicas=1", master.port());
    let (client, other) = (open(url.clone()).await, open(url).await);
    let first = bid(&name("first"), "a", terms(2_000, 2_000)).with_unique_id();
    let token = eventually("a confirmed grant", async || {
        client.acquire(&first).await.ok()?.token()
    })
    .await;
    // Asked again on a connection that has written nothing: WAIT is about what
    // its connection has written, and would not wait for anything.
    // (Version 7.0 waits for everything; what is written tells it there.)
    let before = calls(&master, "pexpire");
    let again = other.acquire(&first).await.unwrap();
    assert_eq!(again.token(), Some(token), "the same grant");
    assert!(calls(&master, "pexpire") > before, "it has written");
    let left = again.owner().remaining(again.now()).unwrap();
    assert!(
        left <= Duration::from_millis(4_000),
        "not lengthened: {left:?}"
    );
    replica.pause().unwrap();
    let second = bid(&name("second"), "a", terms(2_000, 2_000)).with_unique_id();
    let lost = tokio::time::timeout(Duration::from_millis(150), client.acquire(&second)).await;
    assert!(lost.is_err(), "given up while replicas are waited for");
    let error = other.acquire(&second).await.expect_err("no replica has it");
    assert!(error.to_string().contains("0 of the 1 replicas"), "{error}");
    replica.resume().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_found_again_counts_only_when_replicas_have_it() {
    is_found_again_with_its_replicas(async |url| {
        tenure::backend::AnyBackend::new(open(&url).await)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reentrant_hold_found_again_counts_only_when_replicas_have_it() {
    is_found_again_with_its_replicas(async |url| {
        let redis = open(&url).await;
        tenure::backend::AnyBackend::new(tenure::stores::redis::RedisHash::of(redis))
    })
    .await;
}

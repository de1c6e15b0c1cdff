//! What a person must mend: clear, typed, no tight loop.

use std::time::Duration;

use tenure::backend::{Backend, Severity};
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Flow, Proxy, Redis, Way};

use crate::support::{
    bid, calls, client, eventually, fresh, long, lose, name, open, shared, url, win,
};

/// A take failed, and gives up the place that it may have in the queue. That is
/// long on its way, and meanwhile the same bid has asked again and owns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_is_given_up_late_frees_no_grant() {
    let server = Redis::start().unwrap();
    let way = Proxy::start(server.address()).unwrap();
    let direct = client(&server).await;
    let slow = open(&format!("redis://127.0.0.1:{}", way.port())).await;
    // The server knows the scripts.
    win(&direct, &bid(&name("other"), "a", long())).await;
    server.command(&["LPUSH", "simba:{m}", "x"]).unwrap();
    way.set(Way::ToServer, Flow::Delay(Duration::from_secs(1)));
    let asked = bid(&name("m"), "a", long());
    let before = calls(&server, "evalsha");
    let failing = tokio::spawn({
        let asked = asked.clone();
        async move { slow.acquire(&asked).await }
    });
    eventually("it is asked for", async || {
        (calls(&server, "evalsha") > before).then_some(())
    })
    .await;
    server.command(&["DEL", "simba:{m}"]).unwrap();
    let grant = win(&direct, &asked).await;
    // Answered once its place is given up.
    let _ = failing.await.unwrap();
    lose(&direct, &bid(&name("m"), "b", long())).await;
    let renewed = direct.renew(std::slice::from_ref(&grant)).await.remove(0);
    assert!(renewed.unwrap().is_won());
}

#[tokio::test]
async fn a_key_of_another_type_is_a_conflict() {
    let client = client(shared()).await;
    for (part, make) in [("", "LPUSH"), (":contender", "LPUSH"), (":fence", "LPUSH")] {
        let mutex = fresh("type");
        let key = format!("simba:{{{mutex}}}{part}");
        shared().command(&[make, &key, "x"]).unwrap();
        let error = client.acquire(&bid(&mutex, "a", long())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{part}: {error:?}");
        assert_eq!(
            (error.outcome(), error.retry()),
            (Outcome::DidNot, Retry::Never)
        );
        assert!(error.to_string().contains("prefix"), "{error}");
        let owner = shared()
            .command(&["EXISTS", &format!("simba:{{{mutex}}}:grant")])
            .unwrap();
        assert_eq!(owner, "0", "{part}: an error has changed nothing");
    }
    // One mutex in a bad way must not cost the others their renewal.
    let (good, bad) = (fresh("good"), fresh("bad"));
    let good = win(&client, &bid(&good, "a", long())).await;
    let spoilt = win(&client, &bid(&bad, "a", long())).await;
    let key = format!("simba:{{{bad}}}");
    shared().command(&["DEL", &key]).unwrap();
    shared().command(&["LPUSH", &key, "x"]).unwrap();
    let answers = client.renew(&[spoilt, good]).await;
    assert_eq!(answers[0].as_ref().unwrap_err().kind(), ErrorKind::Conflict);
    assert!(answers[1].as_ref().unwrap().is_won());
}

#[tokio::test]
async fn an_owner_for_ever_is_a_conflict_that_names_it() {
    let client = client(shared()).await;
    let mutex = fresh("persist");
    let held = win(&client, &bid(&mutex, "forever", long())).await;
    shared()
        .command(&["PERSIST", &format!("simba:{{{mutex}}}")])
        .unwrap();
    let error = client.acquire(&bid(&mutex, "b", long())).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::Conflict, Retry::Never)
    );
    let text = error.to_string();
    assert!(
        text.contains("forever") && text.contains("PERSIST"),
        "{text}"
    );
    let renewed = client
        .renew(std::slice::from_ref(&held))
        .await
        .remove(0)
        .unwrap();
    assert!(renewed.is_won(), "a renewal gives it an end again");
    lose(&client, &bid(&mutex, "b", long())).await;
    assert!(client.revoke(&mutex, None).await.unwrap().is_won());
}

#[tokio::test]
async fn a_fence_that_cannot_rise_is_a_conflict() {
    let client = client(shared()).await;
    let mutex = fresh("fence");
    let fence = format!("simba:{{{mutex}}}:fence");
    shared()
        .command(&["SET", &fence, "9007199254740992"])
        .unwrap();
    let error = client.acquire(&bid(&mutex, "a", long())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    assert!(error.to_string().contains("2^53"), "{error}");
    shared()
        .command(&["SET", &fence, "9007199254740000"])
        .unwrap();
    let held = win(&client, &bid(&mutex, "a", long())).await;
    assert_eq!(
        held.token.store(),
        9_007_199_254_740_001,
        "to the last digit"
    );
}

#[tokio::test]
async fn tokens_follow_the_fence_the_clock_and_what_was_seen() {
    let client = client(shared()).await;
    let mutex = fresh("tokens");
    let first = win(&client, &bid(&mutex, "a", long())).await;
    assert!(client.release(&first).await.unwrap().is_won());
    let fence = format!("simba:{{{mutex}}}:fence");
    let days = shared()
        .command(&["TTL", &fence])
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert!((604_000..=604_800).contains(&days), "seven days: {days}");
    // The fence is lost, and the clock has stepped back behind what was seen.
    shared().command(&["DEL", &fence]).unwrap();
    let mut bid = bid(&mutex, "a", long());
    let ahead = first.token.store() + 3_600_000_000;
    bid.seen = Some(tenure::model::FencingToken::from_store(ahead).unwrap());
    let second = win(&client, &bid).await;
    assert_eq!(second.token.store(), ahead + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_says_so_and_is_not_hammered() {
    let master = Redis::start().unwrap();
    let replica = Redis::builder().replica_of(&master).start().unwrap();
    let client = client(&replica).await;
    let error = client
        .acquire(&bid(&name("m"), "a", long()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Later)
    );
    assert!(error.to_string().contains("replica"), "{error}");
    let findings = client.check().await;
    assert!(
        findings
            .iter()
            .any(|f| f.severity == Severity::Bad && f.subject == "role")
    );
    let coordinator = tenure::Coordinator::connect(url(&replica)).await.unwrap();
    let lock = coordinator.lock("m").unwrap();
    let before = calls(&replica, "hello");
    let waited = lock.acquire_within(std::time::Duration::from_secs(2)).await;
    assert!(waited.is_err(), "the store never said who owns: {waited:?}");
    let made = calls(&replica, "hello") - before;
    assert!(made < 20, "{made} connections in 2 s");
    // Once it is master, all is well again without help.
    replica.command(&["REPLICAOF", "NO", "ONE"]).unwrap();
    let guard = tokio::time::timeout(crate::support::PATIENCE, lock.acquire()).await;
    guard.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_full_memory_takes_no_new_locks_and_keeps_the_old() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let held = win(&client, &bid(&name("old"), "a", long())).await;
    server
        .command(&["CONFIG", "SET", "maxmemory", "1"])
        .unwrap();
    let error = client
        .acquire(&bid(&name("new"), "a", long()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
    assert_eq!(
        (error.outcome(), error.retry()),
        (Outcome::DidNot, Retry::Later)
    );
    assert!(error.to_string().contains("memory"), "{error}");
    assert!(
        client
            .renew(std::slice::from_ref(&held))
            .await
            .remove(0)
            .unwrap()
            .is_won()
    );
    assert!(client.release(&held).await.unwrap().is_won());
}

#[tokio::test]
async fn an_eviction_policy_is_warned_of() {
    let server = Redis::builder()
        .set("maxmemory-policy", "allkeys-lru")
        .start()
        .unwrap();
    let client = client(&server).await;
    let eviction = async || {
        client
            .check()
            .await
            .into_iter()
            .find(|f| f.subject == "eviction")
    };
    assert_eq!(eviction().await.unwrap().severity, Severity::Warning);
    server
        .command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"])
        .unwrap();
    assert_eq!(eviction().await.unwrap().severity, Severity::Good);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_is_unreachable() {
    let server = Redis::start().unwrap();
    let url = url(&server);
    server.kill().unwrap();
    let error = crate::support::try_open(&url).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Unreachable, Outcome::DidNot)
    );
    server.start().unwrap();
    let client = client(&server).await;
    server.kill().unwrap();
    let error = eventually("trouble", async || {
        client.acquire(&bid(&name("m"), "a", long())).await.err()
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
}

//! First come, first served, among those who live.

use std::time::{Duration, Instant};

use tenure::backend::{Backend, Hint};
use tenure_testkit::peer::Peer;

use crate::support::{
    PATIENCE, Waiter, bid, client, eventually, fresh, long, lose, queue, shared, terms, url, win,
};

const RESERVE: Duration = Duration::from_millis(250);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_are_served_in_order_and_killed_ones_skipped() {
    let server = shared();
    let mutex = fresh("processes");
    let owner = client(server).await;
    let held = win(&owner, &bid(&mutex, "owner", long())).await;
    let mut peers = Vec::new();
    for number in 0..4 {
        let peer = Peer::contending(&url(server), mutex.as_str());
        let peer = peer
            .id(&format!("p{number}"))
            .option("--hold", "30ms")
            .option("--rounds", "1");
        peers.push(peer.spawn());
        let line = (0..=number)
            .map(|number| format!("p{number}"))
            .collect::<Vec<_>>();
        eventually("its place", async || {
            (queue(server, mutex.as_str()) == line).then_some(())
        })
        .await;
    }
    // Its subscription is there too, a moment after its first place.
    let listening = || {
        let pattern = format!("simba:{{{mutex}}}:p*");
        server
            .command(&["PUBSUB", "CHANNELS", &pattern])
            .unwrap()
            .lines()
            .count()
    };
    eventually("four who listen", async || (listening() >= 4).then_some(())).await;
    peers.remove(1).kill();
    peers.remove(1).kill();
    eventually("two who listen", async || (listening() == 2).then_some(())).await;
    let start = Instant::now();
    assert!(owner.release(&held).await.unwrap().is_won());
    let [first, last] = peers.as_mut_slice() else {
        panic!()
    };
    let one = first.wait_acquired(PATIENCE);
    let two = last.wait_acquired(PATIENCE);
    assert!(two.token > one.token, "in order");
    // Neither the lease of 120 s nor a safety look: by push, past the dead.
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(queue(server, mutex.as_str()).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_waiter_costs_one_reservation() {
    let server = shared();
    let mutex = fresh("stopped");
    let (owner, there) = (client(server).await, client(server).await);
    let held = win(&owner, &bid(&mutex, "owner", long())).await;
    let mut stopped = Peer::contending(&url(server), mutex.as_str())
        .id("stopped")
        .spawn();
    stopped.wait_line(PATIENCE, "ready");
    let channel = format!("simba:{{{mutex}}}:stopped");
    eventually("its subscription", async || {
        let count = server.command(&["PUBSUB", "NUMSUB", &channel]).unwrap();
        (count.lines().nth(1) == Some("1")).then_some(())
    })
    .await;
    let mut next = Waiter::stand(&there, bid(&mutex, "next", long())).await;
    stopped.pause();
    assert!(owner.release(&held).await.unwrap().is_won());
    // The one who stands by is told at once, and refused for the rest of the
    // reservation; then it is its turn.
    let hint = tokio::time::timeout(PATIENCE, next.hints.next())
        .await
        .unwrap();
    assert_eq!(hint, Some(Hint::Turn));
    let answer = lose(&there, &next.bid).await;
    let left = answer.owner().remaining(answer.now()).unwrap();
    assert!(left <= RESERVE, "{left:?}");
    assert!(answer.owner().is_owner(&"stopped".parse().unwrap()));
    tokio::time::sleep(left + Duration::from_millis(2)).await;
    win(&there, &next.bid).await;
    stopped.resume();
    assert!(
        stopped
            .acquired_within(Duration::from_millis(500))
            .is_none()
    );
}

#[tokio::test]
async fn a_woken_waiter_is_not_overtaken() {
    let server = shared();
    let (here, there) = (client(server).await, client(server).await);
    let mutex = fresh("overtake");
    let held = win(&here, &bid(&mutex, "owner", long())).await;
    let mut woken = Waiter::stand(&there, bid(&mutex, "woken", long())).await;
    assert!(here.release(&held).await.unwrap().is_won());
    // JVM peers take by SET NX: the kept place stops them too.
    let key = format!("simba:{{{mutex}}}");
    let set = server
        .command(&["SET", &key, "jvm", "NX", "PX", "1000"])
        .unwrap();
    if set == "(nil)" {
        let newcomer = here
            .acquire(&bid(&mutex, "new", long()).without_queue())
            .await
            .unwrap();
        assert!(!newcomer.is_won());
        woken.win(&there).await;
    } else {
        panic!("a JVM peer overtook the waiter that was told");
    }
}

#[tokio::test]
async fn leaving_timing_out_and_being_cancelled_leave_the_queue() {
    let server = shared();
    let here = client(server).await;
    let mutex = fresh("leavers");
    win(&here, &bid(&mutex, "owner", long())).await;
    let waiter = Waiter::stand(&here, bid(&mutex, "leaver", long())).await;
    assert_eq!(queue(server, mutex.as_str()), ["leaver"]);
    here.leave(&waiter.bid).await.unwrap();
    assert!(queue(server, mutex.as_str()).is_empty());
    let coordinator = tenure::Coordinator::connect(url(server)).await.unwrap();
    let lock = coordinator.lock(mutex.as_str()).unwrap();
    let waited = lock
        .acquire_within(Duration::from_millis(200))
        .await
        .unwrap();
    assert!(waited.is_none(), "held by another");
    let empty = async || queue(server, mutex.as_str()).is_empty().then_some(());
    eventually("timed out, and gone", empty).await;
    let waiting = tokio::spawn(async move { lock.acquire().await });
    let queued = async || (queue(server, mutex.as_str()).len() == 1).then_some(());
    eventually("it waits", queued).await;
    waiting.abort();
    eventually("cancelled, and gone", empty).await;
    let lock = coordinator.lock(mutex.as_str()).unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(
        queue(server, mutex.as_str()).is_empty(),
        "a try never queues"
    );
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn the_queue_expires_and_is_only_ever_extended() {
    let server = shared();
    let here = client(server).await;
    let mutex = fresh("expiry");
    let key = format!("simba:{{{mutex}}}:contender");
    let left = || {
        server
            .command(&["PTTL", &key])
            .unwrap()
            .parse::<i64>()
            .unwrap()
    };
    win(&here, &bid(&mutex, "owner", long())).await;
    lose(&here, &bid(&mutex, "short", terms(1000, 1000))).await;
    assert!((50_000..=60_000).contains(&left()), "{}", left());
    lose(&here, &bid(&mutex, "long", terms(60_000, 0))).await;
    assert!(
        (200_000..=240_000).contains(&left()),
        "4 leases: {}",
        left()
    );
    lose(&here, &bid(&mutex, "short", terms(1000, 1000))).await;
    assert!(left() > 200_000, "never shortened: {}", left());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_is_heard_once_it_was_refused_again() {
    let server = shared();
    let owner = client(server).await;
    let mutex = fresh("listens");
    win(&owner, &bid(&mutex, "owner", long())).await;
    for round in 0..5 {
        // A new client each time: its push connection has yet to be made.
        let there = client(server).await;
        let id = format!("w{round}");
        let waiter = Waiter::stand(&there, bid(&mutex, &id, long())).await;
        let channel = format!("simba:{{{mutex}}}:{id}");
        let count = server.command(&["PUBSUB", "NUMSUB", &channel]).unwrap();
        assert_eq!(
            count.lines().nth(1),
            Some("1"),
            "a release now would miss it"
        );
        there.leave(&waiter.bid).await.unwrap();
    }
}

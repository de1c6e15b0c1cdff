//! An owner learns what happens to its nodes, though it does not look at each.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tenure::Coordinator;
use tenure::backend::{Answer, AnyBackend, Backend, Bid, Held, Hints, Interest};
use tenure::clock::VirtualHost;
use tenure::model::MutexName;
use tenure_testkit::servers::{Flow, Proxy, Way, ZooKeeper, ZooKeeperEnsemble};

use crate::stall::Observer;
use crate::support::{PATIENCE, SERVER, bid, client, coordinator, metric, name, raw, until};

/// More than a renewal looks at.
const NODES: usize = 24;

/// Wins many names, and renews them until all are watched.
async fn own(store: &AnyBackend, what: &str) -> Vec<Held> {
    let mut held = Vec::new();
    for index in 0..NODES {
        let bid = bid(&format!("{what}-{index}"), "owner");
        let won = store.acquire(&bid).await.unwrap();
        held.push(bid.held(won.token().expect("it was free")));
        // On a busy machine the first would be over before the last is won.
        let all = vec![true; held.len()];
        assert_eq!(renewed(store, &held).await, Some(all));
    }
    held
}

/// Which of `held` are renewed; `None` while the server cannot be asked.
async fn renewed(store: &AnyBackend, held: &[Held]) -> Option<Vec<bool>> {
    let answers = store.renew(held).await;
    let won = answers
        .into_iter()
        .map(|answer| Some(answer.ok()?.is_won()));
    won.collect()
}

/// What the first renewal says that is answered.
async fn next_renewed(store: &AnyBackend, held: &[Held]) -> Vec<bool> {
    let asking = async {
        loop {
            if let Some(won) = renewed(store, held).await {
                return won;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap()
}

/// The node of `held`.
async fn node(raw: &zookeeper_client::Client, held: &Held) -> String {
    let dir = format!("/simba/{}", held.name);
    let children = raw.list_children(&dir).await.unwrap();
    assert_eq!(children.len(), 1);
    format!("{dir}/{}", children[0])
}

/// All but these.
fn without(lost: &[usize]) -> Vec<bool> {
    (0..NODES).map(|index| !lost.contains(&index)).collect()
}

#[tokio::test]
async fn a_node_that_a_stranger_deletes_is_missed_at_the_next_renewal() {
    let store = client(SERVER.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let held = own(&store, &name("deleted")).await;
    let raw = raw().await;
    let mut lost = Vec::new();
    for index in [NODES - 1, 5, 11, 0] {
        raw.delete(&node(&raw, &held[index]).await, None)
            .await
            .unwrap();
        lost.push(index);
        assert_eq!(renewed(&store, &held).await, Some(without(&lost)));
    }
    // And it stays so.
    assert_eq!(renewed(&store, &held).await, Some(without(&lost)));
}

#[tokio::test]
async fn a_node_that_a_stranger_writes_is_still_owned_and_watched() {
    let store = client(SERVER.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let held = own(&store, &name("written")).await;
    let raw = raw().await;
    let mut lost = Vec::new();
    for index in [NODES - 1, 5] {
        let path = node(&raw, &held[index]).await;
        raw.set_data(&path, b"owner", None).await.unwrap();
        assert_eq!(renewed(&store, &held).await, Some(without(&lost)));
        raw.delete(&path, None).await.unwrap();
        lost.push(index);
        assert_eq!(renewed(&store, &held).await, Some(without(&lost)));
    }
}

#[tokio::test]
async fn a_waiter_of_the_same_session_that_goes_takes_no_watch_along() {
    let store = client(SERVER.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let held = own(&store, &name("shared")).await;
    let raw = raw().await;
    for (round, index) in [NODES - 1, 5, 11].into_iter().enumerate() {
        // It watches the owner's node, and leaves while that is looked at.
        let waiter = bid(held[index].name.as_str(), "waiter");
        assert!(!store.acquire(&waiter).await.unwrap().is_won());
        let (left, _) = tokio::join!(store.leave(&waiter), renewed(&store, &held));
        left.unwrap();
        raw.delete(&node(&raw, &held[index]).await, None)
            .await
            .unwrap();
        assert!(
            !renewed(&store, &held).await.unwrap()[index],
            "round {round}"
        );
    }
}

#[tokio::test]
async fn what_happened_while_the_connection_was_cut_is_known_after_it() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let store = client(proxy.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let held = own(&store, &name("cut")).await;
    let raw = raw().await;
    let mut lost = Vec::new();
    for index in [NODES - 1, 5, 11] {
        let path = node(&raw, &held[index]).await;
        proxy.refuse().unwrap();
        proxy.cut().unwrap();
        raw.delete(&path, None).await.unwrap();
        proxy.heal().unwrap();
        lost.push(index);
        assert_eq!(next_renewed(&store, &held).await, without(&lost));
    }
}

#[tokio::test]
async fn what_happened_before_the_session_moved_is_known_at_the_next_server() {
    let ensemble = ZooKeeperEnsemble::start(3).unwrap();
    let members = ensemble.members();
    let proxies = [&members[0], &members[1]].map(|to| Proxy::start(to.address()).unwrap());
    let hosts = proxies.each_ref().map(|proxy| proxy.address().to_string());
    let store = client(hosts.join(","), "?session_timeout=30s")
        .await
        .unwrap();
    let held = own(&store, "moved").await;
    let third = members[2].address().to_string();
    let raw = zookeeper_client::Client::connect(&third).await.unwrap();
    let mut lost = Vec::new();
    for index in [NODES - 1, 5] {
        let path = node(&raw, &held[index]).await;
        let at = proxies.iter().position(|proxy| proxy.connections() > 0);
        let at = at.expect("it is connected");
        proxies[at].refuse().unwrap();
        proxies[at].cut().unwrap();
        raw.delete(&path, None).await.unwrap();
        lost.push(index);
        assert_eq!(next_renewed(&store, &held).await, without(&lost));
        assert_eq!(proxies[at].connections(), 0, "the session has moved");
        proxies[at].heal().unwrap();
    }
}

#[tokio::test]
async fn a_client_that_owns_more_than_it_can_watch_connects_again() {
    // Paths of more than 128 KiB together.
    const HELD: usize = 1200;
    let server = ZooKeeper::start().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let store = client(proxy.address(), "?session_timeout=40s")
        .await
        .unwrap();
    let mut held = Vec::new();
    while held.len() < HELD {
        let index = held.len();
        let bids: Vec<_> = (index..index + 100)
            .map(|index| bid(&format!("{index:0>66}"), "owner"))
            .collect();
        let won = join_all(bids.iter().map(|bid| store.acquire(bid))).await;
        for (bid, won) in bids.iter().zip(won) {
            let token = won.unwrap().token().expect("it was free");
            held.push(bid.held(token));
        }
        assert_eq!(
            renewed(&store, &held).await,
            Some(vec![true; held.len()]),
            "while they are taken"
        );
    }
    let raw = zookeeper_client::Client::connect(&server.address().to_string())
        .await
        .unwrap();
    let last = node(&raw, &held[HELD - 1]).await;
    let bytes = HELD * last.len();
    assert!(bytes > 128 * 1024, "{bytes} bytes would fit");
    for _ in 0..2 {
        proxy.cut().unwrap();
        assert_eq!(next_renewed(&store, &held).await, vec![true; HELD]);
    }
    let watched = metric(&server, "zk_watch_count");
    assert!(watched > 0 && watched < HELD as u64, "{watched} watches");
    // One that is not watched is missed as soon.
    raw.delete(&last, None).await.unwrap();
    let mut expected = vec![true; HELD];
    expected[HELD - 1] = false;
    assert_eq!(renewed(&store, &held).await, Some(expected));
}

#[tokio::test]
async fn what_hundreds_of_held_names_cost_does_not_grow_with_them() {
    const HELD: usize = 300;
    const FOR: Duration = Duration::from_secs(6);
    let server = ZooKeeper::start().unwrap();
    let coordinator = coordinator(server.address(), "10s").await;
    let mut guards = Vec::new();
    for index in 0..HELD {
        let lock = coordinator.lock(format!("held-{index}")).unwrap();
        guards.push(lock.acquire().await.unwrap());
    }
    let watches = || metric(&server, "zk_watch_count");
    until("all are watched", || watches() >= HELD as u64).await;
    let received = || metric(&server, "zk_packets_received");
    // Names that were taken apart are renewed together only after some time,
    // the longer the busier the machine was; in two groups at most, of three
    // requests, each 1.25 s.
    let mut spent = u64::MAX;
    for _ in 0..8 {
        let before = received();
        tokio::time::sleep(FOR).await;
        spent = received() - before;
        if spent <= 10 * FOR.as_secs() {
            break;
        }
    }
    assert!(guards.iter().all(|guard| !guard.is_lost()));
    assert!(spent <= 10 * FOR.as_secs(), "{spent} requests in {FOR:?}");
    drop(guards);
    coordinator.close().await.unwrap();
}

/// A refused bid that listens.
async fn stand(store: &AnyBackend, mutex: &str, who: &str) -> (Bid, Hints) {
    let bid = bid(mutex, who);
    assert!(!store.acquire(&bid).await.unwrap().is_won());
    let hints = store.changes(&Interest::in_turn(&bid));
    assert!(!store.acquire(&bid).await.unwrap().is_won());
    (bid, hints)
}

/// The first answer there is.
async fn answer(store: &AnyBackend, bid: &Bid) -> Answer {
    let asking = async {
        loop {
            if let Ok(answer) = store.acquire(bid).await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap()
}

/// How many requests a hand-over costs after each of `waits`, at least.
async fn turn_costs(session: &str, waits: &[Duration]) -> u64 {
    let server = ZooKeeper::start().unwrap();
    let open = async || client(server.address(), session).await.unwrap();
    let (mut here, mut there) = (open().await, open().await);
    let received = || metric(&server, "zk_packets_received");
    let first = bid("turn", "owner");
    let won = here.acquire(&first).await.unwrap();
    let mut held = first.held(won.token().expect("it was free"));
    let mut spent = Vec::new();
    for wait in waits {
        let (waiter, mut hints) = stand(&there, "turn", "waiter").await;
        let waited = Instant::now();
        while waited.elapsed() < *wait {
            assert!(here.renew(&[held.clone()]).await[0].is_ok());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let before = received();
        here.release(&held).await.unwrap();
        let told = tokio::time::timeout(PATIENCE, hints.next()).await;
        told.expect("it is told").expect("it is open");
        let won = answer(&there, &waiter).await;
        held = waiter.held(won.token().expect("it is its turn"));
        // The question itself is counted, and so are heartbeats that come in between.
        spent.push(received() - before - 1);
        std::mem::swap(&mut here, &mut there);
    }
    println!("{spent:?}");
    spent.into_iter().min().unwrap()
}

#[tokio::test]
async fn a_turn_costs_a_delete_and_one_word() {
    // Of the leader, and of the quorum where the last write of the session was long ago.
    let soon = turn_costs("?session_timeout=10s", &[Duration::ZERO; 8]).await;
    let late = turn_costs("?session_timeout=5s", &[Duration::from_secs(3); 3]).await;
    assert_eq!((soon, late), (2, 2));
}

#[tokio::test]
async fn who_is_behind_the_owner_and_has_no_node_inherits_nothing() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let owner = client(SERVER.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let waiting = client(proxy.address(), "?session_timeout=30s")
        .await
        .unwrap();
    let raw = raw().await;
    for is_cut in [false, true, true, false] {
        let mutex = name("heir");
        let first = bid(&mutex, "owner");
        let won = owner.acquire(&first).await.unwrap();
        let held = first.held(won.token().expect("it was free"));
        let (heir, _hints) = stand(&waiting, &mutex, "heir").await;
        let (last, _last_hints) = stand(&owner, &mutex, "last").await;
        let dir = format!("/simba/{mutex}");
        let mut children = raw.list_children(&dir).await.unwrap();
        let number = |child: &String| child[child.len() - 10..].to_owned();
        children.sort_unstable_by_key(number);
        if is_cut {
            proxy.refuse().unwrap();
            proxy.cut().unwrap();
        }
        raw.delete(&format!("{dir}/{}", children[1]), None)
            .await
            .unwrap();
        owner.release(&held).await.unwrap();
        if is_cut {
            proxy.heal().unwrap();
        }
        assert!(!answer(&waiting, &heir).await.is_won(), "cut: {is_cut}");
        let won = answer(&owner, &last).await;
        let held = last.held(won.token().expect("it leads"));
        assert!(!answer(&waiting, &heir).await.is_won(), "cut: {is_cut}");
        owner.release(&held).await.unwrap();
        assert!(answer(&waiting, &heir).await.is_won(), "it has a new node");
        waiting.leave(&heir).await.unwrap();
    }
}

/// What it heard before proves less than it seems to where its machine stood still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_heir_that_hears_and_is_not_heard_owns_nothing() {
    const SESSION: Duration = Duration::from_secs(4);
    const STEP: f64 = 0.2;
    let server = ZooKeeper::start().unwrap();
    let direct = server.address();
    let raw = zookeeper_client::Client::connect(&direct.to_string())
        .await
        .unwrap();
    for steps in [0, 4] {
        let proxy = Proxy::start(direct).unwrap();
        let host = VirtualHost::new();
        let owner = coordinator(direct, "4s").await;
        let last = coordinator(direct, "4s").await;
        let url = format!("zookeeper://{}?session_timeout=4s", proxy.address());
        let builder = Coordinator::builder().clock(host.clock());
        let heir = builder.connect(&url).await.unwrap();
        let lock = |of: &Coordinator| of.lock("heir").unwrap();
        let watches = || metric(&server, "zk_watch_count");
        let guard = lock(&owner).acquire().await.unwrap();
        // It is told of each, and so believes in its connection.
        let observed: Vec<_> = (0..steps).map(|step| format!("{steps}-{step}")).collect();
        let observers = observed.iter().map(|name| {
            let observer = Observer(MutexName::new(name).unwrap());
            let service = heir.retrieval_service(observer).unwrap();
            service.start().unwrap();
            service
        });
        let observers: Vec<_> = observers.collect();
        until("all are observed", || watches() >= steps).await;
        let stand = |of: &Coordinator| {
            let lock = lock(of);
            tokio::spawn(async move { lock.acquire().await })
        };
        // The owner's node and its own; the node before its own.
        let next = stand(&heir);
        until("the heir watches", || watches() >= steps + 2).await;
        let after_it = stand(&last);
        until("the last watches", || watches() >= steps + 3).await;
        // It hears, and what it says comes to nobody.
        proxy.set(Way::ToServer, Flow::Hold);
        for name in &observed {
            tokio::time::sleep(SESSION.mul_f64(STEP)).await;
            let options = zookeeper_client::CreateMode::Persistent
                .with_acls(zookeeper_client::Acls::anyone_all());
            let path = format!("/simba/{name}");
            raw.create(&path, b"", &options).await.unwrap();
        }
        // As if its clocks had not counted that.
        host.rewind(SESSION.mul_f64(STEP * steps as f64));
        guard.release().await.unwrap();
        // Its session ends, and with it its node.
        let after_it = tokio::time::timeout(PATIENCE, after_it).await;
        let third = after_it.expect("it is its turn").unwrap().unwrap();
        assert!(!next.is_finished(), "it owned, {steps} steps");
        next.abort();
        proxy.set(Way::ToServer, Flow::Pass);
        third.release().await.unwrap();
        drop(observers);
        for coordinator in [owner, heir, last] {
            coordinator.close().await.unwrap();
        }
        until("nobody watches", || watches() == 0).await;
    }
}

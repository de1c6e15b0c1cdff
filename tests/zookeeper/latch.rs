//! Nodes, watches and requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::backend::{Backend, Interest};
use tenure::model::{MutexName, MutexState};
use tenure::service::{ContendService, Contender, LocalContender, Retriever};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Flow, Proxy, Way, ZooKeeper};

use crate::support::{PATIENCE, SERVER, bid, client, coordinator, metric, name, raw, until};

/// The nodes under `path`.
async fn children(path: &str) -> Vec<String> {
    match raw().await.list_children(path).await {
        Ok(children) => children,
        Err(zookeeper_client::Error::NoNode) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn of_a_hundred_contenders_one_is_told_when_the_leader_goes() {
    let server = ZooKeeper::start().unwrap();
    let name = name("hundred");
    let mut coordinators = Vec::new();
    let mut services = Vec::new();
    for _ in 0..4 {
        coordinators.push(coordinator(server.address(), "10s").await);
    }
    for index in 0..100 {
        let contender = LocalContender::new(&name).unwrap();
        let contender = contender.with_id(format!("contender-{index}")).unwrap();
        let service = coordinators[index % 4].contend_service(contender).unwrap();
        service.start().unwrap();
        services.push(service);
    }
    // An owner that has been renewed watches its own node too, and so does the next.
    let watches = || metric(&server, "zk_watch_count");
    until("99 watches", || watches() >= 99).await;
    until("a leader", || services.iter().any(ContendService::is_owner)).await;
    let leader = services.iter().position(ContendService::is_owner).unwrap();
    // A loser knows who leads.
    let id = services[leader].contender().contender_id();
    until("all know who leads", || {
        services.iter().all(|s| s.state().after.is_owner(id))
    })
    .await;

    let sessions = metric(&server, "zk_global_sessions");
    assert_eq!(sessions, 4, "one for each coordinator");

    let told = |server| metric(server, "zk_sum_node_deleted_watch_count");
    let before = told(&server);
    services.remove(leader).stop().await.unwrap();
    until("a new leader", || {
        services.iter().any(ContendService::is_owner)
    })
    .await;
    let told = told(&server) - before;
    assert!(
        (1..=2).contains(&told),
        "that of the next, and its own: {told}"
    );
    // The next watches its own node, and so does who is behind it by now, if it has looked.
    assert!((98..=100).contains(&watches()), "no waiter watches anew");
    for coordinator in coordinators {
        coordinator.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_lock_costs_few_requests() {
    let server = ZooKeeper::start().unwrap();
    // Long, so that no heartbeat is counted.
    let coordinator = coordinator(server.address(), "10s").await;
    let lock = coordinator.lock("counted").unwrap();
    // From then on nobody is listed while nobody else comes.
    for _ in 0..3 {
        lock.acquire().await.unwrap().release().await.unwrap();
    }
    let received = || metric(&server, "zk_packets_received");
    // Each question is counted itself; heartbeats may come in between.
    const CYCLES: u64 = 50;
    let before = received();
    for _ in 0..CYCLES {
        lock.acquire().await.unwrap().release().await.unwrap();
    }
    let spent = received() - before;
    assert!(spent <= 2 * CYCLES + 10, "{spent} for {CYCLES} cycles");
    assert!(spent >= 2 * CYCLES, "a create and a delete: {spent}");

    // Handed over locally, the node stays and nothing is sent.
    let before = received();
    let mut waiting = Vec::new();
    let first = lock.acquire().await.unwrap();
    for _ in 0..50 {
        let lock = lock.clone();
        waiting.push(tokio::spawn(async move {
            lock.acquire().await.unwrap().release().await.unwrap();
        }));
    }
    tokio::task::yield_now().await;
    first.release().await.unwrap();
    for waiter in waiting {
        waiter.await.unwrap();
    }
    let spent = received() - before;
    assert!(spent <= 30, "{spent} for 51 holders of one node");
    coordinator.close().await.unwrap();
}

#[tokio::test]
async fn a_create_whose_answer_was_lost_leaves_no_orphan() {
    let name = name("lost");
    let path = format!("/simba/{name}");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let through = client(proxy.address(), "?session_timeout=10s")
        .await
        .unwrap();
    // The parent must be there, so that the node itself is what is lost.
    let first = bid(&name, "first");
    through.acquire(&first).await.unwrap();
    through.leave(&first).await.unwrap();
    for round in 0..5 {
        let bid = bid(&name, "a");
        proxy.set(Way::ToClient, Flow::Hold);
        let lost = tokio::time::timeout(Duration::from_millis(100), through.acquire(&bid)).await;
        assert!(lost.is_err(), "round {round}: {lost:?}");
        until_children(&path, 1).await;
        proxy.cut().unwrap();
        proxy.heal().unwrap();
        // Found again by its uuid: the same node, not a second one.
        let won = loop {
            match through.acquire(&bid).await {
                Ok(answer) => break answer,
                Err(error) => assert_eq!(error.kind(), tenure::ErrorKind::Unreachable, "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert!(won.is_won(), "{won:?}");
        assert_eq!(children(&path).await.len(), 1);
        through.leave(&bid).await.unwrap();
        assert_eq!(children(&path).await.len(), 0);
    }
    // Left while the connection is gone: the cleanup sees to it.
    let bid = bid(&name, "a");
    proxy.set(Way::ToClient, Flow::Hold);
    let _ = tokio::time::timeout(Duration::from_millis(100), through.acquire(&bid)).await;
    until_children(&path, 1).await;
    proxy.cut().unwrap();
    let left = tokio::time::timeout(Duration::from_millis(200), through.leave(&bid)).await;
    assert!(!matches!(left, Ok(Ok(()))), "{left:?}");
    proxy.heal().unwrap();
    until_children(&path, 0).await;
}

#[tokio::test]
async fn a_create_that_arrives_after_it_was_looked_for_is_deleted_with_the_other() {
    let name = name("late");
    let path = format!("/simba/{name}");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let through = client(proxy.address(), "?session_timeout=10s").await;
    let through = through.unwrap();
    let first = bid(&name, "first");
    through.acquire(&first).await.unwrap();
    through.leave(&first).await.unwrap();
    // The request is lost on its way, as far as the client can tell.
    let bid = bid(&name, "a");
    proxy.set(Way::ToServer, Flow::Hold);
    let lost = tokio::time::timeout(Duration::from_millis(100), through.acquire(&bid)).await;
    assert!(lost.is_err(), "{lost:?}");
    proxy.cut().unwrap();
    proxy.heal().unwrap();
    let token = loop {
        match through.acquire(&bid).await {
            Ok(answer) => break answer.token().unwrap(),
            Err(error) => assert_eq!(error.kind(), tenure::ErrorKind::Unreachable, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    // And now it comes.
    let nodes = children(&path).await;
    let prefix = &nodes[0][..nodes[0].len() - 10];
    let options = zookeeper_client::CreateMode::EphemeralSequential
        .with_acls(zookeeper_client::Acls::anyone_all());
    let late = raw().await;
    let node = format!("{path}/{prefix}");
    late.create(&node, b"a", &options).await.unwrap();
    assert_eq!(children(&path).await.len(), 2);
    assert!(through.release(&bid.held(token)).await.unwrap().is_won());
    assert_eq!(children(&path).await.len(), 0, "nobody stands in the way");
}

#[tokio::test]
async fn a_node_of_another_session_is_not_taken_for_ours() {
    let name = name("foreign");
    let path = format!("/simba/{name}");
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let through = client(proxy.address(), "?session_timeout=10s").await;
    let through = through.unwrap();
    let first = bid(&name, "first");
    through.acquire(&first).await.unwrap();
    through.leave(&first).await.unwrap();
    let bid = bid(&name, "a");
    proxy.set(Way::ToServer, Flow::Hold);
    let lost = tokio::time::timeout(Duration::from_millis(100), through.acquire(&bid)).await;
    assert!(lost.is_err(), "{lost:?}");
    // As one of ours would be called, with our id in it, and of another session.
    let uuid = uuid::Uuid::from_u128(bid.nonce.bits());
    let options = zookeeper_client::CreateMode::EphemeralSequential
        .with_acls(zookeeper_client::Acls::anyone_all());
    let other = raw().await;
    let node = format!("{path}/_c_{uuid}-latch-");
    other.create(&node, b"a", &options).await.unwrap();
    proxy.cut().unwrap();
    proxy.heal().unwrap();
    let answer = loop {
        match through.acquire(&bid).await {
            Ok(answer) => break answer,
            Err(error) => assert_eq!(error.kind(), tenure::ErrorKind::Unreachable, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(!answer.is_won(), "{answer:?}");
}

async fn until_children(path: &str, count: usize) {
    let raw = raw().await;
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let found = raw.list_children(path).await.map_or(0, |found| found.len());
        if found == count {
            return;
        }
        assert!(tokio::time::Instant::now() < end, "{found} under {path}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn who_will_not_wait_leaves_nothing_behind() {
    let name = name("try");
    let (here, there) = (
        client(SERVER.address(), "").await.unwrap(),
        client(SERVER.address(), "").await.unwrap(),
    );
    let owner = bid(&name, "owner");
    assert!(here.acquire(&owner).await.unwrap().is_won());
    for _ in 0..5 {
        let refused = there
            .acquire(&bid(&name, "b").without_queue())
            .await
            .unwrap();
        assert!(!refused.is_won() && refused.owner().is_owner(&owner.contender));
    }
    assert_eq!(children(&format!("/simba/{name}")).await.len(), 1);
}

#[tokio::test]
async fn a_grant_that_is_not_renewed_is_deleted_though_its_session_lives() {
    let name = name("unrenewed");
    let client = client(SERVER.address(), "?session_timeout=1s")
        .await
        .unwrap();
    let (first, second) = (bid(&name, "first"), bid(&name, "second"));
    let won = client.acquire(&first).await.unwrap();
    let mut hints = client.changes(&Interest::in_turn(&second));
    assert!(!client.acquire(&second).await.unwrap().is_won());
    tokio::time::timeout(PATIENCE, hints.next()).await.unwrap();
    let next = client.acquire(&second).await.unwrap();
    assert!(next.is_won() && next.token() > won.token());
    let held = first.held(won.token().unwrap());
    assert!(!client.renew(&[held]).await.remove(0).unwrap().is_won());
}

#[tokio::test]
async fn a_deleted_node_ends_its_grant() {
    let name = name("deleted");
    let (client, other) = (
        client(SERVER.address(), "").await.unwrap(),
        client(SERVER.address(), "").await.unwrap(),
    );
    let bid = bid(&name, "a");
    let token = client.acquire(&bid).await.unwrap().token().unwrap();
    assert!(other.revoke(&bid.name, Some(token)).await.unwrap().is_won());
    let renewed = client.renew(&[bid.held(token)]).await.remove(0).unwrap();
    assert!(!renewed.is_won(), "{renewed:?}");
    // Asked again, the bid stands anew.
    let again = client.acquire(&bid).await.unwrap();
    assert!(again.token() > Some(token), "{again:?}");
}

#[tokio::test]
async fn a_leader_is_told_before_its_node_goes() {
    let name = name("order");
    let path = format!("/simba/{name}");
    let coordinator = coordinator(SERVER.address(), "10s").await;
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (at_release, runtime) = (Arc::clone(&seen), tokio::runtime::Handle::current());
    let in_callback = path.clone();
    let contender = LocalContender::new(&name)
        .unwrap()
        .on_released(move |_: &MutexState| {
            let nodes = runtime.block_on(children(&in_callback));
            at_release.lock().unwrap().push(nodes.len());
        });
    let service = coordinator.contend_service(contender).unwrap();
    service.start().unwrap();
    until("it leads", || service.is_owner()).await;
    let owner = service.state().after.clone();
    assert!(
        owner.acquired_at().is_some() && owner.transition_at().is_some(),
        "{owner:?}"
    );
    service.stop().await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        [1],
        "the node was there when it was told"
    );
    assert_eq!(children(&path).await.len(), 0);
    coordinator.close().await.unwrap();
}

struct Observer(MutexName);

impl Retriever for Observer {
    fn mutex(&self) -> &MutexName {
        &self.0
    }

    fn notify_owner(&self, _: &MutexState) {}
}

#[tokio::test]
async fn an_observer_knows_who_leads() {
    let name = name("observed");
    let (here, there) = (
        coordinator(SERVER.address(), "10s").await,
        coordinator(SERVER.address(), "10s").await,
    );
    let observer = Observer(MutexName::new(&name).unwrap());
    let observer = there.retrieval_service(observer).unwrap();
    observer.start().unwrap();
    for id in ["first", "second"] {
        let contender = LocalContender::new(&name).unwrap().with_id(id).unwrap();
        let service = here.contend_service(contender).unwrap();
        service.start().unwrap();
        let sees = |id: Option<&str>| {
            let owner = observer.state().after;
            owner.owner_id().map(|id| id.as_str().to_owned()).as_deref() == id
        };
        until("the observer sees it lead", || sees(Some(id))).await;
        let owner = observer.state().after;
        assert!(
            owner.acquired_at().is_some() && owner.token().is_some(),
            "{owner:?}"
        );
        service.stop().await.unwrap();
        until("the observer sees it go", || sees(None)).await;
    }
    here.close().await.unwrap();
    there.close().await.unwrap();
}

//! A master that is cut off from those who decide who is master, and whose
//! clients still reach it.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use tenure::backend::{Backend, Hint, Interest};
use tenure::{Coordinator, LossCause};
use tenure_testkit::servers::{Proxy, Redis, RedisCluster, RedisSentinel, wait};

use crate::cluster::name_at;
use crate::support::{PATIENCE, bid, calls, eventually, held, long, name, open, terms, try_open};

const LEASE: Duration = Duration::from_secs(4);

fn url(hosts: impl Iterator<Item = String>) -> String {
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let master = RedisSentinel::MASTER_NAME;
    format!("redis+sentinel://{hosts}/0?master={master}")
}

async fn separable() -> RedisSentinel {
    let builder = RedisSentinel::builder().separable();
    tokio::task::spawn_blocking(move || builder.start().unwrap())
        .await
        .unwrap()
}

async fn short(url: &str) -> Coordinator {
    let coordinator = Coordinator::builder().terms(terms(1_000, 3_000));
    coordinator.connect(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_is_no_longer_the_one_is_left_within_a_lease() {
    let redis = separable().await;
    let url = url(redis.sentinels().iter().map(|it| it.address().to_string()));
    let coordinator = short(&url).await;
    redis.isolate(0);
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    let token = guard.token().unwrap();
    let theirs = bid(&name("m"), "rival", long());
    // A process that comes now finds the new master, and no owner there.
    let rival = eventually("sentinels that name another", async || {
        let master = redis.master_port()?;
        (master == redis.known_port(1)).then_some(())?;
        try_open(&url).await.ok()
    })
    .await;
    let second = eventually("a grant of the new master", async || {
        held(&theirs, &rival.acquire(&theirs).await.ok()?)
    })
    .await;
    let since = Instant::now();
    assert!(second.token > token);
    // The old master still answers everybody who asks it.
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    let took = since.elapsed();
    lost.expect("it believes in the old master for ever");
    assert!(took < LEASE, "both owned for {took:?}");
    // The clients that were there go over to the new master.
    assert!(rival.release(&second).await.unwrap().is_won());
    let next = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    let next = next.unwrap().unwrap();
    assert!(next.token().unwrap() > second.token);
    assert_eq!(
        redis.nodes()[1].command(&["EXISTS", "simba:{m}"]).unwrap(),
        "1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_majority_of_the_sentinels_nobody_owns_for_longer_than_a_lease() {
    let redis = separable().await;
    let sentinels = redis.sentinels();
    // Only by way of the URL.
    (0..sentinels.len()).for_each(|at| redis.hide(at));
    let rival = open(&url(sentinels.iter().map(|it| it.address().to_string()))).await;
    let proxies: Vec<Proxy> = sentinels
        .iter()
        .map(|it| Proxy::start(it.address()).unwrap())
        .collect();
    let hidden = url(proxies.iter().map(|it| it.address().to_string()));
    let coordinator = short(&hidden).await;
    let other = open(&hidden).await;
    let lock = coordinator.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    // One of three is not enough to be missed.
    proxies[0].partition();
    tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
    assert!(guard.token().is_ok(), "two of three agree");
    proxies[1].partition();
    redis.isolate(0);
    let apart = Instant::now();
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    let lost = lost.expect("it believes in what nobody confirms");
    assert!(apart.elapsed() < LEASE, "{:?}", apart.elapsed());
    assert_eq!(lost.cause, LossCause::Deadline);
    drop(guard);
    let tried = bid(&name("n"), "b", terms(1_000, 3_000));
    let error = other.acquire(&tried).await.unwrap_err();
    assert!(
        error.to_string().contains("1 of the 3 sentinels"),
        "{error}"
    );
    let theirs = bid(&name("m"), "rival", long());
    let second = eventually("a grant of the new master", async || {
        held(&theirs, &rival.acquire(&theirs).await.ok()?)
    })
    .await;
    assert!(rival.release(&second).await.unwrap().is_won());
    proxies.iter().for_each(|proxy| proxy.heal().unwrap());
    let next = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    assert!(next.unwrap().unwrap().token().unwrap() > second.token);
}

async fn separable_cluster() -> RedisCluster {
    tokio::task::spawn_blocking(|| {
        let one = RedisCluster::builder(Redis::builder()).replicas(1);
        one.separable().start().unwrap()
    })
    .await
    .unwrap()
}

async fn cluster_url(cluster: &RedisCluster) -> String {
    let host = |node| format!("127.0.0.1:{}", cluster.known_port(node));
    let hosts: Vec<String> = (0..4).map(host).collect();
    format!("redis+cluster://{}", hosts.join(","))
}

async fn is_promoted(replica: &Redis) {
    eventually("a new master", async || {
        let role = replica.command(&["ROLE"]).unwrap();
        role.starts_with("master").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_its_cluster_has_replaced_is_left_within_a_lease() {
    let cluster = separable_cluster().await;
    let url = cluster_url(&cluster).await;
    let coordinator = short(&url).await;
    let mutex = name_at(&cluster, 0, "m");
    let lock = coordinator.lock(mutex.as_str()).unwrap();
    let [old, new] = [&cluster.nodes()[0], &cluster.replicas()[0]];
    // It notices nothing for a minute; the others do after two seconds.
    let blind = ["CONFIG", "SET", "cluster-node-timeout", "60000"];
    old.command(&blind).unwrap();
    cluster.isolate(0);
    let guard = lock.acquire().await.unwrap();
    is_promoted(new).await;
    let rival = open(&url).await;
    let theirs = bid(&mutex, "rival", long());
    let second = eventually("a grant of the new master", async || {
        held(&theirs, &rival.acquire(&theirs).await.ok()?)
    })
    .await;
    let since = Instant::now();
    let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
    let took = since.elapsed();
    lost.expect("it believes in the old master for ever");
    assert!(took < LEASE, "both owned for {took:?}");
    let key = format!("simba:{{{mutex}}}:x");
    old.command(&["SET", &key, "1"]).expect("it still answers");
    assert!(rival.release(&second).await.unwrap().is_won());
    drop(guard);
    let next = tokio::time::timeout(PATIENCE, lock.acquire()).await;
    assert!(next.unwrap().unwrap().token().unwrap() > second.token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_says_the_cluster_is_down_is_left_for_one_that_works() {
    let cluster = separable_cluster().await;
    let client = open(&cluster_url(&cluster).await).await;
    let mutex = name_at(&cluster, 0, "m");
    let mine = bid(&mutex, "a", long());
    let mut waiter = client.changes(&Interest::in_owner(&mutex));
    held(&mine, &client.acquire(&mine).await.unwrap()).unwrap();
    let [old, new] = [&cluster.nodes()[0], &cluster.replicas()[0]];
    wait::until_true("the grant at the replica", || {
        new.command(&["DBSIZE"]).is_ok_and(|number| number != "0")
    })
    .unwrap();
    // What it sends does not reach the others, while it still hears them.
    cluster.silence(0);
    is_promoted(new).await;
    eventually("the old one gives up", async || {
        let error = old.command(&["GET", &format!("simba:{{{mutex}}}")]).err()?;
        error.to_string().starts_with("CLUSTERDOWN").then_some(())
    })
    .await;
    // Nothing but a look: no renewal asks who is master.
    let before = calls(old, "evalsha");
    let owner = tokio::time::timeout(PATIENCE, client.owner(&mutex)).await;
    let owner = owner.expect("it asks the same node for ever").unwrap();
    assert!(owner.owner().is_owner(&mine.contender));
    let tried = calls(old, "evalsha") - before;
    assert!(tried < 10, "{tried} at a node that is down");
    // Wake-ups come from the new one.
    let resumed = async { while waiter.next().await.unwrap() != Hint::Resumed {} };
    let resumed = tokio::time::timeout(PATIENCE, resumed).await;
    resumed.expect("its subscription has moved too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_has_left_is_not_called_for_ever() {
    let cluster = tokio::task::spawn_blocking(|| {
        let one = RedisCluster::builder(Redis::builder()).replicas(1);
        one.start().unwrap()
    })
    .await
    .unwrap();
    let client = open(&cluster_url(&cluster).await).await;
    let mutex = name_at(&cluster, 0, "m");
    let mine = bid(&mutex, "a", long());
    let mut hints = client.changes(&Interest::in_owner(&mutex));
    held(&mine, &client.acquire(&mine).await.unwrap()).unwrap();
    let [old, new] = [&cluster.nodes()[0], &cluster.replicas()[0]];
    let listened = eventually("it listens", async || {
        let channels = old.command(&["PUBSUB", "CHANNELS", "*"]).unwrap();
        (!channels.is_empty()).then_some(())
    });
    listened.await;
    old.kill().unwrap();
    is_promoted(new).await;
    eventually("the new master's word", async || {
        client.owner(&mutex).await.ok()
    })
    .await;
    let resumed = async { while hints.next().await.unwrap() != Hint::Resumed {} };
    tokio::time::timeout(PATIENCE, resumed).await.unwrap();
    // Another server at that address is none that this client knows.
    let called = TcpListener::bind(old.address()).unwrap();
    called.set_nonblocking(true).unwrap();
    let mut calls = 0;
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        // The first may have been on their way.
        calls += called.accept().is_ok() as u32;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(calls <= 1, "called {calls} times");
    drop(hints);
}

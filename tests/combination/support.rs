//! What these tests share.

use std::time::{Duration, Instant};

use tenure::{CombinationBuilder, CombinationGuard, CombinationLock, Holder};
use tenure_testkit::servers::{Proxy, Redis};
use tokio::task::JoinHandle;

/// How long anything may take that should happen soon.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn servers(count: usize) -> Vec<Redis> {
    let start = |_| Redis::start().expect("a Redis server");
    (0..count).map(start).collect()
}

pub(crate) fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

/// A lock whose nodes count at once, and are given the time that a busy
/// machine needs.
pub(crate) fn patient() -> CombinationBuilder {
    CombinationLock::builder()
        .command_timeout(SECOND)
        .expiry(SECOND * 20)
        .durable_nodes(true)
}

/// The same with a short expiry, for tests that see it pass.
pub(crate) fn brisk(expiry: Duration) -> CombinationBuilder {
    patient().command_timeout(SECOND * 2 / 5).expiry(expiry)
}

pub(crate) fn over(servers: &[Redis]) -> Vec<String> {
    servers.iter().map(|server| url(server.port())).collect()
}

/// A contender of its own, with ids of its own, as another process has.
pub(crate) async fn contender(servers: &[Redis], name: &str) -> CombinationLock {
    build(patient().nodes(over(servers)), name).await
}

pub(crate) async fn build(builder: CombinationBuilder, name: &str) -> CombinationLock {
    let lock = builder.build(name).await.expect("nodes that answer");
    lock.held_by(&Holder::new("test"))
}

/// A contender whose way to each node can be broken.
pub(crate) struct Remote {
    pub(crate) lock: CombinationLock,
    pub(crate) ways: Vec<Proxy>,
}

impl Remote {
    pub(crate) async fn new(servers: &[Redis], name: &str) -> Self {
        Self::with(patient(), servers, name).await
    }

    pub(crate) async fn with(builder: CombinationBuilder, servers: &[Redis], name: &str) -> Self {
        let way = |server: &Redis| Proxy::start(server.address()).expect("a proxy");
        let ways: Vec<Proxy> = servers.iter().map(way).collect();
        let urls = ways.iter().map(|way| url(way.port()));
        let lock = build(builder.nodes(urls), name).await;
        Self { lock, ways }
    }

    /// Breaks the ways to these nodes: from now on they refuse.
    pub(crate) fn lose(&self, nodes: &[usize]) {
        for node in nodes {
            self.ways[*node].refuse().expect("a proxy");
            self.ways[*node].cut().expect("a proxy");
        }
    }

    /// Begins one attempt.
    pub(crate) fn begin(&self) -> Attempt {
        let lock = self.lock.clone();
        Attempt(tokio::spawn(async move { lock.try_acquire().await }))
    }
}

/// An attempt under way.
pub(crate) struct Attempt(JoinHandle<tenure::Result<Option<CombinationGuard>>>);

impl Attempt {
    pub(crate) async fn end(self) -> tenure::Result<Option<CombinationGuard>> {
        let limit = tokio::time::timeout(PATIENCE, self.0);
        limit.await.expect("an end in time").expect("no panic")
    }
}

/// The id that holds `name` on `server`.
pub(crate) fn holder(server: &Redis, name: &str) -> Option<String> {
    let keys = server.command(&["HKEYS", name]).expect("an answer");
    (!keys.is_empty()).then_some(keys)
}

pub(crate) fn count(server: &Redis, name: &str) -> Option<String> {
    let counts = server.command(&["HVALS", name]).expect("an answer");
    (!counts.is_empty()).then_some(counts)
}

/// Another holds `name` on `server`.
pub(crate) fn occupy(server: &Redis, name: &str) {
    server
        .command(&["HSET", name, "stranger", "1"])
        .expect("an answer");
    server
        .command(&["PEXPIRE", name, "60000"])
        .expect("an answer");
}

/// All `servers` are held by one and the same.
pub(crate) fn one_holder(servers: &[Redis], name: &str) -> String {
    let ids: Vec<_> = servers.iter().map(|server| holder(server, name)).collect();
    let first = ids[0].clone().expect("a holder");
    assert!(ids.iter().all(|id| id.as_ref() == Some(&first)), "{ids:?}");
    first
}

/// `name` is free on all `servers`, or soon will be: long before it runs out
/// by itself.
pub(crate) async fn free_everywhere(servers: &[Redis], name: &str) {
    for (index, server) in servers.iter().enumerate() {
        let what = format!("node {} is free", index + 1);
        eventually_within(SECOND * 10, &what, || holder(server, name).is_none()).await;
    }
}

/// Does what takes its time without holding up the others.
pub(crate) fn blocking<T, E: std::fmt::Debug>(work: impl FnOnce() -> Result<T, E>) -> T {
    tokio::task::block_in_place(work).expect("a server that obeys")
}

/// Asks again and again until it is so.
pub(crate) async fn eventually(what: &str, ask: impl FnMut() -> bool) {
    eventually_within(PATIENCE, what, ask).await;
}

async fn eventually_within(limit: Duration, what: &str, mut ask: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !ask() {
        assert!(Instant::now() < end, "{what}: not within {limit:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until `server` says to have been up for `length`.
pub(crate) async fn up_for(server: &Redis, length: Duration) {
    eventually("old enough", || {
        let info = server.command(&["INFO", "server"]).unwrap_or_default();
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("uptime_in_seconds:"));
        let up = line.and_then(|seconds| seconds.trim().parse().ok());
        up.is_some_and(|seconds| Duration::from_secs(seconds) >= length)
    })
    .await;
}

/// Asks again and again, by what takes its time, until it is so.
pub(crate) async fn eventually_async(what: &str, mut ask: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !ask().await {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

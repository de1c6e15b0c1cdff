//! A cluster of three masters, and a slot that moves.

use std::time::Duration;

use tenure::Coordinator;
use tenure::backend::{Backend, Hint, Page};
use tenure::model::MutexName;
use tenure_testkit::Whole as _;
use tenure_testkit::servers::{Redis, RedisCluster};

use crate::support::{PATIENCE, Waiter, bid, eventually, long, name, open, terms, win};

pub(crate) fn url(cluster: &RedisCluster) -> String {
    // One node is enough: it knows the others.
    format!("redis+cluster://127.0.0.1:{}", cluster.nodes()[0].port())
}

fn id_of(node: &Redis) -> String {
    node.command(&["CLUSTER", "MYID"]).unwrap()
}

/// The slot of a mutex, and which of the nodes has it at the start.
pub(crate) fn slot_of(cluster: &RedisCluster, mutex: &str) -> (String, usize) {
    let key = format!("simba:{{{mutex}}}");
    let slot = cluster.nodes()[0].command(&["CLUSTER", "KEYSLOT", &key]);
    let slot = slot.unwrap();
    let number: u32 = slot.parse().unwrap();
    let ends = [5461, 10923, 16384];
    let at = ends.iter().position(|end| number < *end).unwrap();
    (slot, at)
}

/// A name whose slot the node with this number has at the start.
pub(crate) fn name_at(cluster: &RedisCluster, at: usize, begin: &str) -> MutexName {
    let names = (0..).map(|number| format!("{begin}-{number}"));
    let mut names = names.filter(|name| slot_of(cluster, name).1 == at);
    name(&names.next().unwrap())
}

/// A slot on its way from one node to another.
struct Move<'a> {
    cluster: &'a RedisCluster,
    slot: String,
    from: &'a Redis,
    to: &'a Redis,
}

impl<'a> Move<'a> {
    /// Begins to move the slot of `mutex` to another node.
    fn begin(cluster: &'a RedisCluster, mutex: &str) -> Self {
        let nodes = cluster.nodes();
        let (slot, at) = slot_of(cluster, mutex);
        let (from, to) = (&nodes[at], &nodes[(at + 1) % 3]);
        to.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id_of(from)])
            .unwrap();
        from.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id_of(to)])
            .unwrap();
        Self {
            cluster,
            slot,
            from,
            to,
        }
    }

    fn carry(&self, key: &str) {
        let port = self.to.port().to_string();
        let words = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
        self.from.command(&words).unwrap();
    }

    fn keys(&self) -> Vec<String> {
        let keys = self
            .from
            .command(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "100"])
            .unwrap();
        keys.lines()
            .filter(|key| !key.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn finish(self) {
        // What was made meanwhile, too.
        self.keys().iter().for_each(|key| self.carry(key));
        let id = id_of(self.to);
        let mut nodes: Vec<&Redis> = self.cluster.nodes().iter().collect();
        nodes.sort_by_key(|node| node.port() != self.to.port());
        for node in nodes {
            node.command(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &id])
                .unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_works_and_a_slot_may_move_during_use() {
    let cluster = tokio::task::spawn_blocking(|| RedisCluster::start().unwrap())
        .await
        .unwrap();
    let (here, there) = (open(&url(&cluster)).await, open(&url(&cluster)).await);
    // Mutexes on all three nodes, renewed in one batch and listed as one.
    let mut all = Vec::new();
    for number in 0..30 {
        all.push(win(&here, &bid(&name(&format!("all-{number:02}")), "a", long())).await);
    }
    for node in cluster.nodes() {
        assert_ne!(
            node.command(&["DBSIZE"]).unwrap(),
            "0",
            "every node has some"
        );
    }
    let renewed = here.renew(&all).await;
    assert!(
        renewed
            .iter()
            .all(|answer| answer.as_ref().unwrap().is_won())
    );
    let listing = here.list(&Page::first(100)).await.unwrap();
    let names: Vec<_> = listing
        .entries
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    assert_eq!(
        names,
        all.iter().map(|held| held.name.clone()).collect::<Vec<_>>()
    );
    for held in &all {
        assert!(here.release(held).await.unwrap().is_won());
    }
    // An owner through the engine, a waiter, and a slot that moves under both.
    let coordinator = Coordinator::builder()
        .terms(terms(1_000, 14_000))
        .connect(url(&cluster))
        .await
        .unwrap();
    let guard = coordinator.lock("moving").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    let mut waiter = Waiter::stand(&there, bid(&name("moving"), "waiter", long())).await;
    let moving = Move::begin(&cluster, "moving");
    moving.carry("simba:{moving}");
    let owner = tokio::spawn({
        let there = there.clone();
        async move { there.owner(&name("moving")).await }
    });
    // Halfway no node can serve it: asked again until it has moved.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(
        !owner.is_finished(),
        "half of the keys are here, half are there"
    );
    moving.finish();
    let owner = tokio::time::timeout(PATIENCE, owner)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(owner.owner().token(), Some(token));
    // That may have come by an ASK; the next look finds that it has moved.
    there.owner(&name("moving")).await.unwrap();
    // Renewed at its new place.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(guard.token().unwrap(), token, "the tenure goes on");
    let resumed = async { while waiter.hints.next().await.unwrap() != Hint::Resumed {} };
    tokio::time::timeout(PATIENCE, resumed)
        .await
        .expect("its subscription has moved too");
    guard.release().await.unwrap();
    let next = waiter.win(&there).await;
    assert!(next.token > token);
    coordinator.close().await.unwrap();
    // A node that is gone for a while.
    let node = &cluster.nodes()[0];
    node.restart().unwrap();
    cluster.wait_ok().unwrap();
    for number in 0..10 {
        let mine = bid(&name(&format!("after-{number}")), "a", long());
        eventually("every slot is served again", async || {
            here.acquire(&mine).await.ok()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_url_at_a_cluster_says_what_to_write() {
    let cluster = tokio::task::spawn_blocking(|| RedisCluster::start().unwrap())
        .await
        .unwrap();
    let plain = open(&format!("redis://127.0.0.1:{}", cluster.nodes()[0].port())).await;
    let mut told = 0;
    for number in 0..20 {
        if let Err(error) = plain
            .acquire(&bid(&name(&format!("m{number}")), "a", long()))
            .await
        {
            assert!(error.to_string().contains("redis+cluster://"), "{error}");
            told += 1;
        }
    }
    assert!(told > 0);
}

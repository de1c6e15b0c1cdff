//! A cluster of one master and one replica, of which one is dead.

use std::net::TcpListener;

use tenure::backend::Backend as _;
use tenure::stores::redis::Redis as Client;
use tenure_testkit::servers::{Redis, wait};

use crate::support::{bid, eventually, fresh, held, long, open};

struct Pair {
    master: Redis,
    replica: Redis,
}

impl Pair {
    async fn start() -> Self {
        tokio::task::spawn_blocking(Self::join).await.unwrap()
    }

    fn join() -> Self {
        let (master, _) = node();
        let (replica, bus) = node();
        let slots = ["CLUSTER", "ADDSLOTSRANGE", "0", "16383"];
        master.command(&slots).unwrap();
        let (port, bus) = (replica.port().to_string(), bus.to_string());
        let meet = ["CLUSTER", "MEET", "127.0.0.1", &port, &bus];
        master.command(&meet).unwrap();
        let id = master.command(&["CLUSTER", "MYID"]).unwrap();
        wait::until_true("a replica", || {
            replica.command(&["CLUSTER", "REPLICATE", &id]).is_ok()
        })
        .unwrap();
        wait::until_true("a replica in step", || {
            let info = replica.command(&["INFO", "replication"]);
            info.is_ok_and(|info| info.contains("master_link_status:up"))
        })
        .unwrap();
        Self { master, replica }
    }

    /// Until the master names its replica, which it does once that has something.
    async fn until_named(&self) {
        let port = self.replica.port().to_string();
        eventually("a replica that is named", async || {
            self.master.command(&["SET", "any", "thing"]).ok()?;
            let slots = self.master.command(&["CLUSTER", "SLOTS"]).ok()?;
            slots.contains(&port).then_some(())
        })
        .await;
    }

    /// Both, by a name or an address of their host.
    fn url(&self, host: &str) -> String {
        let (one, other) = (self.master.port(), self.replica.port());
        format!("redis+cluster://{host}:{one},{host}:{other}")
    }
}

/// A node of a cluster, and the port by which the others reach it.
fn node() -> (Redis, u16) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let bus = free.local_addr().unwrap().port();
    drop(free);
    let node = Redis::builder().set("cluster-enabled", "yes");
    let node = node.set("cluster-port", &bus.to_string());
    let node = node.set("cluster-node-timeout", "2000").start();
    (node.unwrap(), bus)
}

async fn takes(client: &Client) {
    let theirs = bid(&fresh("m"), "a", long());
    eventually("it is taken at the node that lives", async || {
        held(&theirs, &client.acquire(&theirs).await.ok()?)
    })
    .await;
}

/// The master does not name it: a replica that has nothing yet, or, by later
/// versions, one that is known to be dead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_one_master_survives_its_replica() {
    let pair = Pair::start().await;
    pair.replica.kill().unwrap();
    takes(&open(&pair.url("127.0.0.1")).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_one_master_survives_its_master_under_any_name() {
    let pair = Pair::start().await;
    pair.until_named().await;
    let mut before = Vec::new();
    // The cluster itself knows its nodes by their addresses.
    for host in ["127.0.0.1", "localhost"] {
        let client = open(&pair.url(host)).await;
        takes(&client).await;
        before.push(client);
    }
    pair.master.kill().unwrap();
    let take_over = ["CLUSTER", "FAILOVER", "TAKEOVER"];
    pair.replica.command(&take_over).unwrap();
    for client in &before {
        takes(client).await;
    }
    for host in ["127.0.0.1", "localhost"] {
        takes(&open(&pair.url(host)).await).await;
    }
}

//! Three masters that share the slots, with or without replicas.

use super::node::{Redis, RedisBuilder};
use crate::servers::error::ServerError;
use crate::servers::port::Port;
use crate::servers::wait;

/// The first slot of each master, and the end.
const SHARES: [u16; 4] = [0, 5461, 10923, 16384];

/// A Redis Cluster of three masters; a master that is silent for two seconds is replaced, if it
/// has a replica.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    _buses: Vec<Port>,
}

impl RedisCluster {
    /// Starts three masters without replicas.
    pub fn start() -> Result<RedisCluster, ServerError> {
        RedisCluster::builder(Redis::builder()).start()
    }

    /// A cluster with options; each of its nodes is made like `node`. If that listens with TLS,
    /// the nodes speak it with each other, too.
    pub fn builder(node: RedisBuilder) -> RedisClusterBuilder {
        RedisClusterBuilder { node, replicas: 0 }
    }

    /// Waits until every node knows all others and says `cluster_state:ok`.
    pub fn wait_ok(&self) -> Result<(), ServerError> {
        let members = format!("cluster_known_nodes:{}", self.nodes.len());
        self.nodes.iter().try_for_each(|node| {
            wait::until("a cluster that works", || {
                let info = node
                    .command(&["CLUSTER", "INFO"])
                    .map_err(|e| e.to_string())?;
                let good = info.contains("cluster_state:ok") && info.contains(&members);
                if good { Ok(()) } else { Err(info) }
            })
        })
    }

    /// The masters, in the order of their slots, as they were at the start.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes[..3]
    }

    /// The replicas of the first, the second and the third master, as far as there are any.
    pub fn replicas(&self) -> &[Redis] {
        &self.nodes[3..]
    }

    fn meet(&self) -> Result<(), ServerError> {
        for (node, bus) in self.nodes.iter().zip(&self._buses).skip(1) {
            let port = node.tls_port().unwrap_or(node.port());
            let (port, bus) = (port.to_string(), bus.number().to_string());
            self.nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        self.wait_ok()
    }

    fn follow(&self) -> Result<(), ServerError> {
        for (master, replica) in self.nodes().iter().zip(self.replicas()) {
            let id = master.command(&["CLUSTER", "MYID"])?;
            replica.command(&["CLUSTER", "REPLICATE", &id])?;
        }
        self.replicas().iter().try_for_each(|replica| {
            wait::until_true("a replica in step", || {
                let info = replica.command(&["INFO", "replication"]);
                info.is_ok_and(|info| info.contains("master_link_status:up"))
            })
        })
    }
}

/// What a [`RedisCluster`] shall be like.
#[derive(Clone, Debug)]
pub struct RedisClusterBuilder {
    node: RedisBuilder,
    replicas: usize,
}

impl RedisClusterBuilder {
    /// Gives so many masters a replica, three at most.
    pub fn replicas(mut self, number: usize) -> Self {
        self.replicas = number.min(3);
        self
    }

    /// Starts the servers, joins them, and waits until all of them say that the cluster works.
    pub fn start(self) -> Result<RedisCluster, ServerError> {
        let buses = (0..3 + self.replicas)
            .map(|_| Port::choose())
            .collect::<Result<Vec<_>, _>>()?;
        let node = |bus: &Port| {
            let node = self.node.clone().durable().set("cluster-enabled", "yes");
            let node = node
                .set("cluster-port", &bus.number().to_string())
                .set("cluster-node-timeout", "2000");
            if !self.node.tls {
                return node.start();
            }
            let node = node.set("tls-cluster", "yes");
            node.set("tls-replication", "yes").start()
        };
        let nodes = buses.iter().map(node).collect::<Result<Vec<_>, _>>()?;
        for (index, node) in nodes.iter().enumerate() {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        for (node, share) in nodes.iter().zip(SHARES.windows(2)) {
            let (first, last) = (share[0].to_string(), (share[1] - 1).to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
        }
        let cluster = RedisCluster {
            nodes,
            _buses: buses,
        };
        cluster.meet()?;
        cluster.follow()?;
        Ok(cluster)
    }
}

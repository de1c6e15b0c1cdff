//! Three masters that share the slots, with or without replicas.

use std::net::{IpAddr, Ipv4Addr};

use super::node::{Redis, RedisBuilder};
use crate::servers::error::ServerError;
use crate::servers::port::Port;
use crate::servers::proxy::{Proxy, Way};
use crate::servers::wait;

/// The first slot of each master, and the end.
const SHARES: [u16; 4] = [0, 5461, 10923, 16384];

/// A Redis Cluster of three masters; a master that is silent for two seconds is replaced, if it
/// has a replica.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    buses: Vec<Port>,
    /// Of each node: in front of its port and of its bus.
    proxies: Vec<[Proxy; 2]>,
}

/// Where a node that can be cut off connects from.
fn source(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 10 + node as u8)
}

impl RedisCluster {
    /// Starts three masters without replicas.
    pub fn start() -> Result<RedisCluster, ServerError> {
        RedisCluster::builder(Redis::builder()).start()
    }

    /// A cluster with options; each of its nodes is made like `node`. If that listens with TLS,
    /// the nodes speak it with each other, too.
    pub fn builder(node: RedisBuilder) -> RedisClusterBuilder {
        RedisClusterBuilder {
            node,
            replicas: 0,
            separable: false,
        }
    }

    /// Waits until every node knows all others and all slots, and says `cluster_state:ok`. The
    /// state alone does not tell: a node that needs no full coverage is well with its own slots.
    pub fn wait_ok(&self) -> Result<(), ServerError> {
        let members = format!("cluster_known_nodes:{}\r", self.nodes.len());
        let slots = "cluster_slots_assigned:16384\r";
        self.nodes.iter().try_for_each(|node| {
            wait::until("a cluster that works", || {
                let info = node
                    .command(&["CLUSTER", "INFO"])
                    .map_err(|e| e.to_string())?;
                let good = ["cluster_state:ok\r", slots, &members]
                    .iter()
                    .all(|part| info.contains(part));
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

    /// The port by which clients know a node: its own, or that of its proxy.
    pub fn known_port(&self, node: usize) -> u16 {
        let proxy = self.proxies.get(node).map(|[front, _]| front.port());
        proxy.unwrap_or(self.nodes[node].port())
    }

    /// Cuts a node off from all others; clients still reach it. Only after
    /// [`RedisClusterBuilder::separable`].
    pub fn isolate(&self, node: usize) {
        self.silence(node);
        self.deafen(node);
    }

    /// Lets nothing that a node sends reach the others; it still hears them.
    pub fn silence(&self, node: usize) {
        self.part(node, Way::ToClient, Way::ToServer);
    }

    /// Lets nothing that the others send reach a node; they still hear it.
    pub fn deafen(&self, node: usize) {
        self.part(node, Way::ToServer, Way::ToClient);
    }

    /// Holds `theirs` on the connections that others made to a node, and `own` on its own.
    fn part(&self, node: usize, theirs: Way, own: Way) {
        let others = (0..self.nodes.len()).filter(|other| *other != node);
        for other in others {
            for proxy in &self.proxies[node] {
                proxy.part_from(IpAddr::V4(source(other)), theirs);
            }
            for proxy in &self.proxies[other] {
                proxy.part_from(IpAddr::V4(source(node)), own);
            }
        }
    }

    /// Cuts clients off from a node, one way; the others still reach it. Only after
    /// [`RedisClusterBuilder::separable`].
    pub fn part_clients(&self, node: usize, way: Way) {
        self.proxies[node][0].part_from(IpAddr::V4(Ipv4Addr::LOCALHOST), way);
    }

    /// The proxy by which everybody but the bus knows a node, after
    /// [`RedisClusterBuilder::separable`].
    pub fn front(&self, node: usize) -> Option<&Proxy> {
        self.proxies.get(node).map(|[front, _]| front)
    }

    /// Ends what [`isolate`](RedisCluster::isolate) did.
    pub fn heal(&self) -> Result<(), ServerError> {
        self.proxies.iter().flatten().try_for_each(Proxy::heal)
    }

    /// Puts proxies in front of all nodes, whose addresses they give as their own.
    fn hide(&mut self) -> Result<(), ServerError> {
        for (node, bus) in self.nodes.iter().zip(&self.buses) {
            let proxies = [Proxy::start(node.address())?, Proxy::start(bus.address())?];
            let [port, bus] = [&proxies[0], &proxies[1]].map(|proxy| proxy.port().to_string());
            for (what, value) in [("ip", "127.0.0.1"), ("port", &port), ("bus-port", &bus)] {
                let what = format!("cluster-announce-{what}");
                node.command(&["CONFIG", "SET", &what, value])?;
            }
            self.proxies.push(proxies);
        }
        Ok(())
    }

    fn meet(&self) -> Result<(), ServerError> {
        for (at, (node, bus)) in self.nodes.iter().zip(&self.buses).enumerate().skip(1) {
            let port = node.tls_port().unwrap_or(node.port());
            let (port, bus) = match self.proxies.get(at) {
                Some([front, bus]) => (front.port(), bus.port()),
                None => (port, bus.number()),
            };
            let (port, bus) = (port.to_string(), bus.to_string());
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
    separable: bool,
}

impl RedisClusterBuilder {
    /// Gives so many masters a replica, three at most.
    pub fn replicas(mut self, number: usize) -> Self {
        self.replicas = number.min(3);
        self
    }

    /// Lets nodes be cut off from each other while clients reach all of them: they are known by
    /// the addresses of proxies, and each connects from an address of its own.
    pub fn separable(mut self) -> Self {
        self.separable = true;
        self
    }

    /// Starts the servers, joins them, and waits until all of them say that the cluster works.
    pub fn start(self) -> Result<RedisCluster, ServerError> {
        let buses = (0..3 + self.replicas)
            .map(|_| Port::choose())
            .collect::<Result<Vec<_>, _>>()?;
        let node = |(at, bus): (usize, &Port)| {
            let mut node = self.node.clone();
            if self.separable {
                node = node.set("bind-source-addr", &source(at).to_string());
            }
            let node = node.durable().set("cluster-enabled", "yes");
            let node = node
                .set("cluster-port", &bus.number().to_string())
                .set("cluster-node-timeout", "2000");
            if !self.node.tls {
                return node.start();
            }
            let node = node.set("tls-cluster", "yes");
            node.set("tls-replication", "yes").start()
        };
        let nodes = buses
            .iter()
            .enumerate()
            .map(node)
            .collect::<Result<Vec<_>, _>>()?;
        for (index, node) in nodes.iter().enumerate() {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        for (node, share) in nodes.iter().zip(SHARES.windows(2)) {
            let (first, last) = (share[0].to_string(), (share[1] - 1).to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
        }
        let mut cluster = RedisCluster {
            nodes,
            buses,
            proxies: Vec::new(),
        };
        if self.separable {
            cluster.hide()?;
        }
        cluster.meet()?;
        cluster.follow()?;
        Ok(cluster)
    }
}

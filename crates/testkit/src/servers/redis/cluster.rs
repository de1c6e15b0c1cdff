//! Three masters that share the slots.

use super::node::Redis;
use crate::servers::error::ServerError;
use crate::servers::port::Port;
use crate::servers::wait;

/// The first slot of each master, and the end.
const SHARES: [u16; 4] = [0, 5461, 10923, 16384];

/// A Redis Cluster of three masters without replicas.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    _buses: Vec<Port>,
}

impl RedisCluster {
    /// Starts the servers, joins them, and waits until all of them say that the cluster works.
    pub fn start() -> Result<RedisCluster, ServerError> {
        let buses = (0..3)
            .map(|_| Port::choose())
            .collect::<Result<Vec<_>, _>>()?;
        let node = |bus: &Port| {
            Redis::builder()
                .durable()
                .set("cluster-enabled", "yes")
                .set("cluster-port", &bus.number().to_string())
                .set("cluster-node-timeout", "2000")
                .start()
        };
        let nodes = buses.iter().map(node).collect::<Result<Vec<_>, _>>()?;
        for (index, node) in nodes.iter().enumerate() {
            let (first, last) = (SHARES[index], SHARES[index + 1] - 1);
            let (first, last) = (first.to_string(), last.to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        for (node, bus) in nodes.iter().zip(&buses).skip(1) {
            let (port, bus) = (node.port().to_string(), bus.number().to_string());
            nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        let cluster = RedisCluster {
            nodes,
            _buses: buses,
        };
        cluster.wait_ok()?;
        Ok(cluster)
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

    /// The masters, in the order of their slots.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }
}

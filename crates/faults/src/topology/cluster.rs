//! A Redis Cluster of three masters with a replica each; all can be cut off from each other
//! while clients reach them.

use std::thread::sleep;

use tenure_testkit::servers::{Redis, RedisCluster, ServerError, wait};

use super::{Mishap, TERMS, Topology};
use crate::fleet::Fleet;
use crate::worker::Store;

const NODES: usize = 6;

pub(super) struct Cluster(RedisCluster);

impl Cluster {
    pub(super) fn start() -> Result<Self, ServerError> {
        let cluster = RedisCluster::builder(Redis::builder()).replicas(3);
        cluster.separable().start().map(Self)
    }

    fn node(&self, at: usize) -> &Redis {
        match at {
            0..3 => &self.0.nodes()[at],
            _ => &self.0.replicas()[at - 3],
        }
    }

    fn has_role(&self, at: usize, role: &str) -> bool {
        let answer = self.node(at).command(&["ROLE"]);
        answer.is_ok_and(|answer| answer.starts_with(role))
    }

    /// One that has slots now, whatever it was at the start.
    fn master(&self, chance: &mut fastrand::Rng) -> usize {
        let masters: Vec<_> = (0..NODES)
            .filter(|at| self.has_role(*at, "master"))
            .collect();
        chance.choice(masters).unwrap_or(0)
    }

    /// Starts a node, which has forgotten by which addresses it is known.
    fn revive(&self, at: usize) -> Result<(), ServerError> {
        let node = self.node(at);
        let _ = node.resume();
        node.start()?;
        let port = self.0.known_port(at).to_string();
        node.command(&["CONFIG", "SET", "cluster-announce-ip", "127.0.0.1"])?;
        node.command(&["CONFIG", "SET", "cluster-announce-port", &port])?;
        Ok(())
    }

    fn is_in_step(&self, at: usize) -> bool {
        let info = self.node(at).command(&["INFO", "replication"]);
        info.is_ok_and(|info| {
            !info.contains("role:slave") || info.contains("master_link_status:up")
        })
    }
}

impl Topology for Cluster {
    fn store(&self, _: usize) -> Store {
        let host = |at| format!("127.0.0.1:{}", self.0.known_port(at));
        let hosts: Vec<_> = (0..NODES).map(host).collect();
        Store::Url(format!("redis+cluster://{}?{TERMS}", hosts.join(",")))
    }

    fn menu<'a>(&'a self, _: &'a Fleet) -> Vec<Mishap<'a>> {
        vec![
            Mishap::new("master stopped", move |chance, length| {
                let master = self.node(self.master(chance));
                master.pause()?;
                // Two seconds of silence, and it is replaced.
                sleep(length * 2);
                master.resume()
            })
            .forgetting(),
            Mishap::new("master killed", move |chance, length| {
                let at = self.master(chance);
                self.node(at).kill()?;
                sleep(length * 2);
                self.revive(at)
            })
            .forgetting(),
            Mishap::new("master cut off, still reachable", move |chance, length| {
                self.0.isolate(self.master(chance));
                sleep(length * 2);
                self.0.heal()
            })
            .forgetting(),
            Mishap::new("master not heard by the others", move |chance, length| {
                self.0.silence(self.master(chance));
                sleep(length * 2);
                self.0.heal()
            })
            .forgetting(),
            Mishap::new("fail-over forced", move |chance, length| {
                let replicas: Vec<_> = (0..NODES)
                    .filter(|at| self.has_role(*at, "slave"))
                    .collect();
                if let Some(at) = chance.choice(replicas) {
                    let how = if chance.bool() { "FORCE" } else { "TAKEOVER" };
                    let _ = self.node(at).command(&["CLUSTER", "FAILOVER", how]);
                }
                sleep(length);
                Ok(())
            })
            .forgetting(),
            Mishap::new("node stopped for a moment", move |chance, length| {
                let node = self.node(chance.usize(..NODES));
                node.pause()?;
                sleep(length / 3);
                node.resume()
            })
            .forgetting(),
        ]
    }

    fn mend(&self) -> Result<(), ServerError> {
        self.0.heal()?;
        (0..NODES).try_for_each(|at| self.revive(at))?;
        self.0.wait_ok()?;
        let all = || (0..NODES).all(|at| self.is_in_step(at));
        wait::until_true("replicas in step", all)
    }
}

//! A Redis Cluster of three masters with a replica each; all can be cut off from each other
//! while clients reach them.

use std::sync::Arc;
use std::time::Duration;

use tenure_testkit::servers::{Flow, Proxy, Redis, RedisCluster, ServerError, Way, wait};

use super::drift::drifts;
use super::voters::{Count, Voice, Voters};
use super::{Cost, Mishap, Scene, TERMS, Topology, ways};
use crate::fleet::Fleet;
use crate::judge::Kind;
use crate::log::Log;
use crate::progress::Progress;
use crate::worker::Store;

const NODES: usize = 6;

/// Within this a master is replaced, and everything goes on at the new one: it takes two seconds
/// and a lease.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first slot of each of the three shares.
const FIRSTS: [u16; 3] = [0, 5461, 10923];

pub(super) struct Cluster {
    /// Ends before the servers do.
    _voters: Voters,
    servers: Arc<RedisCluster>,
}

/// A node's own port, and who it says has each share of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Map {
    own: u16,
    owners: [u16; 3],
}

impl Map {
    /// From what `CLUSTER NODES` says.
    fn parse(text: &str) -> Option<Self> {
        let mut map = Self {
            own: 0,
            owners: [0; 3],
        };
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let (address, _) = words.get(1)?.split_once('@')?;
            let port = address.rsplit(':').next()?.parse().ok()?;
            if words.get(2)?.contains("myself") {
                map.own = port;
            }
            for share in words.iter().skip(8) {
                let (first, last) = share.split_once('-').unwrap_or((share, share));
                let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse()) else {
                    continue;
                };
                for (at, slot) in FIRSTS.iter().enumerate() {
                    if (first..=last).contains(slot) {
                        map.owners[at] = port;
                    }
                }
            }
        }
        Some(map)
    }
}

/// Who has each share, and who says that it does instead, since when.
#[derive(Default)]
struct Shares {
    owners: [Option<u16>; 3],
    claims: [Option<(u16, Duration)>; 3],
}

impl Count<Map> for Shares {
    /// From the word of the new owner until both other masters have heard of it: until then two
    /// majorities may name two owners.
    fn forgotten(&mut self, voices: &[Option<Voice<Map>>]) -> Vec<(Duration, Duration)> {
        let voices: Vec<_> = voices.iter().flatten().collect();
        let of = |port: u16| voices.iter().find(|voice| voice.said.own == port);
        let mut forgotten = Vec::new();
        for share in 0..FIRSTS.len() {
            // A claim is over when it is given up.
            let stands = |(port, _): &(u16, Duration)| {
                of(*port).is_some_and(|voice| voice.said.owners[share] == *port)
            };
            self.claims[share] = self.claims[share].filter(stands);
            let claims = voices.iter().filter(|voice| {
                let owner = Some(voice.said.own);
                Some(voice.said.owners[share]) == owner && self.owners[share] != owner
            });
            if let Some(claim) = claims.max_by_key(|voice| voice.since.1)
                && self.claims[share].is_none_or(|(port, _)| port != claim.said.own)
            {
                self.claims[share] = Some((claim.said.own, claim.since.0));
            }
            let Some((port, since)) = self.claims[share] else {
                continue;
            };
            let Some(claim) = of(port) else { continue };
            let masters = claim.said.owners.iter().filter(|master| **master != port);
            let heard: Option<Vec<_>> = masters
                .map(|master| of(*master).filter(|voice| voice.said.owners[share] == port))
                .collect();
            let Some(heard) = heard else { continue };
            let by = heard.iter().map(|voice| voice.since.1).max();
            self.claims[share] = None;
            if self.owners[share].replace(port).is_some() {
                forgotten.push((since, by.unwrap_or(since).max(claim.since.1)));
            }
        }
        forgotten
    }
}

impl Cluster {
    pub(super) fn start(log: &Arc<Log>) -> Result<Self, ServerError> {
        let cluster = RedisCluster::builder(Redis::builder().own_clock()?.own_disk()?).replicas(3);
        let servers = Arc::new(cluster.separable().start()?);
        let question = |at| {
            let servers = Arc::clone(&servers);
            move || {
                let limit = Duration::from_secs(5);
                let answer = node(&servers, at).command_within(&["CLUSTER", "NODES"], limit);
                Map::parse(&answer.ok()?)
            }
        };
        let questions = (0..NODES).map(question).collect();
        Ok(Self {
            _voters: Voters::ask(questions, Shares::default(), log),
            servers,
        })
    }

    fn node(&self, at: usize) -> &Redis {
        node(&self.servers, at)
    }

    /// The way of everybody to one of the nodes.
    fn front(&self, at: usize) -> &Proxy {
        self.servers.front(at).expect("they are separable")
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
        node.fill_disk(false)?;
        node.start()?;
        let port = self.servers.known_port(at).to_string();
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
        let host = |at| format!("127.0.0.1:{}", self.servers.known_port(at));
        let hosts: Vec<_> = (0..NODES).map(host).collect();
        Store::Url(format!("redis+cluster://{}?{TERMS}", hosts.join(",")))
    }

    fn menu<'a>(&'a self, _: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = self.of_servers();
        menu.extend(self.of_network());
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        self.servers.heal()?;
        (0..NODES).try_for_each(|at| self.revive(at))?;
        self.servers.wait_ok()?;
        let all = || (0..NODES).all(|at| self.is_in_step(at));
        wait::until_true("replicas in step", all)
    }
}

impl Cluster {
    /// Cuts a master off for as long as it takes the others to replace it and the workers to find
    /// who has its place: they reach it all the time, and it says that the cluster is down.
    fn replace(&self, scene: &mut Scene<'_>) -> Result<(), ServerError> {
        let old = self.master(&mut scene.chance);
        let masters = || (0..NODES).filter(|at| self.has_role(*at, "master")).count();
        let before = masters();
        self.servers.isolate(old);
        if !scene.until(PATIENCE, || masters() > before) {
            return Err(ServerError::new("it was not replaced"));
        }
        let replaced = scene.log.now();
        let names = self.store(0).names();
        let still = || {
            let still = |progress: &Progress| progress.still(names, 1, replaced);
            scene.log.progress(still)
        };
        if !scene.until(PATIENCE, || still().is_empty()) {
            for name in still() {
                let message = format!(
                    "{name:?} did not go on for {PATIENCE:?} though its master had been replaced"
                );
                scene.log.find(Kind::Stuck, name, replaced, message);
            }
        }
        self.servers.heal()
    }

    fn of_servers(&self) -> Vec<Mishap<'_>> {
        vec![
            Mishap::new("server's disk full", move |scene| {
                // It ends when it next notes a change of the cluster.
                let node = self.node(scene.one(NODES));
                node.fill_disk(true)?;
                scene.wait(1.0);
                node.fill_disk(false)
            }),
            drifts("clocks of all servers drift", &[], |_| {
                (0..NODES).map(|at| &**self.node(at)).collect()
            }),
            Mishap::new("master stopped", move |scene| {
                let master = self.node(self.master(&mut scene.chance));
                master.pause()?;
                // Two seconds of silence, and it is replaced.
                scene.wait(2.0);
                let _ = master.resume();
                Ok(())
            }),
            Mishap::new("master killed", move |scene| {
                let at = self.master(&mut scene.chance);
                ways::kill(self.node(at))?;
                scene.wait(2.0);
                let _ = self.revive(at);
                Ok(())
            }),
            Mishap::new("fail-over forced", move |scene| {
                let replicas = (0..NODES).filter(|at| self.has_role(*at, "slave"));
                let replicas: Vec<_> = replicas.collect();
                let at = scene.chance.choice(replicas);
                let at = at.ok_or_else(|| ServerError::new("nobody follows"))?;
                let how = if scene.chance.bool() {
                    "FORCE"
                } else {
                    "TAKEOVER"
                };
                self.node(at).command(&["CLUSTER", "FAILOVER", how])?;
                scene.wait(1.0);
                Ok(())
            }),
            Mishap::new("node stopped for a moment", move |scene| {
                let node = self.node(scene.one(NODES));
                node.pause()?;
                scene.wait(0.3);
                let _ = node.resume();
                Ok(())
            }),
            Mishap::new("node killed", move |scene| {
                let at = scene.one(NODES);
                ways::kill(self.node(at))?;
                scene.wait(0.5);
                let _ = self.revive(at);
                Ok(())
            }),
        ]
    }

    fn of_network(&self) -> Vec<Mishap<'_>> {
        vec![
            Mishap::new("master cut off, still reachable", move |scene| {
                self.servers.isolate(self.master(&mut scene.chance));
                scene.wait(2.0);
                self.servers.heal()
            }),
            Mishap::new("master cut off until it is replaced", move |scene| {
                self.replace(scene)
            })
            .costing(Cost::Company),
            Mishap::new("master not heard by the others", move |scene| {
                self.servers.silence(self.master(&mut scene.chance));
                scene.wait(2.0);
                self.servers.heal()
            }),
            Mishap::new("master not reached by the workers", move |scene| {
                let at = self.master(&mut scene.chance);
                let ways: &[Way] = match scene.one(3) {
                    0 => &[Way::ToServer],
                    1 => &[Way::ToClient],
                    _ => &[Way::ToServer, Way::ToClient],
                };
                ways.iter()
                    .for_each(|way| self.servers.part_clients(at, *way));
                scene.wait(1.0);
                self.servers.heal()
            }),
            Mishap::new("connections of a node reset", move |scene| {
                self.front(scene.one(NODES)).cut()
            }),
            Mishap::new("cut in a reply of a node", move |scene| {
                let at = self.master(&mut scene.chance);
                ways::cut_often([self.front(at)], Way::ToClient, scene)
            }),
            Mishap::new("slow way to a node", move |scene| {
                let front = self.front(self.master(&mut scene.chance));
                let flow = Flow::Delay(scene.length / 6);
                front.set(Way::ToServer, flow);
                front.set(Way::ToClient, flow);
                scene.wait(1.0);
                front.heal()
            }),
        ]
    }
}

fn node(servers: &RedisCluster, at: usize) -> &Redis {
    match at {
        0..3 => &servers.nodes()[at],
        _ => &servers.replicas()[at - 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "\
a 127.0.0.1:7001@17001 myself,master - 0 1 1 connected 0-5460
b 127.0.0.1:7002@17002 master - 0 1 2 connected 5461-10922
c 127.0.0.1:7003@17003 master,fail - 0 1 3 connected 10923-16383
d 127.0.0.1:7004@17004 slave a 0 1 1 connected";

    #[test]
    fn a_node_says_who_has_the_slots() {
        let expected = Map {
            own: 7001,
            owners: [7001, 7002, 7003],
        };
        assert_eq!(Map::parse(NODES), Some(expected));
    }

    #[test]
    fn a_share_is_forgotten_from_the_first_word_until_both_masters_have_heard() {
        let second = Duration::from_secs;
        let voice = |own, owners, since: u64| {
            Some(Voice {
                said: Map { own, owners },
                since: (second(since), second(since + 1)),
            })
        };
        let before = [1, 2, 3];
        let after = [4, 2, 3];
        let mut shares = Shares::default();
        let mut voices = [1, 2, 3, 4].map(|own| voice(own, before, 0));
        assert_eq!(shares.forgotten(&voices), []);
        voices[3] = voice(4, after, 10);
        assert_eq!(shares.forgotten(&voices), []);
        voices[1] = voice(2, after, 12);
        assert_eq!(shares.forgotten(&voices), []);
        voices[2] = voice(3, after, 14);
        assert_eq!(shares.forgotten(&voices), [(second(10), second(15))]);
        voices[0] = voice(1, after, 20);
        assert_eq!(shares.forgotten(&voices), []);
    }
}

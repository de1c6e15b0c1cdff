//! A master and a replica that three sentinels watch; all can be cut off from each other while
//! clients reach them.

use std::sync::Arc;
use std::time::Duration;

use tenure_testkit::servers::{
    Flow, Proxy, Redis, RedisSentinel, Sentinel, ServerError, Way, wait,
};

use super::drift::drifts;
use super::voters::{Count, Voice, Voters};
use super::ways::{self, Ways};
use super::{Mishap, NAMES, Scene, TERMS, Topology, late};
use crate::fleet::Fleet;
use crate::log::Log;
use crate::worker::Store;

const NODES: usize = 2;

pub(super) struct Sentinels {
    /// Ends before the servers do.
    _voters: Option<Voters>,
    servers: Arc<RedisSentinel>,
    /// To the sentinels.
    ways: Ways,
    /// Whether only what the replica has confirmed counts.
    confirmed: bool,
}

/// Most sentinels name another master than before: no worker takes from the old one after that.
struct Most(Option<u16>);

impl Count<u16> for Most {
    fn forgotten(&mut self, voices: &[Option<Voice<u16>>]) -> Vec<(Duration, Duration)> {
        let ports = voices.iter().flatten().map(|voice| voice.said);
        for port in ports {
            let mut agreeing: Vec<_> = voices
                .iter()
                .flatten()
                .filter(|voice| voice.said == port)
                .map(|voice| voice.since)
                .collect();
            let most = voices.len() / 2 + 1;
            if agreeing.len() < most || self.0 == Some(port) {
                continue;
            }
            let before = self.0.replace(port);
            // The moment at which the last of the majority changed its mind.
            agreeing.sort_by_key(|(since, _)| *since);
            let since = agreeing[most - 1].0;
            agreeing.sort_by_key(|(_, by)| *by);
            let by = agreeing[most - 1].1;
            return before.map(|_| (since, by)).into_iter().collect();
        }
        Vec::new()
    }
}

impl Sentinels {
    /// Where only what is `confirmed` by the replica counts, no fail-over forgets anything.
    pub(super) fn start(confirmed: bool, log: &Arc<Log>) -> Result<Self, ServerError> {
        // What is forgotten is forgotten by a fail-over, not by a restart.
        let servers =
            RedisSentinel::builder().nodes(Redis::builder().durable().own_clock()?.own_disk()?);
        let servers = Arc::new(servers.separable().start()?);
        let addresses: Vec<_> = servers.sentinels().iter().map(Sentinel::address).collect();
        let ways = ways::start(&addresses, None)?;
        let question = |at: usize| {
            let servers: Arc<RedisSentinel> = Arc::clone(&servers);
            move || {
                let words = ["SENTINEL", "get-master-addr-by-name"];
                let words = [&words[..], &[RedisSentinel::MASTER_NAME]].concat();
                let answer = servers.sentinels()[at].command(&words).ok()?;
                answer.lines().nth(1)?.parse().ok()
            }
        };
        let questions = (0..addresses.len()).map(question).collect();
        let voters = (!confirmed).then(|| Voters::ask(questions, Most(None), log));
        Ok(Self {
            _voters: voters,
            servers,
            ways,
            confirmed,
        })
    }

    /// The way of everybody to one of the servers.
    fn front(&self, at: usize) -> &Proxy {
        self.servers.front(at).expect("they are separable")
    }

    /// The server that the sentinels name, and its place.
    fn master(&self) -> Result<(usize, &Redis), ServerError> {
        wait::until("a master", || {
            let port = self.servers.master_port().ok_or("no sentinel answers")?;
            let known = (0..NODES).find(|at| self.servers.known_port(*at) == port);
            let at = known.ok_or("an unknown master")?;
            Ok::<_, &str>((at, &self.servers.nodes()[at]))
        })
    }

    /// Starts a server, which has forgotten by which address it is known.
    fn revive(&self, at: usize) -> Result<(), ServerError> {
        let node = &self.servers.nodes()[at];
        let _ = node.resume();
        node.fill_disk(false)?;
        node.start()?;
        let port = self.servers.known_port(at).to_string();
        let known = ["replica-announce-ip", "127.0.0.1", "replica-announce-port"];
        let words = [&["CONFIG", "SET"], &known[..], &[&port]].concat();
        Ok(node.command(&words).map(drop)?)
    }

    /// The replica is stopped until a worker has heard that it did not confirm. What workers say
    /// next arrives when something has been granted again.
    fn confirm_late(&self, fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
        let (at, _) = self.master()?;
        let (front, replica) = (self.front(at), &self.servers.nodes()[1 - at]);
        replica.pause()?;
        // As WAIT says it.
        front.hold_back_after(b":0\r\n");
        let too_few = late::seen(front, self.lease());
        let _ = replica.resume();
        let granted = too_few
            .and_then(|()| late::granted_anew(fleet, scene, &NAMES[..2], None, self.lease()));
        late::arrives(fleet, granted, [front], self.lease())
    }

    /// Every sentinel names the same master, and the other server follows it.
    fn is_well(&self) -> Result<(), String> {
        let (at, _) = self.master().map_err(|error| error.to_string())?;
        let port = self.servers.known_port(at).to_string();
        let question = [
            "SENTINEL",
            "get-master-addr-by-name",
            RedisSentinel::MASTER_NAME,
        ];
        for sentinel in self.servers.sentinels() {
            let named = sentinel.command(&question).map_err(|e| e.to_string())?;
            if named.lines().nth(1) != Some(&port) {
                return Err(format!("a sentinel names {named:?}"));
            }
        }
        let replica = self.servers.nodes()[1 - at].command(&["INFO", "replication"]);
        let replica = replica.map_err(|e| e.to_string())?;
        let follows = format!("master_port:{port}\r");
        let is_well = replica.contains("master_link_status:up") && replica.contains(&follows);
        if is_well { Ok(()) } else { Err(replica) }
    }
}

impl Topology for Sentinels {
    fn store(&self, worker: usize) -> Store {
        let hosts = self.ways[worker]
            .iter()
            .map(|way| way.address().to_string());
        let hosts: Vec<_> = hosts.collect();
        let master = RedisSentinel::MASTER_NAME;
        let confirmed = if self.confirmed {
            "&wait_replicas=1"
        } else {
            ""
        };
        Store::Url(format!(
            "redis+sentinel://{}/0?master={master}&{TERMS}{confirmed}",
            hosts.join(",")
        ))
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(self.of_servers());
        menu.extend(self.of_sentinels());
        menu.extend(self.of_network());
        if self.confirmed {
            let happens = move |scene: &mut Scene<'_>| self.confirm_late(fleet, scene);
            menu.push(Mishap::new("replica stopped, then requests late", happens));
        }
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        self.servers.heal()?;
        ways::mend_servers(self.servers.sentinels())?;
        (0..NODES).try_for_each(|at| self.revive(at))?;
        wait::until("one master and its replica", || self.is_well())
    }
}

impl Sentinels {
    fn of_servers(&self) -> Vec<Mishap<'_>> {
        vec![
            ways::disk_full(self.servers.nodes()),
            drifts("clocks of all servers drift", &[], |_| {
                self.servers.nodes().iter().map(|it| &**it).collect()
            }),
            Mishap::new("master stopped", move |scene| {
                let (_, master) = self.master()?;
                master.pause()?;
                scene.wait(1.0);
                let _ = master.resume();
                Ok(())
            }),
            Mishap::new("master killed", move |scene| {
                let (at, master) = self.master()?;
                ways::kill(master)?;
                scene.wait(1.0);
                let _ = self.revive(at);
                Ok(())
            }),
            Mishap::new("replica killed", move |scene| {
                let (at, _) = self.master()?;
                ways::kill(&self.servers.nodes()[1 - at])?;
                scene.wait(1.0);
                let _ = self.revive(1 - at);
                Ok(())
            }),
            Mishap::new("master cut off, still reachable", move |scene| {
                let (at, _) = self.master()?;
                self.servers.isolate(at);
                scene.wait(2.0);
                self.servers.heal()
            }),
            Mishap::new("master and a sentinel cut off", move |scene| {
                self.servers.split();
                scene.wait(2.0);
                self.servers.heal()
            }),
            Mishap::new("fail-over asked for", move |scene| {
                let words = ["SENTINEL", "FAILOVER", RedisSentinel::MASTER_NAME];
                // Refused while another is under way.
                self.servers.sentinels()[0].command(&words)?;
                scene.wait(1.0);
                Ok(())
            }),
        ]
    }

    fn of_sentinels(&self) -> Vec<Mishap<'_>> {
        let sentinels = self.servers.sentinels();
        vec![
            Mishap::new("sentinel stopped", move |scene| {
                let sentinel = &sentinels[scene.one(sentinels.len())];
                sentinel.pause()?;
                scene.wait(1.0);
                let _ = sentinel.resume();
                Ok(())
            }),
            Mishap::new("two sentinels stopped", move |scene| {
                sentinels[..2].iter().try_for_each(|it| it.pause())?;
                scene.wait(1.0);
                sentinels[..2].iter().for_each(|it| drop(it.resume()));
                Ok(())
            }),
            Mishap::new("sentinel killed", move |scene| {
                let sentinel = &sentinels[scene.one(sentinels.len())];
                ways::kill(sentinel)?;
                scene.wait(1.0);
                let _ = sentinel.spawn();
                Ok(())
            }),
        ]
    }

    /// What can happen on the way of everybody to the servers, and of the workers alone.
    fn of_network(&self) -> Vec<Mishap<'_>> {
        vec![
            Mishap::new("master not reached by the workers", move |scene| {
                let (at, _) = self.master()?;
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
            Mishap::new("connections of the master reset", move |_| {
                let (at, _) = self.master()?;
                self.front(at).cut()
            }),
            Mishap::new("cut in a reply of the master", move |scene| {
                let (at, _) = self.master()?;
                ways::cut_often([self.front(at)], Way::ToClient, scene)
            }),
            Mishap::new("slow way to the master", move |scene| {
                let (at, _) = self.master()?;
                let flow = Flow::Delay(scene.length / 6);
                self.front(at).set(Way::ToServer, flow);
                self.front(at).set(Way::ToClient, flow);
                scene.wait(1.0);
                self.front(at).heal()
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fail_over_is_when_the_second_of_three_names_another() {
        let second = Duration::from_secs;
        let voice = |said, since: u64| {
            Some(Voice {
                said,
                since: (second(since), second(since + 1)),
            })
        };
        let mut most = Most(None);
        let mut voices = [voice(1, 0), voice(1, 0), None];
        assert_eq!(most.forgotten(&voices), []);
        voices[2] = voice(2, 5);
        assert_eq!(most.forgotten(&voices), []);
        voices[0] = voice(2, 8);
        assert_eq!(most.forgotten(&voices), [(second(8), second(9))]);
        voices[1] = voice(2, 12);
        assert_eq!(most.forgotten(&voices), []);
    }
}

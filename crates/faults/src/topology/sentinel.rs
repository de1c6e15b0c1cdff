//! A master and a replica that three sentinels watch; all can be cut off from each other while
//! clients reach them.

use std::thread::sleep;

use tenure_testkit::servers::{Redis, RedisSentinel, ServerError, wait};

use super::{Mishap, TERMS, Topology};
use crate::fleet::Fleet;
use crate::worker::Store;

pub(super) struct Sentinels(RedisSentinel);

impl Sentinels {
    pub(super) fn start() -> Result<Self, ServerError> {
        RedisSentinel::builder().separable().start().map(Self)
    }

    /// The server that the sentinels name, and its place.
    fn master(&self) -> Result<(usize, &Redis), ServerError> {
        wait::until("a master", || {
            let port = self.0.master_port().ok_or("no sentinel answers")?;
            let known = (0..2).find(|at| self.0.known_port(*at) == port);
            let at = known.ok_or("an unknown master")?;
            Ok::<_, &str>((at, &self.0.nodes()[at]))
        })
    }

    /// Starts a server, which has forgotten by which address it is known.
    fn revive(&self, at: usize) -> Result<(), ServerError> {
        let node = &self.0.nodes()[at];
        let _ = node.resume();
        node.start()?;
        let port = self.0.known_port(at).to_string();
        let known = ["replica-announce-ip", "127.0.0.1", "replica-announce-port"];
        let words = [&["CONFIG", "SET"], &known[..], &[&port]].concat();
        Ok(node.command(&words).map(drop)?)
    }

    /// Every sentinel names the same master, and the other server follows it.
    fn is_well(&self) -> Result<(), String> {
        let (at, _) = self.master().map_err(|error| error.to_string())?;
        let port = self.0.known_port(at).to_string();
        let question = [
            "SENTINEL",
            "get-master-addr-by-name",
            RedisSentinel::MASTER_NAME,
        ];
        for sentinel in self.0.sentinels() {
            let named = sentinel.command(&question).map_err(|e| e.to_string())?;
            if named.lines().nth(1) != Some(&port) {
                return Err(format!("a sentinel names {named:?}"));
            }
        }
        let replica = self.0.nodes()[1 - at].command(&["INFO", "replication"]);
        let replica = replica.map_err(|e| e.to_string())?;
        let follows = format!("master_port:{port}\r");
        let is_well = replica.contains("master_link_status:up") && replica.contains(&follows);
        if is_well { Ok(()) } else { Err(replica) }
    }
}

impl Topology for Sentinels {
    fn store(&self, _: usize) -> Store {
        let hosts = self.0.sentinels().iter().map(|it| it.address().to_string());
        let hosts: Vec<_> = hosts.collect();
        let master = RedisSentinel::MASTER_NAME;
        Store::Url(format!(
            "redis+sentinel://{}/0?master={master}&{TERMS}",
            hosts.join(",")
        ))
    }

    fn menu<'a>(&'a self, _: &'a Fleet) -> Vec<Mishap<'a>> {
        let sentinels = self.0.sentinels();
        vec![
            Mishap::new("master stopped", move |_, length| {
                let (_, master) = self.master()?;
                master.pause()?;
                sleep(length);
                master.resume()
            })
            .forgetting(),
            Mishap::new("master killed", move |_, length| {
                let (at, master) = self.master()?;
                master.kill()?;
                sleep(length);
                self.revive(at)
            })
            .forgetting(),
            Mishap::new("master cut off, still reachable", move |_, length| {
                let (at, _) = self.master()?;
                self.0.isolate(at);
                sleep(length * 2);
                self.0.heal()
            })
            .forgetting(),
            Mishap::new("master and a sentinel cut off", move |_, length| {
                self.0.split();
                sleep(length * 2);
                self.0.heal()
            })
            .forgetting(),
            Mishap::new("fail-over asked for", move |_, length| {
                let words = ["SENTINEL", "FAILOVER", RedisSentinel::MASTER_NAME];
                // Refused while another is under way.
                let _ = sentinels[0].command(&words);
                sleep(length);
                Ok(())
            })
            .forgetting(),
            Mishap::new("sentinel stopped", move |chance, length| {
                let sentinel = &sentinels[chance.usize(..3)];
                sentinel.pause()?;
                sleep(length);
                sentinel.resume()
            }),
            Mishap::new("two sentinels stopped", move |_, length| {
                sentinels[..2].iter().try_for_each(|it| it.pause())?;
                sleep(length);
                sentinels[..2].iter().try_for_each(|it| it.resume())
            }),
            Mishap::new("sentinel killed", move |chance, length| {
                let sentinel = &sentinels[chance.usize(..3)];
                sentinel.kill()?;
                sleep(length);
                sentinel.spawn()
            }),
        ]
    }

    fn mend(&self) -> Result<(), ServerError> {
        self.0.heal()?;
        super::ways::mend_servers(self.0.sentinels())?;
        (0..2).try_for_each(|at| self.revive(at))?;
        wait::until("one master and its replica", || self.is_well())
    }
}

//! Three Redis servers that know nothing of each other, and keep nothing over a restart.

use std::thread::sleep;
use std::time::Duration;

use tenure_testkit::servers::{Redis, ServerError};

use super::ways::{self, Ways};
use super::{Mishap, Topology};
use crate::fleet::Fleet;
use crate::worker::Store;

pub(super) struct Nodes {
    servers: Vec<Redis>,
    ways: Ways,
    by_majority: bool,
}

impl Nodes {
    pub(super) fn start(by_majority: bool) -> Result<Self, ServerError> {
        let server = |_| Redis::builder().own_clock()?.start();
        let servers = (0..3).map(server).collect::<Result<Vec<_>, _>>()?;
        let addresses: Vec<_> = servers.iter().map(Redis::address).collect();
        let ways = ways::start(&addresses, None)?;
        Ok(Self {
            servers,
            ways,
            by_majority,
        })
    }
}

impl Topology for Nodes {
    fn store(&self, worker: usize) -> Store {
        let url = |way: &tenure_testkit::servers::Proxy| format!("redis://{}", way.address());
        Store::Nodes {
            urls: self.ways[worker].iter().map(url).collect(),
            by_majority: self.by_majority,
        }
    }

    // A node that restarts is empty: it is found out by its uptime, so this is none of those by
    // which a lock may be forgotten.
    fn menu<'a>(&'a self, _: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(ways::server_menu(&self.servers));
        menu.extend([
            Mishap::new("all nodes restarted", move |_, length| {
                self.servers.iter().try_for_each(|server| server.kill())?;
                sleep(length / 4);
                self.servers.iter().try_for_each(|server| server.spawn())
            }),
            Mishap::new("keys of a node deleted", move |chance, _| {
                let node = &self.servers[chance.usize(..self.servers.len())];
                Ok(node.command(&["FLUSHALL"]).map(drop)?)
            })
            .forgetting(),
            Mishap::new("clock of a node ahead", move |chance, length| {
                let node = &self.servers[chance.usize(..self.servers.len())];
                node.set_clock(self.lease().mul_f64(chance.f64() * 3.0))?;
                sleep(length);
                node.set_clock(Duration::ZERO)
            })
            .forgetting(),
        ]);
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(&self.servers)?;
        let right = |node: &Redis| node.set_clock(Duration::ZERO);
        self.servers.iter().try_for_each(right)
    }
}

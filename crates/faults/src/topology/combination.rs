//! Three Redis servers that know nothing of each other, and keep nothing over a restart.

use std::time::Duration;

use tenure_testkit::servers::{Redis, ServerError};

use super::drift::{drifts, slow_and_cut_off};
use super::ways::{self, Ways};
use super::{Cost, Mishap, Topology, clock_ahead};
use crate::fleet::Fleet;
use crate::worker::Store;

const NODES: usize = 3;

pub(super) struct Nodes {
    servers: Vec<Redis>,
    ways: Ways,
    by_majority: bool,
}

impl Nodes {
    pub(super) fn start(by_majority: bool) -> Result<Self, ServerError> {
        let server = |_| Redis::builder().own_clock()?.start();
        let servers = (0..NODES).map(server).collect::<Result<Vec<_>, _>>()?;
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

    // Of each node 1 % and 2 ms.
    fn belief(&self) -> Duration {
        self.lease() - (self.lease() / 100 + Duration::from_millis(2))
    }

    // A node that has come back empty is taken again.
    fn returns(&self) -> bool {
        true
    }

    // A node that restarts is empty: it is found out by its uptime, so this is none of those by
    // which a lock may be forgotten.
    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(ways::server_menu(&self.servers));
        menu.extend([
            Mishap::new("all nodes restarted", move |scene| {
                self.servers.iter().try_for_each(|server| server.kill())?;
                scene.wait(0.25);
                self.servers.iter().try_for_each(|server| server.spawn())
            }),
            Mishap::new("keys of a node deleted", move |scene| {
                let node = &self.servers[scene.one(self.servers.len())];
                let deleted = scene.log.forgetting(|| node.command(&["FLUSHALL"]));
                Ok(deleted.map(drop)?)
            })
            .costing(Cost::Memory),
            slow_and_cut_off(&self.ways, fleet),
            drifts("clock of a node drifts", &self.ways, |scene| {
                vec![&*self.servers[scene.one(NODES)]]
            }),
            clock_ahead(
                "clock of a node ahead",
                self.lease(),
                |scene| scene.one(NODES),
                &self.servers,
            ),
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

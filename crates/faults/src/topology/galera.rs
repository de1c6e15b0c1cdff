//! Two MariaDB servers that are one Galera cluster; half of the workers use each.

use std::thread::sleep;
use std::time::Duration;

use tenure_testkit::servers::{Galera, MariaDb, Proxy, ServerError, Speech};

use super::drift::{drifts, slow_and_cut_off};
use super::ways::{self, Ways};
use super::{Mishap, NAMES, TERMS, Topology, WORKERS, late};
use crate::fleet::Fleet;
use crate::worker::Store;

pub(super) struct Nodes {
    servers: Galera,
    ways: Ways,
}

impl Nodes {
    pub(super) fn start() -> Result<Self, ServerError> {
        let servers = Galera::with_own_clocks()?;
        let way = |at: usize| {
            let node = &servers.nodes()[at % 2];
            Ok(vec![Proxy::speaking(Speech::MySql, node.address())?])
        };
        let ways = (0..WORKERS).map(way).collect::<Result<_, ServerError>>()?;
        Ok(Self { servers, ways })
    }
}

impl Topology for Nodes {
    fn store(&self, worker: usize) -> Store {
        let (user, port) = (MariaDb::USER, self.ways[worker][0].port());
        let database = MariaDb::DATABASE;
        Store::Url(format!(
            "mysql://{user}@127.0.0.1:{port}/{database}?{TERMS}"
        ))
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, true);
        menu.extend([
            Mishap::new("node stopped", move |scene| {
                // The first has the majority alone: without it none owns.
                let node = &self.servers.nodes()[scene.one(2)];
                node.pause()?;
                scene.wait(1.0);
                node.resume()
            }),
            Mishap::new("node killed", move |scene| {
                // Not the first: what the second alone has applied would be forgotten with it.
                let node = &self.servers.nodes()[1];
                ways::kill(node)?;
                scene.wait(1.0);
                let _ = node.spawn();
                Ok(())
            }),
            slow_and_cut_off(&self.ways, fleet),
            late::requests_late(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::one_by_one(&self.ways, fleet, &NAMES[..3], self.lease()),
            late::silent_owner(&self.ways, fleet, &NAMES, self.lease()),
            drifts("clocks of all servers drift", &self.ways, |_| {
                self.servers.nodes().iter().map(|it| &**it).collect()
            }),
            Mishap::new("node stopped again and again", move |scene| {
                let node = &self.servers.nodes()[scene.one(2)];
                for _ in 0..5 {
                    node.pause()?;
                    scene.wait(0.15);
                    node.resume()?;
                    sleep(Duration::from_millis(scene.chance.u64(1..100)));
                }
                Ok(())
            }),
            Mishap::new("node cut off, still reachable", move |scene| {
                self.servers.part(true)?;
                // Long enough to be missed, as a rule.
                scene.wait(2.0);
                Ok(())
            }),
        ]);
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(self.servers.nodes())?;
        self.servers.part(false)?;
        self.servers.wait_for(2)
    }
}

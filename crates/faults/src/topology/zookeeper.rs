//! One ZooKeeper server.

use std::slice::from_ref;
use std::time::Duration;

use tenure_testkit::servers::{ServerError, ZooKeeper};

use super::drift::{drifts, slow_and_cut_off};
use super::ways::{self, Ways};
use super::{Mishap, NAMES, Topology, late};
use crate::fleet::Fleet;
use crate::worker::Store;

/// Four ticks.
pub(super) const SESSION: Duration = Duration::from_secs(2);

/// 5/8 of it, whatever was proven.
pub(super) const BELIEF: Duration = Duration::from_millis(1_250);

/// As a worker is told of it, by its ways to the servers.
pub(super) fn store(ways: &Ways, worker: usize) -> Store {
    let hosts = ways[worker].iter().map(|way| way.address().to_string());
    let hosts: Vec<_> = hosts.collect();
    let timeout = SESSION.as_millis();
    Store::Url(format!(
        "zookeeper://{}?session_timeout={timeout}ms",
        hosts.join(",")
    ))
}

pub(super) struct OneZooKeeper {
    server: ZooKeeper,
    ways: Ways,
}

impl OneZooKeeper {
    pub(super) fn start() -> Result<Self, ServerError> {
        let server = ZooKeeper::builder().own_clock()?.own_disk()?.start()?;
        let ways = ways::start(&[server.address()], None)?;
        Ok(Self { server, ways })
    }
}

impl Topology for OneZooKeeper {
    fn store(&self, worker: usize) -> Store {
        store(&self.ways, worker)
    }

    fn lease(&self) -> Duration {
        SESSION
    }

    fn belief(&self) -> Duration {
        BELIEF
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(ways::server_menu(from_ref(&self.server)));
        menu.extend([
            ways::disk_full(from_ref(&self.server)),
            slow_and_cut_off(&self.ways, fleet),
            late::requests_late(&self.ways, fleet, &NAMES[..3], SESSION),
            drifts("server's clock drifts", &self.ways, |_| vec![&*self.server]),
        ]);
        menu
    }

    fn queues(&self) -> Option<String> {
        self.server.word("dump").ok()
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(from_ref(&self.server))
    }
}

//! One Redis server that keeps nothing over a restart, and workers that know it: `restart_grace=on`.

use std::slice::from_ref;

use tenure_testkit::history::What;
use tenure_testkit::servers::{Proxy, Redis, ServerError};

use super::ways::{self, Ways};
use super::{Mishap, Scene, TERMS, Topology};
use crate::fleet::Fleet;
use crate::judge::LEDGERS;
use crate::worker::Store;

pub(super) struct Forgetful {
    server: Redis,
    ways: Ways,
}

impl Forgetful {
    pub(super) fn start() -> Result<Self, ServerError> {
        let server = Redis::builder().start()?;
        let ways = ways::start(&[server.address()], None)?;
        Ok(Self { server, ways })
    }

    /// Restarts it without data, after a while. Schedules begin anew then, and nothing else is
    /// excused: no owner is left when the first may take.
    fn forget(&self, scene: &Scene<'_>, lengths: f64) -> Result<(), ServerError> {
        let lost = |is_over| What::Fault {
            what: LEDGERS.into(),
            is_over,
        };
        scene.log.note("nemesis", lost(false));
        let wiped = self.server.wipe();
        scene.log.note("nemesis", lost(true));
        wiped?;
        scene.wait(lengths);
        let _ = self.server.spawn();
        Ok(())
    }
}

impl Topology for Forgetful {
    fn store(&self, worker: usize) -> Store {
        let port = self.ways[worker][0].port();
        Store::Url(format!(
            "redis://127.0.0.1:{port}/0?restart_grace=on&{TERMS}"
        ))
    }

    fn menu<'a>(&'a self, _: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend([
            Mishap::new("restarted without data", move |scene| {
                self.forget(scene, 0.25)
            }),
            Mishap::new("restarted without data, one sees it", move |scene| {
                let seeing = scene.one(self.ways.len());
                let blind = || (0..self.ways.len()).filter(|at| *at != seeing);
                let ways = || blind().flat_map(|at| &self.ways[at]);
                ways().for_each(Proxy::partition);
                self.forget(scene, 0.0)?;
                scene.wait(1.0);
                std::thread::sleep(self.lease());
                ways().try_for_each(Proxy::heal)
            }),
            Mishap::new("server stopped", move |scene| {
                self.server.pause()?;
                scene.wait(1.0);
                let _ = self.server.resume();
                Ok(())
            }),
        ]);
        menu
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        ways::mend_servers(from_ref(&self.server))
    }
}

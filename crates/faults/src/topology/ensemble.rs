//! Three ZooKeeper servers, of which the last can be cut off from the others.

use std::thread::sleep;
use std::time::Duration;

use tenure_testkit::servers::{Proxy, ServerError, ZooKeeper, ZooKeeperEnsemble};

use super::drift::{drifts, slow_and_cut_off};
use super::ways::{self, Ways};
use super::zookeeper::{BELIEF, SESSION, store};
use super::{Mishap, NAMES, Scene, Topology, late};
use crate::fleet::Fleet;
use crate::sight::{self, Owned};
use crate::worker::Store;

/// After so many ticks of silence a member leaves its leader, or a leader its office.
const SYNC_LIMIT: u32 = 4;

pub(super) struct Ensemble {
    servers: ZooKeeperEnsemble,
    ways: Ways,
}

impl Ensemble {
    /// The last one leads at first, or follows.
    pub(super) fn start(leading: bool) -> Result<Self, ServerError> {
        let server = ZooKeeper::builder().own_clock()?.own_disk()?;
        let servers = ZooKeeperEnsemble::start_severable_like(server, leading, SYNC_LIMIT, &[])?;
        let members = servers.members().iter();
        let addresses: Vec<_> = members.map(ZooKeeper::address).collect();
        let ways = ways::start(&addresses, None)?;
        Ok(Self { servers, ways })
    }

    /// Workers that have gone on after a pause ask once, and are answered, before their server is
    /// cut off: it has not told the leader of them since long before.
    fn hold_up(&self, fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
        let last = self.servers.members().len() - 1;
        let all = 0..fleet.size();
        for way in all.clone().flat_map(|at| &self.ways[at][..last]) {
            way.refuse()?;
            way.cut()?;
        }
        // All have come to the last one by then.
        scene.wait(1.0);
        let stopped = all.clone().filter(|at| fleet.stop(*at)).count();
        if stopped == 0 {
            return Err(ServerError::new("no worker lives"));
        }
        sleep(SESSION.mul_f64(0.4 + 0.2 * scene.chance.f64()));
        all.for_each(|at| _ = fleet.go_on(at));
        sleep(SESSION.mul_f64(0.05 * scene.chance.f64()));
        self.servers.sever()?;
        // The others are let in elsewhere when the sessions end.
        for way in (0..fleet.size() / 2).flat_map(|at| &self.ways[at][..last]) {
            way.heal()?;
        }
        sleep(SESSION);
        Ok(())
    }

    /// An owner goes on just before it would have to give up, asks and is answered; then its server
    /// stops, which has not told the leader of it since before the pause. Others live on other
    /// servers, and are let in when the session ends.
    fn stop_behind(&self, fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
        let members = self.servers.members();
        let leads = |at: &usize| members[*at].mode().is_ok_and(|mode| mode == "leader");
        let leader = (0..members.len()).find(leads);
        let leader = leader.ok_or_else(|| ServerError::new("nobody leads"))?;
        // One worker on each server that follows, the others on the leader.
        let first = scene.one(fleet.size());
        let place = |worker: usize| match (worker + first) % fleet.size() {
            at if at < members.len() => at,
            _ => leader,
        };
        for (worker, ways) in self.ways.iter().enumerate() {
            let elsewhere = ways.iter().zip(0..).filter(|(_, at)| *at != place(worker));
            elsewhere.map(|(way, _)| way).try_for_each(|way| {
                way.refuse()?;
                way.cut()
            })?;
        }
        let log = scene.log;
        // One that has owned for long goes on to own, as a rule.
        let owner = log.wait(SESSION * 6, |events| {
            let now = log.now();
            let owned = sight::owned(events, now).into_iter();
            let mut long = owned.filter(|it| it.since + SESSION * 3 / 4 < now);
            long.find_map(|it| {
                let worker = (0..fleet.size()).find(|at| fleet.name(*at) == it.worker)?;
                (place(worker) != leader).then_some((worker, it))
            })
        });
        let owner = owner.ok_or_else(|| ServerError::new("nothing was owned for long"));
        let done = owner.and_then(|(worker, owned)| {
            self.stop_behind_owner(fleet, worker, &owned, &members[place(worker)], scene)
        });
        self.ways.iter().flatten().try_for_each(Proxy::heal)?;
        done
    }

    fn stop_behind_owner(
        &self,
        fleet: &Fleet,
        worker: usize,
        owned: &Owned,
        member: &ZooKeeper,
        scene: &mut Scene<'_>,
    ) -> Result<(), ServerError> {
        let log = scene.log;
        let renewed = |before: Duration| {
            let renewed = log.wait(SESSION / 2, |events| {
                match sight::deadline(events, &owned.tenure) {
                    Some(now) => (now > before).then_some(Ok(now)),
                    None => Some(Err(ServerError::new("it is not owned any more"))),
                }
            });
            renewed.unwrap_or_else(|| Err(ServerError::new("it was not renewed")))
        };
        // Stopped as soon as it has been, it has asked for nothing more.
        let deadline = renewed(owned.deadline)?;
        if !fleet.stop(worker) {
            return Err(ServerError::new("the worker is dead"));
        }
        let early = SESSION.mul_f64(0.02 + 0.04 * scene.chance.f64());
        sleep(deadline.saturating_sub(log.now() + early));
        fleet.go_on(worker);
        renewed(deadline)?;
        member.pause()?;
        sleep(SESSION);
        let _ = member.resume();
        Ok(())
    }

    fn leader(&self) -> Result<&ZooKeeper, ServerError> {
        let leader = self.servers.leader();
        leader.ok_or_else(|| ServerError::new("nobody leads"))
    }
}

impl Topology for Ensemble {
    fn store(&self, worker: usize) -> Store {
        store(&self.ways, worker)
    }

    fn lease(&self) -> Duration {
        SESSION
    }

    fn belief(&self) -> Duration {
        BELIEF
    }

    fn crowd(&self) -> usize {
        2
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        let mut menu = ways::menu(&self.ways, false);
        menu.extend(ways::server_menu(self.servers.members()));
        menu.extend([
            ways::disk_full(self.servers.members()),
            slow_and_cut_off(&self.ways, fleet),
            late::requests_late(&self.ways, fleet, &NAMES[..3], SESSION),
            drifts("clocks of all servers drift", &self.ways, |_| {
                self.servers.members().iter().map(|it| &**it).collect()
            }),
            Mishap::new("leader stopped", move |scene| {
                let leader = self.leader()?;
                leader.pause()?;
                // Another may lead when it goes on.
                scene.wait(1.0);
                let _ = leader.resume();
                Ok(())
            }),
            Mishap::new("leader killed", move |scene| {
                let leader = self.leader()?;
                leader.kill()?;
                scene.wait(0.5);
                let _ = leader.spawn();
                Ok(())
            }),
            Mishap::new("workers held up, then their member cut off", move |scene| {
                self.hold_up(fleet, scene)
            }),
            Mishap::new("owner held up, then its member stopped", move |scene| {
                self.stop_behind(fleet, scene)
            }),
            Mishap::new("member cut off, still reachable", move |scene| {
                self.servers.sever()?;
                // Long enough to be missed, now and then.
                scene.wait(2.0);
                Ok(())
            }),
        ]);
        menu
    }

    /// As each member has them: one that has fallen behind, or has what the others have
    /// not, shows a queue of its own to its clients.
    fn queues(&self) -> Option<String> {
        let dump = |(number, member): (usize, &ZooKeeper)| {
            let said = member
                .word("dump")
                .unwrap_or_else(|error| error.to_string());
            format!("member {number}: {said}\n")
        };
        let members = self.servers.members().iter().enumerate();
        Some(members.map(dump).collect())
    }

    fn mend(&self) -> Result<(), ServerError> {
        ways::heal(&self.ways)?;
        for member in self.servers.members() {
            member.fill_disk(false)?;
            let _ = member.resume();
            member.spawn()?;
        }
        self.servers.rejoin()?;
        ways::mend_servers(self.servers.members())?;
        self.servers.wait_leader().map(drop)
    }
}

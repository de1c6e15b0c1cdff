//! The owner, its connection or its server stands still for a while; then its
//! server is cut off, at once after it has answered again.
//!
//! What the leader of the ensemble knows of a session is then as old as the
//! pause: see "Sessions and leases" in docs/stores/zookeeper.md.

use std::time::Duration;

use tenure::model::{MutexName, MutexState};
use tenure::service::{ContendService, LocalContender, Retriever};
use tenure::{Coordinator, Tenure};
use tenure_testkit::servers::{Flow, Proxy, Way, ZooKeeperEnsemble};

use crate::support::{coordinator, name, until};

/// A session timeout T is two ticks or little more, the least that servers give.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// What stands still.
#[derive(Clone, Copy, Debug)]
enum Stall {
    /// The way from the owner to its server. The other way goes on, so that
    /// the driver sees no reason to connect anew.
    Client,
    /// The way from the leader of the ensemble to the owner's server.
    Leader,
}

/// Watches a mutex.
pub(crate) struct Observer(pub(crate) MutexName);

impl Retriever for Observer {
    fn mutex(&self) -> &MutexName {
        &self.0
    }

    fn notify_owner(&self, _: &MutexState) {}
}

fn contend(coordinator: &Coordinator, name: &str) -> ContendService<LocalContender> {
    let contender = LocalContender::new(name).unwrap();
    let service = coordinator.contend_service(contender).unwrap();
    service.start().unwrap();
    service
}

/// The clock by which the leader rounds: sessions end at whole ticks of it.
fn leader_millis() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// How long until a moment comes from which a tick of the leader ends `ahead`
/// later.
pub(crate) fn until_aligned(ahead: Duration) -> Duration {
    let tick = TICK.as_millis() as u64;
    Duration::from_millis(tick - (leader_millis() + ahead.as_millis() as u64) % tick)
}

/// Waits until the tenure was renewed, or is lost, or `limit` is over.
async fn renewed(tenure: &Tenure, limit: Duration) {
    let before = tenure.remaining();
    let end = tokio::time::Instant::now() + limit;
    while tokio::time::Instant::now() < end && !tenure.is_lost() && tenure.remaining() <= before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// One pause of `part` T, and the cut. The leader asks its followers every half
/// tick, and ends sessions at whole ticks: how far the one is from the other is
/// chance, but where T ends in between is `more`. False when the machine was too
/// slow to keep the session until then.
async fn paused(ensemble: &ZooKeeperEnsemble, stall: Stall, part: f64, more: u64) -> bool {
    let t = TICK * 2 + Duration::from_millis(more);
    let timeout = format!("{}ms", t.as_millis());
    let name = name("paused");
    let (last, others) = (&ensemble.members()[2], &ensemble.members()[..2]);
    let proxy = Proxy::start(last.address()).unwrap();
    let here = coordinator(proxy.address(), &timeout).await;
    let others = format!("{},{}", others[0].address(), others[1].address());
    let there = coordinator(&others, &timeout).await;
    let raw = zookeeper_client::Client::connect(&others).await.unwrap();
    // The session is to end just before a lease that is counted from the last
    // request before the cut: the hold begins soon after a renewal, and when a
    // tick ends this much later.
    let ahead = t.mul_f64(part + 0.625 - 0.075);
    let ours = contend(&here, &name);
    until("ours leads", || ours.is_owner()).await;
    let tenure = ours.tenure().unwrap();
    let rival = contend(&there, &name);
    until("the rival waits", || {
        rival.state().after.owner_id().is_some()
    })
    .await;
    let observed: Vec<_> = (0..8).map(|index| format!("{name}-{index}")).collect();
    let observers = observed.iter().map(|name| {
        let observer = Observer(MutexName::new(name).unwrap());
        let service = here.retrieval_service(observer).unwrap();
        service.start().unwrap();
        service
    });
    let observers: Vec<_> = observers.collect();
    let watches = || last.word("wchs").unwrap();
    until("all are watched", || {
        // Those of the observers, and that of the owner on its own node.
        let watches = watches();
        watches.contains("Total watches:8") || watches.contains("Total watches:9")
    })
    .await;
    // Renewed a few times, so that all is as usual.
    tokio::time::sleep(t.mul_f64(0.6)).await;
    if tenure.is_lost() {
        here.close().await.unwrap();
        there.close().await.unwrap();
        return false;
    }

    for _ in 0..100 {
        renewed(&tenure, t).await;
        if until_aligned(ahead) < t / 16 {
            break;
        }
    }
    tokio::time::sleep(until_aligned(ahead)).await;
    let hold = || match stall {
        Stall::Client => proxy.set(Way::ToServer, Flow::Hold),
        Stall::Leader => {
            let links = ensemble.links().iter();
            links.for_each(|link| link.set(Way::ToClient, Flow::Hold));
        }
    };
    hold();
    let held = leader_millis();
    let end = tokio::time::Instant::now() + t.mul_f64(part);
    for name in &observed {
        // It is told of each, and so believes in its connection.
        let options = zookeeper_client::CreateMode::Persistent
            .with_acls(zookeeper_client::Acls::anyone_all());
        raw.create(&format!("/simba/{name}"), b"", &options)
            .await
            .unwrap();
        let next = tokio::time::Instant::now() + t.mul_f64(0.07);
        tokio::time::sleep_until(next.min(end)).await;
    }
    tokio::time::sleep_until(end).await;
    match stall {
        Stall::Client => proxy.heal().unwrap(),
        // What waits for the follower arrives; what it says does not.
        Stall::Leader => {
            let links = ensemble.links().iter();
            links
                .clone()
                .for_each(|link| link.set(Way::ToServer, Flow::Hold));
            links.for_each(|link| link.set(Way::ToClient, Flow::Pass));
        }
    }
    let lost = tenure.is_lost();
    renewed(&tenure, Duration::from_millis(30)).await;
    ensemble.sever().unwrap();
    let left = tenure.remaining();
    until("the rival leads", || rival.is_owner()).await;
    let overlap = tenure.remaining();
    let after = (leader_millis() - held) as f64 / t.as_millis() as f64;
    assert!(
        tenure.is_lost(),
        "two valid tenures for {overlap:?}: {stall:?}, {part:.2} T"
    );
    eprintln!(
        "{stall:?}, {part:.2} T: lost in the pause: {lost}, {left:?} left at the cut, the rival \
         leads {after:.3} T after the hold began"
    );

    ensemble.rejoin().unwrap();
    drop(observers);
    here.close().await.unwrap();
    there.close().await.unwrap();
    true
}

async fn pauses(stall: Stall, parts: &[(f64, u64)]) {
    let tick = format!("tickTime={}", TICK.as_millis());
    let ensemble = ZooKeeperEnsemble::start_severable_with(false, 10, &[&tick]).unwrap();
    for (part, more) in parts {
        let mut trials = 0;
        while !paused(&ensemble, stall, *part, *more).await {
            trials += 1;
            assert!(trials < 10, "the machine is too slow for these sessions");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_was_held_up_believes_no_longer_than_the_leader_remembers_it() {
    let parts = [
        (0.53, 0),
        (0.53, 125),
        (0.53, 250),
        (0.53, 375),
        (0.3, 0),
        (0.7, 0),
    ];
    pauses(Stall::Client, &parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_was_held_up_does_not_vouch_for_its_clients() {
    let parts = [(0.37, 0), (0.37, 125), (0.37, 250), (0.37, 375)];
    pauses(Stall::Leader, &parts).await;
}

/// Beside the one above, so that neither takes for ever.
#[tokio::test(flavor = "multi_thread")]
async fn nor_one_that_was_held_up_for_a_shorter_or_a_longer_while() {
    pauses(Stall::Leader, &[(0.3, 0), (0.6, 0)]).await;
}

//! The stores that are broken, and what can happen to each.

mod cluster;
mod combination;
mod dead;
pub(crate) mod drift;
mod ensemble;
mod galera;
mod grace;
mod late;
mod mishap;
mod redis;
mod sentinel;
mod sql;
mod sqlite;
mod strangers;
mod voters;
mod ways;
mod zookeeper;

use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

pub use drift::drift;
use fastrand::Rng;
pub use mishap::{Cost, Mishap, Scene};
use tenure_testkit::servers::{Process, ServerError};

use crate::fleet::Fleet;
use crate::judge::Terms;
use crate::log::Log;
use crate::worker::Store;

/// Servers that run.
pub trait Topology: Send + Sync {
    /// What a worker contends in.
    fn store(&self, worker: usize) -> Store;

    /// How long the store keeps everybody else out after it has heard of an owner.
    fn lease(&self) -> Duration {
        LEASE
    }

    /// How long an owner can go on without a renewal: less by the margin.
    fn belief(&self) -> Duration {
        self.lease() - (Duration::from_millis(5) + self.lease() / 500)
    }

    /// Whether who was forgotten may be remembered again.
    fn returns(&self) -> bool {
        false
    }

    /// How many times more goes wrong at a time where it takes long to mend anything.
    fn crowd(&self) -> usize {
        1
    }

    /// What its judges hold it to.
    fn terms(&self) -> Terms {
        Terms {
            lease: self.lease(),
            belief: self.belief(),
            returns: self.returns(),
        }
    }

    /// What can happen, beside what happens to the workers themselves.
    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>>;

    /// Which sessions have which places in the queues, where the store can tell: who stands in the
    /// way of all others.
    fn queues(&self) -> Option<String> {
        None
    }

    /// Brings everything back, and waits until it is well.
    ///
    /// # Errors
    /// When it cannot be brought back.
    fn mend(&self) -> Result<(), ServerError>;
}

/// Of all stores but ZooKeeper.
const LEASE: Duration = Duration::from_millis(1_500);

/// The mutexes of which workers tell when they are granted, and the schedule beside them.
const NAMES: [&str; 4] = ["lock", "lead", "again", "plan"];

/// How a URL says so.
const TERMS: &str = "ttl=500ms&transition=1s";

/// How many workers there are.
pub const WORKERS: usize = 4;

/// The stores that can be asked for.
pub const ALL: [&str; 12] = [
    "sqlite",
    "redis",
    "grace",
    "sentinel",
    "replicas",
    "cluster",
    "combination",
    "mariadb",
    "galera",
    "postgres",
    "zookeeper",
    "ensemble",
];

/// Starts the topology of this name. Chance decides where it leaves a choice.
///
/// # Errors
/// When there is none of this name, or a server does not start.
pub fn start(
    name: &str,
    directory: &Path,
    chance: &mut Rng,
    log: &Arc<Log>,
) -> Result<Box<dyn Topology>, ServerError> {
    Ok(match name {
        "sqlite" => Box::new(sqlite::SqliteFile::start(directory)?),
        "redis" => Box::new(redis::OneRedis::start()?),
        "grace" => Box::new(grace::Forgetful::start()?),
        "sentinel" => Box::new(sentinel::Sentinels::start(false, log)?),
        "replicas" => Box::new(sentinel::Sentinels::start(true, log)?),
        "cluster" => Box::new(cluster::Cluster::start(log)?),
        "combination" => Box::new(combination::Nodes::start(chance.bool())?),
        "mariadb" => Box::new(sql::Maria::start()?),
        "galera" => Box::new(galera::Nodes::start()?),
        "postgres" => Box::new(sql::Pg::start()?),
        "zookeeper" => Box::new(zookeeper::OneZooKeeper::start()?),
        "ensemble" => Box::new(ensemble::Ensemble::start(chance.bool())?),
        other => {
            let all = ALL.join(", ");
            return Err(ServerError::new(format!(
                "there is no store {other:?}; there are {all}"
            )));
        }
    })
}

/// A server's clock goes ahead by up to three leases, and back again once it has caught up: no token
/// of the time that was skipped is ahead of the clock then.
fn clock_ahead<'a>(
    name: &'static str,
    lease: Duration,
    server: impl Fn(&mut Scene<'_>) -> usize + Send + Sync + 'static,
    servers: &'a [impl std::ops::Deref<Target = Process> + Sync],
) -> Mishap<'a> {
    let happens = move |scene: &mut Scene<'_>| {
        let server = &servers[server(scene)];
        let ahead = lease.mul_f64(scene.chance.f64() * 3.0);
        scene.log.forgetting(|| {
            let set = server.set_clock(ahead);
            // What it reads a moment later, it reads from the new clock.
            sleep(Duration::from_millis(10));
            set
        })?;
        scene.wait(1.0);
        server.set_clock(Duration::ZERO)?;
        sleep(ahead);
        Ok(())
    };
    Mishap::new(name, happens).costing(Cost::Clock)
}

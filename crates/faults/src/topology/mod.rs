//! The stores that are broken, and what can happen to each.

mod cluster;
mod combination;
mod ensemble;
mod redis;
mod sentinel;
mod sql;
mod sqlite;
mod ways;
mod zookeeper;

use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use tenure_testkit::servers::ServerError;

use crate::fleet::Fleet;
use crate::worker::Store;

/// What goes wrong.
type Deed<'a> = Box<dyn Fn(&mut Rng, Duration) -> Result<(), ServerError> + Send + Sync + 'a>;

/// Something that can happen: it breaks something, waits, and mends it.
pub struct Mishap<'a> {
    /// In the words of the report.
    pub name: &'static str,
    /// Whether the store may forget a grant by it, or end a lease early: docs/guarantees.md then
    /// allows two owners for at most one lease.
    pub forgets: bool,
    /// Does it, for so long.
    pub happens: Deed<'a>,
}

impl<'a> Mishap<'a> {
    /// One by which nothing is forgotten.
    pub fn new(
        name: &'static str,
        happens: impl Fn(&mut Rng, Duration) -> Result<(), ServerError> + Send + Sync + 'a,
    ) -> Self {
        Self {
            name,
            forgets: false,
            happens: Box::new(happens),
        }
    }

    /// By this one something may be forgotten.
    #[must_use]
    pub fn forgetting(mut self) -> Self {
        self.forgets = true;
        self
    }
}

impl std::fmt::Debug for Mishap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mishap")
            .field("name", &self.name)
            .field("forgets", &self.forgets)
            .finish_non_exhaustive()
    }
}

/// Servers that run.
pub trait Topology: Send + Sync {
    /// What a worker contends in.
    fn store(&self, worker: usize) -> Store;

    /// How long an owner can go on without a renewal.
    fn lease(&self) -> Duration {
        LEASE
    }

    /// What can happen, beside what happens to the workers themselves.
    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>>;

    /// Brings everything back, and waits until it is well.
    ///
    /// # Errors
    /// When it cannot be brought back.
    fn mend(&self) -> Result<(), ServerError>;
}

/// Of all stores but ZooKeeper.
const LEASE: Duration = Duration::from_millis(1_500);

/// How a URL says so.
const TERMS: &str = "ttl=500ms&transition=1s";

/// How many workers there are.
pub const WORKERS: usize = 4;

/// The stores that can be asked for.
pub const ALL: [&str; 9] = [
    "sqlite",
    "redis",
    "sentinel",
    "cluster",
    "combination",
    "mariadb",
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
) -> Result<Box<dyn Topology>, ServerError> {
    Ok(match name {
        "sqlite" => Box::new(sqlite::SqliteFile::start(directory)?),
        "redis" => Box::new(redis::OneRedis::start()?),
        "sentinel" => Box::new(sentinel::Sentinels::start()?),
        "cluster" => Box::new(cluster::Cluster::start()?),
        "combination" => Box::new(combination::Nodes::start(chance.bool())?),
        "mariadb" => Box::new(sql::Maria::start()?),
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

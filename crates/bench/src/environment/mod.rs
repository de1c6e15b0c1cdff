//! The servers, started for the run, and what they have used so far.

mod machine;
mod processes;
mod store;

pub use machine::Machine;
pub use processes::{connections, cpu_time, pin, processors};
pub use store::Store;

use tempfile::TempDir;
use tenure_testkit::servers::{MariaDb, Postgres, Redis, ZooKeeper};

use crate::Result;

/// A store that is ready to be used.
#[derive(Debug)]
pub struct RunningStore {
    store: Store,
    server: Server,
}

#[derive(Debug)]
enum Server {
    None,
    /// In memory, so that no disk is measured.
    Directory(TempDir),
    Redis(Redis),
    Postgres(Postgres),
    MariaDb(MariaDb),
    ZooKeeper(ZooKeeper),
}

impl RunningStore {
    /// Starts the server of this store, with room for many clients.
    pub fn start(store: Store) -> Result<Self> {
        Self::start_with(store, Disk::LeftAlone)
    }

    /// The same, with commits that wait for the disk or do not, where the store is SQL.
    pub fn start_with(store: Store, disk: Disk) -> Result<Self> {
        let (fsync, flush) = match disk {
            Disk::LeftAlone => ("off", "2"),
            Disk::WaitedFor => ("on", "1"),
        };
        let server = match store {
            Store::Memory => Server::None,
            Store::Sqlite => Server::Directory(match TempDir::new_in("/dev/shm") {
                Ok(directory) => directory,
                Err(_) => TempDir::new()?,
            }),
            Store::Redis => Server::Redis(Redis::start()?),
            Store::Postgres => {
                let server = Postgres::builder().set("max_connections", "1000");
                Server::Postgres(server.set("fsync", fsync).start()?)
            }
            Store::Mariadb => {
                let server = MariaDb::builder().set("max_connections", "1000");
                let server = server.set("innodb_flush_log_at_trx_commit", flush);
                Server::MariaDb(server.start()?)
            }
            Store::Zookeeper => Server::ZooKeeper(ZooKeeper::start()?),
        };
        Ok(Self { store, server })
    }

    /// Which store it is.
    pub fn store(&self) -> Store {
        self.store
    }

    /// Its URL as Tenure reads it, with a short or the usual lease.
    pub fn url(&self, lease: Lease) -> String {
        let url = match &self.server {
            Server::None => "memory:".to_owned(),
            Server::Directory(directory) => {
                format!("sqlite:{}", directory.path().join("bench.db").display())
            }
            Server::Redis(redis) => format!("redis://127.0.0.1:{}", redis.port()),
            Server::Postgres(postgres) => postgres.url(),
            Server::MariaDb(mariadb) => mariadb.url(),
            Server::ZooKeeper(zookeeper) => format!("zookeeper://127.0.0.1:{}", zookeeper.port()),
        };
        match (lease, self.store) {
            (Lease::Usual, _) => url,
            (Lease::Short, Store::Zookeeper) => format!("{url}?session_timeout=2s"),
            (Lease::Short, _) => format!("{url}?ttl=1s&transition=1s"),
        }
    }

    fn pid(&self) -> Option<i32> {
        match &self.server {
            Server::None | Server::Directory(_) => None,
            Server::Redis(server) => server.pid(),
            Server::Postgres(server) => server.pid(),
            Server::MariaDb(server) => server.pid(),
            Server::ZooKeeper(server) => server.pid(),
        }
    }

    /// The processor time that the server has used so far, in nanoseconds; `None` where there is
    /// no server.
    pub fn cpu(&self) -> Option<u64> {
        self.pid().map(cpu_time)
    }

    /// Keeps the server on these processors.
    pub fn pin(&self, processors: &[usize]) -> Result<()> {
        self.pid().map_or(Ok(()), |pid| pin(Some(pid), processors))
    }

    /// How long EVALSHA has taken so far in Redis, in microseconds, and how often it was called.
    pub fn evalsha(&self) -> Option<(u64, u64)> {
        let stats = self.info("commandstats")?;
        let mut lines = stats.lines();
        let line = lines.find(|line| line.starts_with("cmdstat_evalsha:"));
        let number = |key: &str| {
            let mut parts = line.unwrap_or_default().split([':', ',']);
            let number = parts.find_map(|part| part.strip_prefix(key)?.parse().ok());
            // Before the first there is no line.
            number.unwrap_or(0)
        };
        Some((number("usec="), number("calls=")))
    }

    /// What Redis has in memory, in bytes.
    pub fn redis_memory(&self) -> Option<u64> {
        let info = self.info("memory")?;
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        line?.trim().parse().ok()
    }

    fn info(&self, part: &str) -> Option<String> {
        let Server::Redis(redis) = &self.server else {
            return None;
        };
        redis.command(&["INFO", part]).ok()
    }

    /// How many requests ZooKeeper has received so far.
    pub fn zookeeper_requests(&self) -> Option<u64> {
        let Server::ZooKeeper(zookeeper) = &self.server else {
            return None;
        };
        let answer = zookeeper.word("mntr").ok()?;
        let mut lines = answer.lines();
        let number = lines.find_map(|line| line.strip_prefix("zk_packets_received"));
        number?
            .trim()
            .parse::<f64>()
            .ok()
            .map(|number| number as u64)
    }
}

/// Whether the server waits for its disk before it answers that something is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// It does not, so that no disk is measured.
    LeftAlone,
    /// It does, as servers do where nothing is set.
    WaitedFor,
}

/// For how long a grant lasts without a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// As it is where nothing is set.
    Usual,
    /// [`SHORT`], renewed every second; a session of two seconds.
    Short,
}

/// The length of [`Lease::Short`] in nanoseconds.
pub const SHORT: u64 = 2_000_000_000;

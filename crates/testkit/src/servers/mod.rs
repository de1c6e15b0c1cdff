//! Real servers for tests: Redis, MariaDB or MySQL, PostgreSQL and ZooKeeper, and a proxy that breaks the
//! network between them and their clients.
//!
//! Each launcher starts the installed program in a directory of its own, on a port of its own,
//! and returns when the server answers in its own protocol. As root it runs the server as
//! another user. A program that is not installed is an error that says how to get it: tests fail,
//! they are not skipped.
//!
//! ```no_run
//! use tenure_testkit::servers::Redis;
//!
//! let redis = Redis::builder().durable().start()?;
//! redis.command(&["SET", "a", "1"])?;
//! redis.restart()?; // kill -9, same port, same data
//! assert_eq!(redis.command(&["GET", "a"])?, "1");
//! redis.pause()?; // accepts connections, answers nothing
//! redis.resume()?;
//! # Ok::<(), tenure_testkit::servers::ServerError>(())
//! ```
//!
//! Nothing survives the test process: dropping a launcher kills its server and removes its
//! directory, and a watchdog does it for a process that was killed. What stays in the temporary
//! directory on purpose are the initialised data directories of the SQL servers, which later
//! runs copy, and the lock files that reserve ports.

mod certificates;
mod error;
mod extras;
pub mod find;
mod galera;
mod home;
mod mariadb;
mod mysql;
mod pgpool;
mod port;
mod postgres;
mod process;
mod proxy;
mod redis;
mod router;
mod template;
mod tree;
pub mod wait;
mod zookeeper;

pub use certificates::Certificates;
pub use error::ServerError;
pub use galera::Galera;
pub use mariadb::{MariaDb, MariaDbBuilder};
pub use pgpool::Pgpool;
pub use port::Port;
pub use postgres::{Postgres, PostgresBuilder};
pub use process::Process;
pub use proxy::{Flow, Proxy, Speech, Way};
pub use redis::{
    Redis, RedisBuilder, RedisCluster, RedisClusterBuilder, RedisSentinel, RedisSentinelBuilder,
    Sentinel,
};
pub use router::Router;
pub use zookeeper::{ZooKeeper, ZooKeeperBuilder, ZooKeeperEnsemble};

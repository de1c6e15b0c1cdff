//! The stores: each a folder with the same rooms; `docs/architecture.md` names them.
//!
//! | scheme | store | cargo feature |
//! | --- | --- | --- |
//! | `memory:` | this process's memory | always there |
//! | `sqlite:` | a file, for the processes of one Linux host | `sqlite` |
//! | `mysql:`, `mariadb:` | MySQL, MariaDB | `mysql` |
//! | `postgres:`, `postgresql:` | PostgreSQL | `postgres` |
//! | `redis://`, `rediss://` | one Redis server, plain or over TLS | `redis` |
//! | `redis+unix:` | one Redis server behind a Unix socket | `redis` |
//! | `redis+sentinel://`, `rediss+sentinel://` | the master that sentinels name | `redis` |
//! | `redis+cluster://`, `rediss+cluster://` | a Redis Cluster | `redis` |
//! | `zookeeper://`, `zookeeper+tls://` | ZooKeeper, shared with Curator, plain or over TLS | `zookeeper` |

mod code;
pub(crate) mod combination;
mod kit;
pub mod memory;
#[cfg(feature = "mysql")]
pub mod mysql;
mod options;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod sql;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
pub mod sqlite;
#[cfg(any(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "sqlite",
    feature = "zookeeper"
))]
mod typed;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;

pub use options::StoreOptions;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub use sql::TlsMode;

use crate::backend::url::Scheme;
use crate::backend::{AnyBackend, AnyHoldStore};
use crate::clock::Clock;
use crate::error::Result;

/// A scheme behind the cargo feature of this name.
macro_rules! scheme {
    ($name:literal, $feature:literal) => {
        Scheme {
            name: $name,
            feature: Some($feature),
            compiled: cfg!(feature = $feature),
        }
    };
}

/// Every scheme that this crate knows.
pub const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "memory",
        feature: None,
        compiled: true,
    },
    scheme!("sqlite", "sqlite"),
    scheme!("mysql", "mysql"),
    scheme!("mariadb", "mysql"),
    scheme!("postgres", "postgres"),
    scheme!("postgresql", "postgres"),
    scheme!("redis", "redis"),
    scheme!("rediss", "redis"),
    scheme!("redis+unix", "redis"),
    scheme!("redis+sentinel", "redis"),
    scheme!("rediss+sentinel", "redis"),
    scheme!("redis+cluster", "redis"),
    scheme!("rediss+cluster", "redis"),
    scheme!("zookeeper", "zookeeper"),
    scheme!("zookeeper+tls", "zookeeper"),
];

/// Opens the store that `options` name.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for an unknown scheme or option,
/// naming what is known; otherwise what the store's own opening fails with.
///
/// # Cancel safety
/// Dropped, whatever was opened is closed.
pub async fn open(options: &StoreOptions, clock: Clock) -> Result<AnyBackend> {
    let scheme = Scheme::find(SCHEMES, options.url()?.scheme())?;
    match scheme.name {
        "memory" => memory::open(options, clock).map(AnyBackend::new),
        #[cfg(all(feature = "sqlite", target_os = "linux"))]
        "sqlite" => sqlite::open(options).await.map(AnyBackend::new),
        #[cfg(all(feature = "sqlite", not(target_os = "linux")))]
        "sqlite" => Err(crate::error::Error::invalid(
            "the SQLite store needs Linux: it measures leases on a clock that all processes of \
             the host share, and tells one boot from another",
        )),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => mysql::open(options, clock).await.map(AnyBackend::new),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::open(options, clock).await.map(AnyBackend::new),
        #[cfg(feature = "redis")]
        name if name.starts_with("redis") => {
            let redis = redis::open(options, clock).await?;
            let holds = AnyHoldStore::new(redis::RedisHash::of(redis.clone()));
            Ok(AnyBackend::new(redis).with_holds(holds))
        }
        #[cfg(feature = "zookeeper")]
        "zookeeper" | "zookeeper+tls" => zookeeper::open(options, clock).await.map(AnyBackend::new),
        _ => unreachable!("{:?} is in the table of schemes", scheme.name),
    }
}

/// Whether `options` name a store that this crate can open, with options that the
/// store knows. No I/O.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid), naming what is known.
pub fn check(options: &StoreOptions) -> Result<()> {
    let scheme = Scheme::find(SCHEMES, options.url()?.scheme())?;
    match scheme.name {
        "memory" => memory::open(options, Clock::boot()).map(drop),
        #[cfg(all(feature = "sqlite", target_os = "linux"))]
        "sqlite" => sqlite::check_options(options),
        _ => setup(options).map(drop),
    }
}

/// Opens the reentrant locks of the store that `options` name.
///
/// # Errors
/// As [`open`]; and [`Invalid`](crate::ErrorKind::Invalid) for a store that has
/// no layout for them.
///
/// # Cancel safety
/// Dropped, whatever was opened is closed.
pub async fn open_holds(options: &StoreOptions, clock: Clock) -> Result<AnyHoldStore> {
    let backend = open(options, clock).await?;
    match backend.holds() {
        Some(holds) => Ok(holds.clone()),
        None => Err(crate::error::Error::invalid(format!(
            "this needs a Redis server, as in \"redis://10.0.0.1:6379\", not {:?}",
            options.url()?.scheme()
        ))),
    }
}

/// The same of one Redis server, which may be away: it is being connected to in
/// the background, and calls say why not.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for options that make no sense.
pub(crate) fn begin_holds(options: &StoreOptions, clock: Clock) -> Result<AnyHoldStore> {
    Scheme::find(SCHEMES, options.url()?.scheme())?;
    #[cfg(feature = "redis")]
    return redis::RedisHash::begin(options, clock).map(AnyHoldStore::new);
    #[cfg(not(feature = "redis"))]
    {
        drop(clock);
        Err(crate::error::Error::invalid("this needs a Redis server"))
    }
}

/// Sets up the store that `options` name: makes the file, the tables or the nodes
/// that are missing. What is there is left as it is.
///
/// # Errors
/// What [`open`] fails with, and [`Denied`](crate::ErrorKind::Denied) when this
/// user may not make them.
///
/// # Cancel safety
/// Dropped, some of it may have been made. It can be called again.
pub async fn prepare(options: &StoreOptions, clock: Clock) -> Result<()> {
    use crate::backend::Backend as _;

    let scheme = Scheme::find(SCHEMES, options.url()?.scheme())?;
    match scheme.name {
        #[cfg(feature = "zookeeper")]
        "zookeeper" | "zookeeper+tls" => zookeeper::prepare(options, clock).await,
        // Opening makes what is missing.
        _ => open(options, clock).await?.close().await,
    }
}

/// What sets up the store that `options` name, for a person to read and, where
/// a service may not do it itself, to run.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for an unknown scheme, or options
/// that the store does not know.
pub fn setup(options: &StoreOptions) -> Result<String> {
    let scheme = Scheme::find(SCHEMES, options.url()?.scheme())?;
    match scheme.name {
        #[cfg(all(feature = "sqlite", target_os = "linux"))]
        "sqlite" => Ok(sqlite::SETUP.into()),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => mysql::schema(options),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::schema(options),
        #[cfg(feature = "redis")]
        name if name.starts_with("redis") => redis::setup(options),
        #[cfg(feature = "zookeeper")]
        "zookeeper" | "zookeeper+tls" => zookeeper::commands(options),
        _ => Ok("-- nothing has to be set up".into()),
    }
}

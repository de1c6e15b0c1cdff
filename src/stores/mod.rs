//! The stores: each a folder with the same file names.
//!
//! | scheme | store | cargo feature |
//! | --- | --- | --- |
//! | `memory:` | this process's memory | always there |
//! | `mysql:`, `mariadb:` | MySQL, MariaDB | `mysql` |
//! | `postgres:`, `postgresql:` | PostgreSQL | `postgres` |

pub mod memory;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod sql;

use crate::backend::AnyBackend;
use crate::backend::url::{Scheme, StoreUrl};
use crate::clock::Clock;
use crate::error::Result;

/// Every scheme that this crate knows.
pub const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "memory",
        feature: None,
        compiled: true,
    },
    Scheme {
        name: "mysql",
        feature: Some("mysql"),
        compiled: cfg!(feature = "mysql"),
    },
    Scheme {
        name: "mariadb",
        feature: Some("mysql"),
        compiled: cfg!(feature = "mysql"),
    },
    Scheme {
        name: "postgres",
        feature: Some("postgres"),
        compiled: cfg!(feature = "postgres"),
    },
    Scheme {
        name: "postgresql",
        feature: Some("postgres"),
        compiled: cfg!(feature = "postgres"),
    },
];

/// Opens the store that `url` names.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for an unknown scheme or option,
/// naming what is known; otherwise what the store's own opening fails with.
pub async fn open(url: &StoreUrl, clock: Clock) -> Result<AnyBackend> {
    let scheme = Scheme::find(SCHEMES, url.scheme())?;
    match scheme.name {
        "memory" => memory::open(url, clock).map(AnyBackend::new),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => mysql::open(url, clock).await.map(AnyBackend::new),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::open(url, clock).await.map(AnyBackend::new),
        _ => unreachable!("{:?} is in the table of schemes", scheme.name),
    }
}

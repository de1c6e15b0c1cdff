//! The stores: each a folder with the same file names.
//!
//! | scheme | store | cargo feature |
//! | --- | --- | --- |
//! | `memory:` | this process's memory | always there |
//! | `redis://`, `rediss://` | one Redis server, plain or over TLS | `redis` |
//! | `redis+unix:` | one Redis server behind a Unix socket | `redis` |
//! | `redis+sentinel://`, `rediss+sentinel://` | the master that sentinels name | `redis` |
//! | `redis+cluster://`, `rediss+cluster://` | a Redis Cluster | `redis` |

pub mod memory;
#[cfg(feature = "redis")]
pub mod redis;

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
    redis_scheme("redis"),
    redis_scheme("rediss"),
    redis_scheme("redis+unix"),
    redis_scheme("redis+sentinel"),
    redis_scheme("rediss+sentinel"),
    redis_scheme("redis+cluster"),
    redis_scheme("rediss+cluster"),
];

const fn redis_scheme(name: &'static str) -> Scheme {
    Scheme {
        name,
        feature: Some("redis"),
        compiled: cfg!(feature = "redis"),
    }
}

/// Opens the store that `url` names.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for an unknown scheme or option,
/// naming what is known; otherwise what the store's own opening fails with.
pub async fn open(url: &StoreUrl, clock: Clock) -> Result<AnyBackend> {
    let scheme = Scheme::find(SCHEMES, url.scheme())?;
    match scheme.name {
        "memory" => memory::open(url, clock).map(AnyBackend::new),
        #[cfg(feature = "redis")]
        name if name.starts_with("redis") => {
            redis::Redis::open(url, clock).await.map(AnyBackend::new)
        }
        _ => unreachable!("{:?} is in the table of schemes", scheme.name),
    }
}

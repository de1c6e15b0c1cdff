//! What is compared: Tenure's locks, the bare statements that a store cannot do without, and peers.

mod flock;
mod get_lock;
mod kind;
mod mysql_row;
mod postgres_advisory;
mod postgres_notify;
mod postgres_row;
mod redis_before;
mod redis_evalsha;
mod redis_push;
mod reentrant;
mod rslock;
mod sqlite_inline;
mod tenure;
mod zookeeper_recipe;

pub use flock::Flock;
pub use get_lock::GetLock;
pub use kind::Kind;
pub use mysql_row::MysqlRow;
pub use postgres_advisory::PostgresAdvisory;
pub use postgres_notify::PostgresNotify;
pub use postgres_row::{PostgresRow, PostgresRowForgetful};
pub use redis_before::RedisBefore;
pub use redis_evalsha::RedisEvalsha;
pub use redis_push::RedisPush;
pub use reentrant::Reentrant;
pub use rslock::Rslock;
pub use sqlite_inline::SqliteInline;
pub use tenure::Tenure;
pub use zookeeper_recipe::ZookeeperRecipe;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection};

use crate::Result;

/// One kind of lock on one store, connected. Clones share the connection.
pub trait Locks: Clone + Send + Sync + Sized + 'static {
    /// A lock of this kind.
    type Lock: Lock;

    /// Connects, and makes what has to be there.
    fn open(url: &str) -> impl Future<Output = Result<Self>> + Send;

    /// The lock of this name, which was not taken through it yet.
    fn lock(&self, name: &str) -> Result<Self::Lock>;
}

/// A lock that is taken and freed in turns.
pub trait Lock: Send + 'static {
    /// Takes it, and waits for as long as another has it.
    fn take(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// Frees it; returns when the store has answered.
    fn free(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// An id that no other bid has.
fn unique_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// The URL without Tenure's own settings, for drivers that do not know them.
fn plain(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

/// A connection to PostgreSQL, where this `table` is made.
async fn postgres(url: &str, table: &'static str) -> Result<PgConnection> {
    let mut connection = PgConnection::connect(plain(url)).await?;
    // Two that make a table at once meet in the catalogue.
    connection.execute("SELECT pg_advisory_lock(0)").await?;
    connection.execute(table).await?;
    connection.execute("SELECT pg_advisory_unlock(0)").await?;
    Ok(connection)
}

/// The path that a URL of the embedded store names.
fn path(url: &str) -> &str {
    let url = plain(url);
    url.strip_prefix("sqlite:").unwrap_or(url)
}

/// For how long a bare lock or a peer is granted: Tenure's lease by the same URL. None is renewed
/// while it is measured.
fn lease(url: &str) -> Duration {
    let seconds = |key: &str, usual: u64| {
        let value = url
            .split(['?', '&'])
            .find_map(|part| part.strip_prefix(key));
        let value = value.and_then(|value| value.strip_suffix('s'));
        value.and_then(|value| value.parse().ok()).unwrap_or(usual)
    };
    Duration::from_secs(seconds("ttl=", 10) + seconds("transition=", 6))
}

//! [`InRedis`] and [`fenced_set`]: the highest tokens in Redis.

use std::fmt;
use std::sync::LazyLock;

use redis::aio::ConnectionLike;
use redis::{Script, ToRedisArgs};
use tenure::model::FencingToken;

use super::remembered::Remembered;
use super::{HighestSeen, judged};
use crate::admitted::Admitted;
use crate::refusal::Refusal;

/// Answers with the highest token, ours included; if it is ours, writes what there is to write.
static SEE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("see.lua")));

/// The highest tokens in the application's own Redis, shared by all servers of the resource. One
/// script for each request; the key of the resource `stock` is `{stock}:fence`.
///
/// The connection is any that can be cloned. Its limit for an answer should be below that of the
/// gate.
///
/// The fence is as durable as the server: it may be lost by a fail-over to a replica that lags, by a
/// restart without `appendonly`, or when keys are evicted. Each server of the resource also remembers
/// what it has seen, and brings it back; one that begins after the loss, and [`fenced_set`], may
/// admit an old owner once more.
#[derive(Clone)]
pub struct InRedis<C> {
    connection: C,
    remembered: Remembered,
}

impl<C> InRedis<C>
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    /// On clones of this connection.
    #[must_use]
    pub fn new(connection: C) -> Self {
        let remembered = Remembered::default();
        Self {
            connection,
            remembered,
        }
    }
}

impl<C> fmt::Debug for InRedis<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InRedis").finish_non_exhaustive()
    }
}

impl<C> HighestSeen for InRedis<C>
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<Admitted, Refusal> {
        let mut script = SEE.key(fence_of(resource));
        script.arg(self.remembered.at_least(resource, token).value());
        let newest: String = script.invoke_async(&mut self.connection.clone()).await?;
        let newest = newest.parse();
        if let Ok(newest) = newest {
            self.remembered.saw(resource, newest);
        }
        judged(resource, token, newest)
    }
}

/// Sets `key` to `value` unless a higher token has been seen for it: check and write in one script,
/// so that no other comes between. The fence is the one of [`InRedis`] for the resource `key`.
///
/// ```no_run
/// # async fn write(mut connection: redis::aio::MultiplexedConnection, admitted: tenure_axum::Admitted) -> Result<(), tenure_axum::Refusal> {
/// tenure_axum::fenced_set(&mut connection, "account:7", admitted.token(), "80").await?;
/// # Ok(())
/// # }
/// ```
///
/// In a cluster both keys lie on one server if `key` has no braces, or a hash tag.
///
/// # Errors
/// [`Refusal::Stale`] with the highest token, and nothing is written; [`Refusal::Failed`] when
/// Redis fails, and when the fence is not a number.
///
/// # Cancel safety
/// Dropped, the value may have been written or not.
pub async fn fenced_set(
    connection: &mut impl ConnectionLike,
    key: &str,
    token: FencingToken,
    value: impl ToRedisArgs,
) -> Result<(), Refusal> {
    let mut script = SEE.key(fence_of(key));
    script.key(key).arg(token.value()).arg(value);
    let newest: String = script.invoke_async(connection).await?;
    judged(key, token, newest.parse()).map(drop)
}

/// On the same server of a cluster as `key` itself.
fn fence_of(key: &str) -> String {
    if key.contains('{') {
        format!("{key}:fence")
    } else {
        format!("{{{key}}}:fence")
    }
}

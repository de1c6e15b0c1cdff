//! [`HighestSeen`]: where the highest token of each resource is kept.

pub(crate) mod memory;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod remembered;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) mod sql;

use tenure::model::FencingToken;

use crate::admitted::Admitted;
use crate::refusal::Refusal;

/// Remembers the highest token that each resource has seen.
///
/// What an implementation must keep: comparing and remembering are one step, also for requests
/// that come at the same moment and, if several servers share it, from all of them; the highest of
/// a resource never falls, and is not forgotten while an old owner may still come; equal tokens are
/// admitted; all 63 bits count.
pub trait HighestSeen: Send + Sync + 'static {
    /// Admits `token`, and remembers it, unless a higher one has been seen.
    ///
    /// Errors: [`Refusal::Stale`] with the highest; others when that is not known.
    ///
    /// Cancel safety: dropped, the token may have been remembered or not.
    fn admit(
        &self,
        resource: &str,
        token: FencingToken,
    ) -> impl Future<Output = Result<Admitted, Refusal>> + Send;
}

/// The answer of a store that says which token it holds after it has seen `token`.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
fn judged(
    resource: &str,
    token: FencingToken,
    newest: tenure::Result<FencingToken>,
) -> Result<Admitted, Refusal> {
    match newest {
        Ok(newest) if newest == token => Ok(Admitted::new(resource, token)),
        Ok(newest) => Err(Refusal::Stale { token, newest }),
        // Another has written what is no token.
        Err(error) => Err(Refusal::Failed(error.into())),
    }
}

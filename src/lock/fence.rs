//! [`Fence`]: the resource's side of fencing.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Outcome};
use crate::model::FencingToken;

/// Remembers the largest token it has admitted and refuses smaller ones.
///
/// Put one before a resource that several owners of a mutex use, and pass it
/// the token with every write: an owner whose time is over cannot write after
/// its successor has. A database does the same with a predicate, see
/// `docs/fencing.md`.
///
/// ```
/// use tenure::lock::Fence;
/// use tenure::model::FencingToken;
///
/// let fence = Fence::new();
/// let (old, new) = (FencingToken::from_store(1)?, FencingToken::from_store(2)?);
/// assert!(fence.admit(old).is_ok());
/// assert!(fence.admit(new).is_ok());
/// let stale = fence.admit(old).unwrap_err();
/// assert_eq!((stale.token(), stale.newest()), (old, new));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Fence(AtomicU64);

impl Fence {
    /// A fence that has admitted nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A fence that has admitted `token`, as the resource remembers it.
    ///
    /// ```
    /// use tenure::lock::Fence;
    /// use tenure::model::FencingToken;
    ///
    /// let (old, kept) = (FencingToken::from_store(6)?, FencingToken::from_store(7)?);
    /// let fence = Fence::starting_at(kept); // after a restart
    /// assert!(fence.admit(old).is_err());
    /// assert!(fence.admit(kept).is_ok());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn starting_at(token: FencingToken) -> Self {
        Self(AtomicU64::new(token.value()))
    }

    /// Admits `token` unless a larger one has been admitted.
    ///
    /// Writes after it in the order of admission: hold the resource's own lock
    /// around both, or check again when writing.
    ///
    /// # Errors
    /// [`StaleToken`] with the larger token.
    pub fn admit(&self, token: FencingToken) -> Result<(), StaleToken> {
        let newest = self.0.fetch_max(token.value(), Ordering::AcqRel);
        if newest <= token.value() {
            return Ok(());
        }
        let newest = FencingToken::from_value(newest).expect("it was a token's value");
        Err(StaleToken { token, newest })
    }
}

/// A token that came after a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleToken {
    token: FencingToken,
    newest: FencingToken,
}

impl StaleToken {
    /// The one that was refused.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// The largest that had been admitted before it.
    #[must_use]
    pub fn newest(&self) -> FencingToken {
        self.newest
    }
}

impl fmt::Display for StaleToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the token {} is stale: {} has been seen",
            self.token, self.newest
        )
    }
}

impl std::error::Error for StaleToken {}

impl From<StaleToken> for Error {
    fn from(stale: StaleToken) -> Self {
        Self::new(ErrorKind::Lost, Outcome::DidNot)
            .with_message(stale.to_string())
            .with_source(stale)
    }
}

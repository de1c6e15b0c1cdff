//! [`ContenderId`]: who wants to own, and how ids are made.

use std::fmt;
use std::sync::Arc;

use super::{chance, text};
use crate::error::{Error, Result};

/// The id under which a contender stands in the store.
///
/// At most 128 bytes, no control characters, no white space at either end, and
/// no `@@` (which separates the fields of the shared Redis messages). Ids are
/// compared byte by byte on every store.
///
/// ```
/// use tenure::model::ContenderId;
///
/// assert!(ContenderId::new("0:12345@192.168.1.100").is_ok());
/// assert!(ContenderId::new("left@@right").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContenderId(Arc<str>);

impl ContenderId {
    /// The longest id, in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Checks and keeps `id`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), with the rule that was broken.
    pub fn new(id: impl AsRef<str>) -> Result<Self> {
        let id = id.as_ref();
        text::check("contender id", id, Self::MAX_BYTES)?;
        if id.contains("@@") {
            return Err(Error::invalid(format!(
                "a contender id must not contain '@@': {id:?}"
            )));
        }
        Ok(Self(id.into()))
    }

    /// One that is of the rules already.
    pub(super) fn known_to_be_one(id: &str) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text::text_value!(ContenderId);

/// Makes contender ids.
///
/// Two contenders may carry one id: they are kept apart by their nonces and
/// fencing tokens, and never both own. But a person who reads the store cannot
/// tell them apart, and where a store has no room for a nonce (MySQL), an answer
/// that was lost costs a lease. So let every call return another id, and say so.
///
/// ```
/// use tenure::model::{ContenderId, ContenderIdGenerator, Uuid};
///
/// #[derive(Debug)]
/// struct Pod(String);
///
/// impl ContenderIdGenerator for Pod {
///     fn generate(&self) -> tenure::Result<ContenderId> {
///         ContenderId::new(format!("{}/{}", self.0, Uuid.generate()?))
///     }
///
///     fn unique_per_call(&self) -> bool {
///         true // 122 random bits of the operating system's
///     }
/// }
/// assert!(Pod("billing-7f9".into()).generate()?.as_str().starts_with("billing-7f9/"));
/// # Ok::<(), tenure::Error>(())
/// ```
pub trait ContenderIdGenerator: fmt::Debug + Send + Sync + 'static {
    /// A new id.
    ///
    /// # Errors
    /// Whatever keeps the generator from making a valid id.
    fn generate(&self) -> Result<ContenderId>;

    /// Whether no two calls, of this generator or of any other in the fleet,
    /// ever return the same id: not in another process, another container or a
    /// fork of this one either. A constant does not, nor does a host name, a
    /// process id, a counter, or a random number from a generator that a fork
    /// copies.
    ///
    /// Where a store has no room for a nonce, a bid whose id is its own finds
    /// its grant again after a lost answer, and in Redis such an owner costs a key
    /// less. **Two processes that both say so of one id both own.** Unless it is overridden this is false, which is always
    /// safe: such a bid never takes a grant for its own, and the orphan of a
    /// lost answer waits out its lease.
    fn unique_per_call(&self) -> bool {
        false
    }
}

/// Ids of 32 hexadecimal digits: a random UUID without its dashes.
///
/// ```
/// use tenure::model::{ContenderIdGenerator, Uuid};
///
/// assert_eq!(Uuid.generate()?.as_str().len(), 32);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Uuid;

impl ContenderIdGenerator for Uuid {
    fn generate(&self) -> Result<ContenderId> {
        ContenderId::new(chance::uuid().simple().to_string())
    }

    fn unique_per_call(&self) -> bool {
        true
    }
}

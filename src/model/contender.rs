//! [`ContenderId`]: who wants to own, and how ids are made.

use std::fmt;
use std::sync::Arc;

use super::text;
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

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text::text_value!(ContenderId);

/// Makes contender ids.
///
/// Every call must return an id that no other contender of the fleet carries.
/// Two live contenders with one id are kept apart by their fencing tokens, but
/// a person who reads the store could not tell them apart.
///
/// ```
/// use tenure::model::{ContenderId, ContenderIdGenerator};
///
/// #[derive(Debug)]
/// struct Pod(String);
///
/// impl ContenderIdGenerator for Pod {
///     fn generate(&self) -> tenure::Result<ContenderId> {
///         ContenderId::new(format!("{}/{:08x}", self.0, fastrand::u32(..)))
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
        ContenderId::new(uuid::Uuid::new_v4().simple().to_string())
    }
}

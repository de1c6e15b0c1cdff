//! [`MutexName`]: what is being owned.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::text;
use crate::error::{Error, Result};

/// The name of a mutex: what a lock, a leader or a schedule is about.
///
/// At most 66 bytes (the width of the shared SQL column), no control
/// characters, no white space at either end, and not beginning with `}`
/// (Redis Cluster would see an empty hash tag and scatter the mutex's keys).
/// Names are compared byte by byte on every store. One that was
/// [found](Self::found) in a store may break these rules.
///
/// ```
/// use tenure::model::MutexName;
///
/// assert_eq!(MutexName::new("order-settlement")?.as_str(), "order-settlement");
/// let error = MutexName::new(" padded").unwrap_err();
/// assert!(error.to_string().contains("white space"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone)]
pub struct MutexName(Arc<str>, Option<Arc<[u8]>>);

impl MutexName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 66;

    /// Checks and keeps `name`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), with the rule that was broken.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        text::check("mutex name", name, Self::MAX_BYTES)?;
        if name.starts_with('}') {
            return Err(Error::invalid(format!(
                "a mutex name must not begin with '}}': {name:?}"
            )));
        }
        Ok(Self(name.into(), None))
    }

    /// A name as a store has it, also one that [`new`](Self::new) refuses:
    /// peers in other languages and people at a database's prompt can make
    /// such names. Listings show them and a revocation takes them; nobody can
    /// contend for them. Bytes that are no UTF-8 are shown as `\xNN`.
    ///
    /// ```
    /// use tenure::model::MutexName;
    ///
    /// assert_eq!(MutexName::found("fine").fault(), None);
    /// let padded = MutexName::found(" padded");
    /// assert!(padded.fault().unwrap().contains("white space"));
    /// assert_eq!(MutexName::found(b"a\xff").as_str(), r"a\xff");
    /// ```
    #[must_use]
    pub fn found(name: impl AsRef<[u8]>) -> Self {
        let bytes = name.as_ref();
        match std::str::from_utf8(bytes) {
            Ok(text) => Self(text.into(), None),
            Err(_) => Self(text::shown(bytes).into(), Some(bytes.into())),
        }
    }

    /// Something that lies where names lie and is none, shown as `shown`. No
    /// name has the bytes `raw`.
    #[cfg(feature = "zookeeper")]
    pub(crate) fn stray(shown: &str, raw: &[u8]) -> Self {
        Self(shown.into(), Some(raw.into()))
    }

    /// Which rule a [found](Self::found) name breaks; `None` for a name that
    /// can be contended for.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.1.is_some() {
            return Some(format!(
                "a mutex name is UTF-8 text, not {:?}",
                self.as_str()
            ));
        }
        Self::new(self.as_str())
            .err()
            .map(|error| error.to_string())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the store has it as it is shown.
    pub(crate) fn is_text(&self) -> bool {
        self.1.is_none()
    }

    /// The name as the store has it: what names are compared and sorted by.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.1.as_deref().unwrap_or(self.0.as_bytes())
    }
}

impl PartialEq for MutexName {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for MutexName {}

impl PartialOrd for MutexName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MutexName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for MutexName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

text::text_value!(MutexName);

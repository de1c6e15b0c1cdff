//! [`FencingToken`]: the number that lets a resource refuse an old owner.

use std::fmt;
use std::num::NonZeroU64;

use crate::error::{Error, Result};

/// A number that rises with every grant of a mutex.
///
/// Give it to the resource the lock protects; a resource that refuses a token
/// smaller than the largest it has seen cannot be written by an owner whose
/// time is over (see `docs/guarantees.md`).
///
/// A token is the store's own grant number times 1,024 plus the number of the
/// local hand-over, so every token of one remote grant is below all tokens of
/// the next. It stays below 2⁶³, so it fits a signed SQL column. It may exceed
/// 2⁵³, where JSON numbers lose digits, so in JSON it is a string.
///
/// ```
/// use tenure::model::FencingToken;
///
/// let first = FencingToken::from_store(7)?;
/// let handed_on = first.handed_on().unwrap();
/// let next_grant = FencingToken::from_store(8)?;
/// assert!(first < handed_on && handed_on < next_grant);
/// assert_eq!(handed_on.store(), 7);
/// assert_eq!(format!("{handed_on:?}"), "7169 (grant 7, hand-over 1)");
///
/// let column = i64::from(handed_on); // for a signed SQL column, and back
/// assert_eq!(FencingToken::try_from(column)?, handed_on);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroU64);

impl FencingToken {
    /// How many tokens one remote grant has room for.
    pub const PER_GRANT: u64 = 1024;

    /// One more than the largest number a store may use for a grant.
    pub const STORE_LIMIT: u64 = (1 << 63) / Self::PER_GRANT;

    /// One more is kept than the token's value: where there may be a token or none,
    /// the two need no more room than the token.
    const fn of(value: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(value))
    }

    /// The first token of the grant that the store calls `number`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when `number` is too large for
    /// the token to stay below 2⁶³.
    pub fn from_store(number: u64) -> Result<Self> {
        if number >= Self::STORE_LIMIT {
            return Err(Error::invalid(format!(
                "a store's grant number must be below {}, this one is {number}",
                Self::STORE_LIMIT
            )));
        }
        Ok(Self::of(number * Self::PER_GRANT))
    }

    /// The token with this very value, as read back from a resource.
    ///
    /// ```
    /// use tenure::model::FencingToken;
    ///
    /// let seen = FencingToken::from_value(7_169)?;
    /// assert_eq!((seen.store(), seen.hand_over()), (7, 1));
    /// assert_eq!("7169".parse::<FencingToken>()?, seen);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for 2⁶³ and above.
    pub fn from_value(value: u64) -> Result<Self> {
        if value >= 1 << 63 {
            return Err(Error::invalid(format!(
                "a fencing token is below 2^63, not {value}"
            )));
        }
        Ok(Self::of(value))
    }

    /// The number to hand to a resource that only Tenure writes to. Beside
    /// Redisson's fenced lock it is [`store`](Self::store).
    #[must_use]
    pub fn value(self) -> u64 {
        self.0.get() - 1
    }

    /// The store's number for the grant this token belongs to: the one that
    /// others know who share the store's format, such as Redisson's fenced
    /// lock. Hand this to a resource that they write to as well, and make the
    /// lock [with a shared fence](crate::lock::ReentrantOptions::with_shared_fence),
    /// so that no two owners have the same.
    ///
    /// ```
    /// use tenure::model::FencingToken;
    ///
    /// let ours = FencingToken::from_store(41)?;
    /// let redissons = 42; // of its lockAndGetToken()
    /// assert!(ours.store() < redissons && ours.value() > redissons);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn store(self) -> u64 {
        self.value() / Self::PER_GRANT
    }

    /// How often the grant had been handed on inside the process.
    #[must_use]
    pub fn hand_over(self) -> u64 {
        self.value() % Self::PER_GRANT
    }

    /// The token after one more local hand-over; `None` when the grant has no
    /// more and the store must be asked again.
    #[must_use]
    pub fn handed_on(self) -> Option<Self> {
        (self.hand_over() + 1 < Self::PER_GRANT).then(|| Self::of(self.value() + 1))
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl fmt::Debug for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hand_over() {
            0 => write!(f, "{self} (grant {})", self.store()),
            times => write!(f, "{self} (grant {}, hand-over {times})", self.store()),
        }
    }
}

impl From<FencingToken> for u64 {
    fn from(token: FencingToken) -> Self {
        token.value()
    }
}

/// As a signed SQL column holds it: no token is too large for one.
impl From<FencingToken> for i64 {
    fn from(token: FencingToken) -> Self {
        Self::try_from(token.value()).expect("a token is below 2^63")
    }
}

impl TryFrom<u64> for FencingToken {
    type Error = Error;

    /// As [`from_value`](FencingToken::from_value).
    fn try_from(value: u64) -> Result<Self> {
        Self::from_value(value)
    }
}

impl TryFrom<i64> for FencingToken {
    type Error = Error;

    /// As [`from_value`](FencingToken::from_value), of a signed SQL column.
    fn try_from(value: i64) -> Result<Self> {
        u64::try_from(value).map_or_else(
            |_| {
                Err(Error::invalid(format!(
                    "a fencing token is not negative, as {value} is"
                )))
            },
            Self::from_value,
        )
    }
}

impl std::str::FromStr for FencingToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // The parser of the standard library would let a plus sign pass.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let value = text.parse().ok().filter(|_| digits);
        value.map(Self::from_value).unwrap_or_else(|| {
            Err(Error::invalid(format!(
                "a fencing token is a whole number below 2^63, not {text:?}"
            )))
        })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for FencingToken {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for FencingToken {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

//! [`Purpose`]: what a mutex is wanted for.

use std::fmt;

/// What a mutex is wanted for.
///
/// ```
/// use tenure::model::Purpose;
///
/// assert_eq!(Purpose::Leader.to_string(), "leader");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Purpose {
    /// A lock: of any kind, also a reentrant or a combination lock.
    Lock,
    /// The office of a leader.
    Leader,
    /// The office of the one that runs a schedule.
    Schedule,
    /// A service with callbacks.
    Service,
}

impl Purpose {
    /// The same as one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Leader => "leader",
            Self::Schedule => "schedule",
            Self::Service => "service",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

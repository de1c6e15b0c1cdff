//! [`Purpose`]: what a mutex is wanted for.

use std::fmt;

/// What a mutex is wanted for.
///
/// A contender says it in the random part of what it writes to a store, so
/// that a [listing](crate::backend::Entry::purpose) can tell. Nothing else
/// depends on it: who owns does not.
///
/// ```
/// use tenure::model::Purpose;
///
/// assert_eq!(Purpose::Leader.to_string(), "leader");
/// assert!(Purpose::Reentrant.is_lock() && !Purpose::Leader.is_lock());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Purpose {
    /// A lock that is held once at a time.
    Lock,
    /// The office of a leader.
    Leader,
    /// The office of the one that runs a schedule.
    Schedule,
    /// A service with callbacks.
    Service,
    /// A lock that its holder may take again.
    Reentrant,
    /// A lock over several servers, or the part of it on one of them.
    Combination,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Lock,
        Self::Leader,
        Self::Schedule,
        Self::Service,
        Self::Reentrant,
        Self::Combination,
    ];

    /// The same as one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Leader => "leader",
            Self::Schedule => "schedule",
            Self::Service => "service",
            Self::Reentrant => "reentrant",
            Self::Combination => "combination",
        }
    }

    /// Whether it is a lock of any kind, and not an office.
    #[must_use]
    pub fn is_lock(self) -> bool {
        matches!(self, Self::Lock | Self::Reentrant | Self::Combination)
    }

    /// Where a UUID has its version. Ours have none, 0, when the digit after it
    /// says what they are wanted for.
    const VERSION: u32 = 76;
    const DIGIT: u32 = 72;
    const BOTH: u128 = 0xff << Self::DIGIT;

    /// The same bits, except for eight of them, which say this.
    pub(crate) const fn marked_on(self, bits: u128) -> u128 {
        bits & !Self::BOTH | (self.digit() as u128) << Self::DIGIT
    }

    /// What is written for it, 1 to 15. What is written stays: other processes
    /// read it. A number is never used for another purpose.
    pub(crate) const fn digit(self) -> u8 {
        match self {
            Self::Lock => 1,
            Self::Leader => 2,
            Self::Schedule => 3,
            Self::Service => 4,
            Self::Reentrant => 5,
            Self::Combination => 6,
        }
    }

    /// What this digit is written for, as far as this version knows.
    pub(crate) fn of_digit(digit: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.digit() == digit)
    }

    /// What these bits say; `None` of bits that say nothing, or what a later
    /// version knows.
    pub(crate) fn read_from(bits: u128) -> Option<Self> {
        let digit = |at: u32| (bits >> at & 0xf) as u8;
        match digit(Self::VERSION) {
            0 => Self::of_digit(digit(Self::DIGIT)),
            _ => None,
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chance;

    #[test]
    fn each_is_read_as_it_was_written() {
        for purpose in Purpose::ALL {
            for _ in 0..100 {
                let bits = chance::bits();
                let marked = purpose.marked_on(bits);
                assert_eq!(Purpose::read_from(marked), Some(purpose));
                let changed = (bits ^ marked) & !Purpose::BOTH;
                assert_eq!(changed, 0, "all other bits stay");
            }
        }
    }

    #[test]
    fn what_is_written_stays_as_it_is() {
        let written = Purpose::ALL.map(|purpose| {
            let uuid = uuid::Uuid::from_u128(purpose.marked_on(u128::MAX));
            uuid.to_string()[14..18].to_owned()
        });
        assert_eq!(written, ["01ff", "02ff", "03ff", "04ff", "05ff", "06ff"]);
    }

    #[test]
    fn what_others_write_says_nothing() {
        for _ in 0..10_000 {
            let theirs = chance::uuid().as_u128();
            assert_eq!(Purpose::read_from(theirs), None, "a UUID of version 4");
        }
        let later = Purpose::Lock.marked_on(0) | 0xf << Purpose::DIGIT;
        assert_eq!(Purpose::read_from(later), None, "of a later version");
    }
}

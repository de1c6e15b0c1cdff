//! [`SaidOnce`]: a word that is said once, for all threads.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

use super::event::GivenBack;
use crate::error::LossCause;

/// A word that is said once. In one byte: a lease has several of them.
pub(super) struct SaidOnce<T>(AtomicU8, PhantomData<T>);

/// One of few words, each with a number of its own that is not zero.
pub(super) trait OneOfFew: Copy {
    fn number(self) -> u8;
    /// The word of this number; none of zero.
    fn of(number: u8) -> Option<Self>;
}

impl<T: OneOfFew> SaidOnce<T> {
    pub(super) const fn new() -> Self {
        Self(AtomicU8::new(0), PhantomData)
    }

    /// Says `word`; false when one had been said before.
    pub(super) fn say(&self, word: T) -> bool {
        self.0
            .compare_exchange(0, word.number(), Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    pub(super) fn get(&self) -> Option<T> {
        T::of(self.0.load(Ordering::Acquire))
    }

    pub(super) fn is_said(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

impl<T: OneOfFew + fmt::Debug> fmt::Debug for SaidOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SaidOnce").field(&self.get()).finish()
    }
}

const CAUSES: [LossCause; 7] = [
    LossCause::Deadline,
    LossCause::Taken,
    LossCause::Released,
    LossCause::Closed,
    LossCause::Unclaimed,
    LossCause::ClockJump,
    LossCause::Forked,
];

impl OneOfFew for LossCause {
    fn number(self) -> u8 {
        self as u8 + 1
    }

    fn of(number: u8) -> Option<Self> {
        CAUSES.get(usize::from(number).checked_sub(1)?).copied()
    }
}

impl OneOfFew for GivenBack {
    fn number(self) -> u8 {
        match self {
            Self::Confirmed => 1,
            Self::Unconfirmed => 2,
            Self::Lost(cause) => 2 + cause.number(),
        }
    }

    fn of(number: u8) -> Option<Self> {
        match number {
            0 => None,
            1 => Some(Self::Confirmed),
            2 => Some(Self::Unconfirmed),
            of_cause => LossCause::of(of_cause - 2).map(Self::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_was_said_and_once() {
        let causes = || CAUSES.iter().copied();
        let words = causes().map(GivenBack::Lost);
        let words = words.chain([GivenBack::Confirmed, GivenBack::Unconfirmed]);
        for word in words {
            let said = SaidOnce::new();
            assert!(!said.is_said() && said.get().is_none());
            assert!(said.say(word) && !said.say(GivenBack::Confirmed));
            assert_eq!(said.get(), Some(word));
        }
        for cause in causes() {
            let said = SaidOnce::new();
            assert!(said.say(cause) && !said.say(LossCause::Forked));
            assert_eq!(said.get(), Some(cause));
        }
        // A cause that is added, and not to the list, is seen here.
        assert_eq!(CAUSES.len(), LossCause::Forked as usize + 1);
    }
}

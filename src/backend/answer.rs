//! [`Answer`]: what the store said.

use crate::model::{FencingToken, MutexOwner, Owner, StoreTime};

/// The store's word on one call: won or refused, who owns, and its time.
///
/// ```
/// use tenure::backend::Answer;
/// use tenure::model::{ContenderId, MutexOwner, StoreTime};
///
/// let other = MutexOwner::foreign(ContenderId::new("b")?);
/// let answer = Answer::refused(other, StoreTime::from_millis(42)).at_place(3, "1700000000.25");
/// assert!(!answer.is_won());
/// assert_eq!(answer.place().unwrap().rank, 3);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    won: bool,
    owner: MutexOwner,
    now: StoreTime,
    place: Option<QueuePlace>,
}

/// A refused bid's place in the store's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePlace {
    /// How many stand before it.
    pub rank: u32,
    /// What keeps the place when the bid must queue again.
    pub score: Box<str>,
}

impl Answer {
    /// Yes: the grant is the caller's, is extended, or is freed.
    #[must_use]
    pub fn won(owner: MutexOwner, now: StoreTime) -> Self {
        Self {
            won: true,
            owner,
            now,
            place: None,
        }
    }

    /// No, and this is who owns.
    #[must_use]
    pub fn refused(owner: MutexOwner, now: StoreTime) -> Self {
        Self {
            won: false,
            owner,
            now,
            place: None,
        }
    }

    /// The same answer with the bid's place in the queue.
    #[must_use]
    pub fn at_place(self, rank: u32, score: impl Into<Box<str>>) -> Self {
        Self {
            place: Some(QueuePlace {
                rank,
                score: score.into(),
            }),
            ..self
        }
    }

    /// Whether the store did what was asked.
    #[must_use]
    pub fn is_won(&self) -> bool {
        self.won
    }

    /// Who owns after the call.
    #[must_use]
    pub fn owner(&self) -> &MutexOwner {
        &self.owner
    }

    /// Who owns after the call, by the store's time; `None` when it is free.
    #[must_use]
    pub fn present_owner(&self) -> Option<Owner> {
        self.owner.at(self.now)
    }

    /// The token of the grant that was won or extended.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        if self.won { self.owner.token() } else { None }
    }

    /// The store's time when it answered.
    #[must_use]
    pub fn now(&self) -> StoreTime {
        self.now
    }

    /// The place of a refused bid, where the store keeps an order.
    #[must_use]
    pub fn place(&self) -> Option<&QueuePlace> {
        self.place.as_ref()
    }
}

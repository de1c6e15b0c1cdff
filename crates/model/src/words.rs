//! What contenders and stores say to each other.

use crate::store::{InUse, Names};

/// A contender: 0, 1 or 2, which are told as a, b and c.
pub type Id = u8;

/// How many contenders there are.
pub const CONTENDERS: usize = 3;

/// A JVM peer, which is none of them: it takes and frees by the owner's key alone.
pub const PEER: Id = 3;

/// The names of the contenders, and of the peer.
#[must_use]
pub fn name(id: Id) -> char {
    match id {
        PEER => 'j',
        id => char::from(b'a' + id),
    }
}

/// What tells one bid of a contender from its others. Only whether two are the same is
/// ever asked, so those that no bid has any more are used again.
pub type Nonce = u8;

/// The nonce of no bid: what is undone under it frees no grant.
pub const NO_BID: Nonce = 0;

/// The number of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// As the store counts it, and as a resource compares it. Zero is none.
    pub number: u8,
    /// When it was granted, among all grants. No contender can see this; the
    /// properties can.
    pub order: u8,
}

/// What a contender asks of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Grant me the mutex, or let me wait.
    Take {
        /// The bid.
        nonce: Nonce,
        /// The place in the queue that it had, if any.
        score: u8,
        /// The largest number that the contender has seen.
        seen: u8,
        /// The number that the store's clock stands for, as the contender reckons it:
        /// behind it, not ahead. Zero if it does not.
        reckoned: u8,
    },
    /// Extend my lease.
    Renew {
        /// The bid that won it.
        nonce: Nonce,
        /// The grant.
        token: Token,
    },
    /// Free my grant.
    Release {
        /// The bid that won it.
        nonce: Nonce,
        /// The grant.
        token: Token,
    },
    /// Free what my id has: no other has this id, and I want nothing more.
    ReleaseById,
    /// Free whatever my bid has won, and its place in the queue.
    Leave {
        /// The bid.
        nonce: Nonce,
        /// The largest number that the contender had seen as it bid.
        seen: u8,
    },
}

impl Request {
    /// The bid that it is about.
    #[must_use]
    pub fn nonce(self) -> Nonce {
        match self {
            Self::Take { nonce, .. }
            | Self::Renew { nonce, .. }
            | Self::Release { nonce, .. }
            | Self::Leave { nonce, .. } => nonce,
            Self::ReleaseById => NO_BID,
        }
    }

    /// Tells what is in use where `by` asks.
    pub fn uses(self, by: Id, in_use: &mut InUse) {
        in_use.bid(by, self.nonce());
        match self {
            Self::Take {
                score,
                seen,
                reckoned,
                ..
            } => {
                in_use.score(score);
                in_use.number(seen);
                in_use.number(reckoned);
            }
            Self::Renew { token, .. } | Self::Release { token, .. } => in_use.token(token),
            Self::Leave { seen, .. } => in_use.number(seen),
            Self::ReleaseById => {}
        }
    }

    /// The same under other names.
    #[must_use]
    pub fn renamed(mut self, by: Id, names: &Names) -> Self {
        match &mut self {
            Self::Take { nonce, .. }
            | Self::Renew { nonce, .. }
            | Self::Release { nonce, .. }
            | Self::Leave { nonce, .. } => *nonce = names.bid(by, *nonce),
            Self::ReleaseById => {}
        }
        match &mut self {
            Self::Take {
                score,
                seen,
                reckoned,
                ..
            } => {
                *score = names.scores[usize::from(*score)];
                *seen = names.numbers[usize::from(*seen)];
                *reckoned = names.numbers[usize::from(*reckoned)];
            }
            Self::Renew { token, .. } | Self::Release { token, .. } => {
                *token = names.token(*token);
            }
            Self::Leave { seen, .. } => *seen = names.numbers[usize::from(*seen)],
            Self::ReleaseById => {}
        }
        self
    }
}

/// What the store answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// The mutex is yours.
    Won {
        /// The grant.
        token: Token,
        /// How long it lasts yet.
        left: u8,
        /// An earlier take of the same bid had won it.
        found: bool,
    },
    /// It is another's.
    Refused {
        /// Your place in the queue.
        score: u8,
        /// The number of the owner's grant.
        seen: u8,
    },
    /// The lease is extended.
    Extended {
        /// How long it lasts yet.
        left: u8,
    },
    /// There is no such grant.
    Gone,
    /// It is done, or there was nothing to do.
    Done,
}

//! [`Profile`]: how a store behaves.

use std::time::Duration;

use crate::model::LeaseTerms;

/// How waiters hear of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wakeup {
    /// The store tells them.
    Push,
    /// The backend looks at this interval for all who wait, together.
    Poll(Duration),
}

/// Whose clock ends a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreClock {
    /// A server's wall clock: a forward step ends leases early.
    ServerWall,
    /// A monotonic clock: it cannot be stepped.
    Monotonic,
}

/// What a lease hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseBound {
    /// On the terms of each bid.
    Terms,
    /// On the client's session, whose terms these are for every bid.
    Session(LeaseTerms),
}

/// How a store behaves. Tests and engine go by it, never by a store's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The scheme of its URLs.
    pub scheme: &'static str,
    /// How waiters hear of a change.
    pub wakeup: Wakeup,
    /// Whether waiters of different processes are served first come, first
    /// served.
    pub ordered: bool,
    /// Whose clock ends a lease.
    pub clock: StoreClock,
    /// What a lease hangs on.
    pub bound: LeaseBound,
    /// Whether a grant keeps its bid's nonce.
    pub nonce: bool,
    /// Whether grants are told to observers: not in a layout whose other users
    /// do not.
    pub observable: bool,
    /// The longest that the head waiter goes without looking, in case a wake-up
    /// was lost.
    pub safety_look: Duration,
}

impl Profile {
    /// A store that tells its waiters: unordered, on a server's wall clock,
    /// with nonces.
    #[must_use]
    pub fn push(scheme: &'static str) -> Self {
        Self {
            scheme,
            wakeup: Wakeup::Push,
            ordered: false,
            clock: StoreClock::ServerWall,
            bound: LeaseBound::Terms,
            nonce: true,
            observable: true,
            safety_look: Duration::from_secs(2),
        }
    }

    /// A store that must be asked: as [`push`](Self::push) otherwise.
    #[must_use]
    pub fn poll(scheme: &'static str, interval: Duration) -> Self {
        Self {
            wakeup: Wakeup::Poll(interval),
            ..Self::push(scheme)
        }
    }

    /// The same, first come, first served.
    #[must_use]
    pub fn ordered(self) -> Self {
        Self {
            ordered: true,
            ..self
        }
    }

    /// The same, on a clock that cannot be stepped.
    #[must_use]
    pub fn monotonic(self) -> Self {
        Self {
            clock: StoreClock::Monotonic,
            ..self
        }
    }

    /// The same, with leases that hang on a session with these terms.
    #[must_use]
    pub fn session(self, terms: LeaseTerms) -> Self {
        Self {
            bound: LeaseBound::Session(terms),
            ..self
        }
    }

    /// The same, with no room for a nonce.
    #[must_use]
    pub fn without_nonce(self) -> Self {
        Self {
            nonce: false,
            ..self
        }
    }

    /// The same, whose grants are not told.
    #[must_use]
    pub fn unobservable(self) -> Self {
        Self {
            observable: false,
            ..self
        }
    }

    /// The same, whose head waiter looks at least this often.
    #[must_use]
    pub fn looking_every(self, safety_look: Duration) -> Self {
        Self {
            safety_look,
            ..self
        }
    }
}

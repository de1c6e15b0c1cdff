//! [`MutexOwner`]: who owns a mutex, and until when.

use std::fmt;
use std::time::Duration;

use super::{ContenderId, FencingToken, StoreTime};

/// An immutable snapshot of the ownership of a mutex, on the store's clock.
///
/// `acquired_at`, `ttl_at` and `transition_at` are `None` where a store does
/// not know that part of a foreign owner (Redis keeps no acquisition time of a
/// JVM owner; a ZooKeeper node has no end). An owner whose end is unknown owns
/// for as long as the store names it.
///
/// ```
/// use tenure::model::{ContenderId, MutexOwner, StoreTime};
///
/// let at = StoreTime::from_millis;
/// let owner = MutexOwner::new(ContenderId::new("a")?, at(0), at(10_000), at(16_000));
/// assert!(owner.is_in_ttl(at(9_999)) && !owner.is_in_ttl(at(10_000)));
/// assert!(owner.is_in_transition(at(16_000)) && !owner.is_in_transition(at(16_001)));
/// assert!(!MutexOwner::NONE.has_owner(at(1)));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MutexOwner {
    owner_id: Option<ContenderId>,
    acquired_at: Told,
    ttl_at: Told,
    transition_at: Told,
    token: Option<FencingToken>,
}

impl MutexOwner {
    /// None, of a free mutex: no id, and every time zero.
    pub const NONE: Self = Self {
        owner_id: None,
        acquired_at: Told::at(StoreTime::ZERO),
        ttl_at: Told::at(StoreTime::ZERO),
        transition_at: Told::at(StoreTime::ZERO),
        token: None,
    };

    /// An owner all of whose times are known.
    #[must_use]
    pub fn new(
        owner_id: ContenderId,
        acquired_at: StoreTime,
        ttl_at: StoreTime,
        transition_at: StoreTime,
    ) -> Self {
        Self {
            owner_id: Some(owner_id),
            acquired_at: Told::at(acquired_at),
            ttl_at: Told::at(ttl_at),
            transition_at: Told::at(transition_at),
            token: None,
        }
    }

    /// An owner of whom the store knows only the id.
    ///
    /// ```
    /// use tenure::model::{ContenderId, MutexOwner, StoreTime};
    ///
    /// let now = StoreTime::from_millis(5);
    /// let owner = MutexOwner::foreign(ContenderId::new("a")?);
    /// assert!(owner.has_owner(now) && owner.remaining(now).is_none());
    /// let owner = owner.owning_until(StoreTime::from_millis(9));
    /// assert_eq!(owner.remaining(now).unwrap().as_millis(), 4);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn foreign(owner_id: ContenderId) -> Self {
        Self {
            owner_id: Some(owner_id),
            acquired_at: Told::NOT,
            ttl_at: Told::NOT,
            transition_at: Told::NOT,
            token: None,
        }
    }

    /// The same owner with its time of acquisition.
    #[must_use]
    pub fn acquired_since(self, acquired_at: StoreTime) -> Self {
        Self {
            acquired_at: Told::at(acquired_at),
            ..self
        }
    }

    /// The same owner with the end of its lease.
    #[must_use]
    pub fn owning_until(self, transition_at: StoreTime) -> Self {
        Self {
            transition_at: Told::at(transition_at),
            ..self
        }
    }

    /// The same owner with its token.
    ///
    /// Only a token that stays the same for a whole tenure belongs here; a
    /// foreign version that moves with every renewal does not.
    #[must_use]
    pub fn with_token(self, token: FencingToken) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// The owner's id; `None` for [`NONE`](Self::NONE).
    #[must_use]
    pub fn owner_id(&self) -> Option<&ContenderId> {
        self.owner_id.as_ref()
    }

    /// When the owner began to own.
    #[must_use]
    pub fn acquired_at(&self) -> Option<StoreTime> {
        self.acquired_at.time()
    }

    /// Until when ownership is undisputed; the owner renews before.
    #[must_use]
    pub fn ttl_at(&self) -> Option<StoreTime> {
        self.ttl_at.time()
    }

    /// Until when only this owner may renew; afterwards any contender may take.
    #[must_use]
    pub fn transition_at(&self) -> Option<StoreTime> {
        self.transition_at.time()
    }

    /// The owner's fencing token, where the store keeps one for it.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        self.token
    }

    /// Whether ownership is undisputed at `now`: `ttl_at > now`.
    #[must_use]
    pub fn is_in_ttl(&self, now: StoreTime) -> bool {
        self.owner_id.is_some() && self.ttl_at.time().is_none_or(|at| at > now)
    }

    /// Whether no other may take at `now`: `transition_at >= now`.
    #[must_use]
    pub fn is_in_transition(&self, now: StoreTime) -> bool {
        self.owner_id.is_some() && self.transition_at.time().is_none_or(|at| at >= now)
    }

    /// Whether there is an owner at `now`; the transition counts as owned.
    #[must_use]
    pub fn has_owner(&self, now: StoreTime) -> bool {
        self.is_in_transition(now)
    }

    /// Whether the owner is `id`. It need not be in time.
    #[must_use]
    pub fn is_owner(&self, id: &ContenderId) -> bool {
        self.owner_id.as_ref() == Some(id)
    }

    /// Whether `id` owns undisputed at `now`.
    #[must_use]
    pub fn is_in_ttl_of(&self, id: &ContenderId, now: StoreTime) -> bool {
        self.is_owner(id) && self.is_in_ttl(now)
    }

    /// Whether `id` owns at `now`, the transition included.
    #[must_use]
    pub fn is_in_transition_of(&self, id: &ContenderId, now: StoreTime) -> bool {
        self.is_owner(id) && self.is_in_transition(now)
    }

    /// How long from `now` until any contender may take; `None` when the
    /// store does not know, zero when the mutex is free.
    #[must_use]
    pub fn remaining(&self, now: StoreTime) -> Option<Duration> {
        if !self.is_in_transition(now) {
            return Some(Duration::ZERO);
        }
        self.transition_at.time().map(|at| at.since(now))
    }
}

/// A time, if the store has told it. An owner goes along with every answer: with an
/// [`Option`] for each of its times it would be half as large again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Option<StoreTime>", into = "Option<StoreTime>")
)]
struct Told(u64);

impl Told {
    const NOT: Self = Self(u64::MAX);

    /// The last millisecond that there is counts as the one before it.
    const fn at(time: StoreTime) -> Self {
        match time.as_millis() {
            u64::MAX => Self(u64::MAX - 1),
            millis => Self(millis),
        }
    }

    fn time(self) -> Option<StoreTime> {
        (self != Self::NOT).then_some(StoreTime::from_millis(self.0))
    }
}

impl From<Option<StoreTime>> for Told {
    fn from(time: Option<StoreTime>) -> Self {
        time.map_or(Self::NOT, Self::at)
    }
}

impl From<Told> for Option<StoreTime> {
    fn from(told: Told) -> Self {
        told.time()
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.time().fmt(f)
    }
}

impl Default for MutexOwner {
    fn default() -> Self {
        Self::NONE
    }
}

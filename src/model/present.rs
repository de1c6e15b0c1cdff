//! [`Owner`]: who owns a mutex at present.

use std::fmt;
use std::time::Duration;

use super::{ContenderId, FencingToken, MutexOwner, StoreTime};

/// Who owns a mutex, by the store's word and time at one moment.
///
/// The answer to "who owns?" everywhere; where the mutex is free there is none.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> tenure::Result<()> {
/// use tenure::Coordinator;
///
/// let coordinator = Coordinator::connect("memory:").await?;
/// let lock = coordinator.lock("nightly-report")?;
/// assert!(lock.owner().await?.is_none());
///
/// let guard = lock.acquire().await?;
/// let owner = lock.owner().await?.expect("it is ours");
/// assert_eq!(owner.id(), guard.tenure().contender());
/// assert_eq!(owner.token(), Some(guard.token()?));
/// println!("owned by {owner}");
/// # drop(guard);
/// # coordinator.close().await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    id: ContenderId,
    token: Option<FencingToken>,
    acquired_at: Option<StoreTime>,
    ends_at: Option<StoreTime>,
    now: StoreTime,
}

impl Owner {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ContenderId {
        &self.id
    }

    /// Whether its id is `id`.
    #[must_use]
    pub fn is(&self, id: &ContenderId) -> bool {
        self.id == *id
    }

    /// The fencing token of its grant, where the store keeps one for it.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        self.token
    }

    /// When it began to own, on the store's clock, where the store knows.
    #[must_use]
    pub fn acquired_at(&self) -> Option<StoreTime> {
        self.acquired_at
    }

    /// For how long it has owned, where the store knows.
    #[must_use]
    pub fn owned_for(&self) -> Option<Duration> {
        self.acquired_at.map(|at| self.now.since(at))
    }

    /// How long it owns if it does not renew; `None` where its end is not
    /// known.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.ends_at.map(|at| at.since(self.now))
    }

    /// The store's time when it said so.
    #[must_use]
    pub fn seen_at(&self) -> StoreTime {
        self.now
    }

    /// Whether `token` belongs to its grant, hand-overs included.
    pub(crate) fn has_grant_of(&self, token: FencingToken) -> bool {
        self.token.is_some_and(|own| own.store() == token.store())
    }

    /// The same without its token, where that is the number of one server
    /// among several and says nothing.
    pub(crate) fn without_token(self) -> Self {
        Self {
            token: None,
            ..self
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl MutexOwner {
    /// The owner at `now`, the transition included; `None` when it is free.
    ///
    /// ```
    /// use tenure::model::{ContenderId, MutexOwner, StoreTime};
    ///
    /// let at = StoreTime::from_millis;
    /// let record = MutexOwner::new(ContenderId::new("a")?, at(0), at(10_000), at(16_000));
    /// assert_eq!(record.at(at(12_000)).unwrap().remaining().unwrap().as_secs(), 4);
    /// assert!(record.at(at(16_001)).is_none());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn at(&self, now: StoreTime) -> Option<Owner> {
        let id = self.owner_id().filter(|_| self.has_owner(now))?.clone();
        Some(Owner {
            id,
            token: self.token(),
            acquired_at: self.acquired_at(),
            ends_at: self.transition_at(),
            now,
        })
    }
}

//! [`MutexState`]: a transition from one owner to the next.

use super::{ContenderId, MutexOwner, StoreTime};

/// The owner before and after an observation.
///
/// The end of a tenure and the start of the next one under the same id are
/// delivered as two states, so a callback sees both.
///
/// ```
/// use tenure::model::{ContenderId, MutexOwner, MutexState};
///
/// let a = ContenderId::new("a")?;
/// let state = MutexState::new(MutexOwner::NONE, MutexOwner::foreign(a.clone()));
/// assert!(state.is_changed() && state.is_acquired(&a) && !state.is_released(&a));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MutexState {
    /// Who owned before.
    pub before: MutexOwner,
    /// Who owns now.
    pub after: MutexOwner,
}

impl MutexState {
    /// Free before, free after.
    pub const NONE: Self = Self {
        before: MutexOwner::NONE,
        after: MutexOwner::NONE,
    };

    /// The transition from `before` to `after`.
    #[must_use]
    pub fn new(before: MutexOwner, after: MutexOwner) -> Self {
        Self { before, after }
    }

    /// The transition from this state's owner to `owner`.
    ///
    /// ```
    /// use tenure::model::{ContenderId, MutexOwner, MutexState};
    ///
    /// let a = ContenderId::new("a")?;
    /// let won = MutexState::NONE.followed_by(MutexOwner::foreign(a.clone()));
    /// let over = won.followed_by(MutexOwner::NONE);
    /// assert!(won.is_acquired(&a) && over.is_released(&a));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn followed_by(&self, owner: MutexOwner) -> Self {
        Self {
            before: self.after.clone(),
            after: owner,
        }
    }

    /// Whether ownership changed: another id, or the same id under another
    /// token where both are known. A renewal is not a change.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let (before, after) = (&self.before, &self.after);
        if before.owner_id() != after.owner_id() {
            return true;
        }
        // Free stays free, whatever token the last grant has left behind.
        after.owner_id().is_some()
            && matches!((before.token(), after.token()), (Some(b), Some(a)) if a != b)
    }

    /// Whether `id` has just become the owner.
    #[must_use]
    pub fn is_acquired(&self, id: &ContenderId) -> bool {
        self.is_changed() && self.after.is_owner(id)
    }

    /// Whether `id` has just ceased to be the owner.
    #[must_use]
    pub fn is_released(&self, id: &ContenderId) -> bool {
        self.is_changed() && self.before.is_owner(id)
    }

    /// Whether `id` is the owner now.
    #[must_use]
    pub fn is_owner(&self, id: &ContenderId) -> bool {
        self.after.is_owner(id)
    }

    /// Whether `id` is the owner and undisputed at `now`.
    #[must_use]
    pub fn is_in_ttl(&self, id: &ContenderId, now: StoreTime) -> bool {
        self.after.is_in_ttl_of(id, now)
    }
}

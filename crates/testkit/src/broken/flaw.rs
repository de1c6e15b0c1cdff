//! [`Flaw`]: the one point in which a backend breaks the contract.

/// What is wrong with a [`Broken`](super::Broken) backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It keeps the contract.
    None,
    /// Of two that bid at the same time both win.
    TwoWinners,
    /// A bid under the owner's id renews.
    AcquireRenews,
    /// A bid under the owner's id is taken for the owner's.
    AdoptsById,
    /// A refusal does not say who owns.
    HiddenOwner,
    /// The same bid, asked again, is granted anew.
    ForgetsNonce,
    /// The same bid, asked again, has a longer lease.
    AskingLengthens,
    /// Leases end early.
    ShortLease,
    /// Leases end late.
    LongLease,
    /// The renewal of a grant that is over takes it again.
    RenewTakes,
    /// Nothing is renewed in the transition.
    NoTransition,
    /// Others may take in the transition.
    OpenTransition,
    /// Any grant under the id is renewed.
    RenewById,
    /// A renewal extends nothing, and says that it did.
    IdleRenewal,
    /// The answers to several renewals are in the wrong order.
    BatchReversed,
    /// Not all of many renewals are answered.
    BatchCut,
    /// A release frees any owner's grant.
    ReleaseAny,
    /// A release says that it freed something, always.
    ReleaseAlwaysWon,
    /// What is given up stays.
    IdleLeave,
    /// What is given up is told by its id.
    LeaveById,
    /// All tokens are the same.
    SameToken,
    /// A renewal has another token.
    MovingToken,
    /// No waiter is told of changes.
    Silent,
    /// Everybody is told all the time.
    Storm,
    /// Names are the same in capitals.
    CaseBlind,
    /// Long names are cut.
    NamesCut,
    /// There is no order of waiters, and it says there is.
    NoQueue,
    /// A newcomer takes before those who wait.
    Overtaking,
    /// A waiter that comes back is the last.
    ForgetsScore,
    /// A revocation frees any owner's grant, whatever token it names.
    RevokeAny,
    /// Every contender claims ticks.
    ClaimAny,
    /// A claim always succeeds, and is not written down.
    ClaimAlways,
    /// Writing down a plan claims its first tick.
    PlanClaims,
    /// An end always counts.
    FinishAlways,
    /// When a tick was begun is not written down.
    ForgetsBeginnings,
    /// Schedules are listed in the wrong order.
    LedgersReversed,
    /// Mutexes are listed in the wrong order.
    ListReversed,
    /// What is free is listed.
    ListsFree,
    /// What was not asked for is listed.
    ListsOthers,
    /// After a pruning tokens begin anew.
    PruneResets,
    /// A pruning frees what is owned.
    PruneTakesOwned,
    /// A pruning removes schedules that it was not told to.
    PruneTakesLedgers,
    /// What is closed goes on.
    IdleClose,
}

impl Flaw {
    /// Every flaw there is.
    pub const ALL: [Self; 42] = [
        Self::TwoWinners,
        Self::AcquireRenews,
        Self::AdoptsById,
        Self::HiddenOwner,
        Self::ForgetsNonce,
        Self::AskingLengthens,
        Self::ShortLease,
        Self::LongLease,
        Self::RenewTakes,
        Self::NoTransition,
        Self::OpenTransition,
        Self::RenewById,
        Self::IdleRenewal,
        Self::BatchReversed,
        Self::BatchCut,
        Self::ReleaseAny,
        Self::ReleaseAlwaysWon,
        Self::IdleLeave,
        Self::LeaveById,
        Self::SameToken,
        Self::MovingToken,
        Self::Silent,
        Self::Storm,
        Self::CaseBlind,
        Self::NamesCut,
        Self::NoQueue,
        Self::Overtaking,
        Self::ForgetsScore,
        Self::RevokeAny,
        Self::ClaimAny,
        Self::ClaimAlways,
        Self::PlanClaims,
        Self::FinishAlways,
        Self::ForgetsBeginnings,
        Self::LedgersReversed,
        Self::ListReversed,
        Self::ListsFree,
        Self::ListsOthers,
        Self::PruneResets,
        Self::PruneTakesOwned,
        Self::PruneTakesLedgers,
        Self::IdleClose,
    ];
}

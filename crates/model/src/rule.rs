//! The rules that contenders and stores go by, and those that were found to be wrong.

/// Which rule is in force. All but the first are wrong, and each has a test that
/// expects its counterexample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// As the code has it.
    Now,
    /// A contender that is answered by an error gives up its place in the queue in its
    /// bid's own name. Late, that frees what the bid has won since.
    PlaceGivenUpByItsNonce,
    /// A take that too few replicas have confirmed is undone before the bid asks again.
    UndoneInsideTheBid,
    /// A grant that is found again after a lost answer counts without a write, so there
    /// is nothing that a replica could confirm.
    FoundWithoutAWrite,
    /// What a bid may have left is undone once more, later, by an id that the contender
    /// goes on with.
    UndoneByAnIdThatGoesOn,
    /// What is found under the own id counts, though it had been seen before.
    FoundThoughSeen,
    /// Tokens are counted on from the fence, which a fail-over may lose.
    TokensByTheFenceAlone,
    /// A lease is counted from its answer.
    CountedFromTheAnswer,
    /// A release names the contender, not its grant, also of one that stands again.
    ReleasedByIdAlone,
    /// A place is kept for whom the fence names from before, without a look at that.
    KeptUnderAnOldGrant,
    /// A release by the id alone gives the place on without a look at whom the fence names.
    GivenOnByIdAlone,
    /// A fence that names the grant is proof enough, whichever id the owner's key has.
    ProvenByTheFenceAlone,
    /// The fence names a contender whose id a JVM peer has, too.
    NamedThoughThePeerHasItsId,
    /// A token that a bidder names by the clock that it reckons is taken as it is.
    NamedTokenNotCompared,
    /// It is taken where there is no fence, too.
    NamedWithoutAFence,
    /// What was reckoned of one server's clock counts at the server that follows it.
    ReckonedAcrossAFailOver,
}

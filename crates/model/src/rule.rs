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
    /// A release names the contender, not its grant.
    ReleasedByIdAlone,
}

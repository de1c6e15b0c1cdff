//! [`Action`]: a step of a [world](crate::world).

use crate::words::Id;

/// What can happen. Where it says so, what a contender gives up is carried out later, or
/// never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A contender begins a bid.
    Begin(Id),
    /// It asks, and the store carries that out.
    Ask(Id),
    /// The same, and the answer is lost.
    AskUnheard(Id),
    /// It asks, and gives up; what it asked is late.
    AskLate(Id),
    /// It hears that it won or has been extended.
    Hear(Id),
    /// It does not.
    Miss(Id),
    /// The store answers its take with an error, and it gives up its place in the queue,
    /// at once or late.
    Stumble(Id, bool),
    /// It renews, and the store carries that out.
    Renew(Id),
    /// It renews, and gives up; the renewal is late.
    RenewLate(Id),
    /// It ends its tenure or its bid.
    End(Id),
    /// It will want nothing more under its id, which no other has.
    Last(Id),
    /// It gives back what it has, or may have, at once or late.
    Free(Id, bool),
    /// It is done, and may have its bid undone once more, later.
    Settle(Id, bool),
    /// It is done, and stands again under the same id; the same.
    Again(Id, bool),
    /// It writes to the register, at once or late.
    Write(Id, bool),
    /// The late write arrives.
    Written,
    /// What was given up is carried out.
    Late(usize),
    /// What was given up is lost.
    Lost(usize),
    /// The JVM peer takes, or extends what it has.
    PeerTakes,
    /// It frees what it has.
    PeerFrees,
    /// An operator has what has not been used for a tick removed.
    Prune,
    /// The replica hears of everything.
    Copy,
    /// The replica becomes the master, which takes a tick.
    FailOver,
    /// Time passes.
    Tick,
}

//! What a [world](crate::world) is made of.

use crate::rule::Rule;
use crate::words::Id;

/// How many given up requests there can be on their way.
pub const LATE: usize = 2;

/// What replicas there are, and what is asked of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// None: the store does not fail over.
    None,
    /// One, which is told later, and becomes the master at any time.
    Asynchronous,
    /// The same, and what it has not confirmed does not count (`wait_replicas`).
    Confirming,
}

/// What a world is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The length of a lease, in ticks.
    pub lease: u8,
    /// For how long a place is kept.
    pub reserve: u8,
    /// Whether who is refused waits in the store's queue.
    pub queues: bool,
    /// Whether one that does not wait any more is told all the same: it leaves its channel on
    /// another connection, and perhaps late.
    pub lingers: bool,
    /// How many given up requests are on their way at a time, up to [`LATE`].
    pub late: usize,
    /// The replicas.
    pub replicas: Replicas,
    /// Whether owners write to a register that compares tokens, now and later.
    pub writes: bool,
    /// How many of the contenders have ids that no other has.
    pub unique: usize,
    /// Whether contenders reckon the store's clock, and name their tokens by it.
    pub reckons: bool,
    /// The id of a JVM peer, which takes and frees by the owner's key alone: its own, or that
    /// of the first contender. Where there is one, an operator prunes what no contender uses, too.
    pub peer: Option<Id>,
    /// The rule.
    pub rule: Rule,
    /// Whether worlds count as one that differ only in who is who. Histories are hard to
    /// read then.
    pub symmetric: bool,
}

//! What every database is asked, and what it replies.

use super::row::Row;
use super::schema::Inspected;
use crate::backend::{Bid, Claim, ClaimAnswer, Finding, Held, LedgerEntry, LedgerLine, TickEnd};
use crate::model::{FencingToken, MutexName, StoreTime};

/// What tables there are.
pub(in crate::stores) struct Inspect;

/// Makes the tables that are missing, and adds what one of an earlier version
/// lacks. Many processes may begin to do so at once.
pub(in crate::stores) struct Create;

/// What the server is like.
pub(in crate::stores) struct Survey;

pub(in crate::stores) struct Surveyed {
    pub(in crate::stores) version: String,
    /// What there is to say beside it.
    pub(in crate::stores) findings: Vec<Finding>,
}

/// The row of a name. One whose name the database merely holds equal may be
/// found instead: the asker compares.
pub(in crate::stores) struct Find(pub(in crate::stores) MutexName);

#[derive(Clone, Debug)]
pub(in crate::stores) struct Found {
    pub(in crate::stores) row: Option<Row>,
    pub(in crate::stores) now: StoreTime,
}

/// The rows of names, at most as many as one statement can ask for.
pub(in crate::stores) struct FindMany(pub(in crate::stores) Vec<MutexName>);

pub(in crate::stores) struct Rows {
    pub(in crate::stores) rows: Vec<Row>,
    /// `None` when there is no row that could say it.
    pub(in crate::stores) now: Option<StoreTime>,
}

/// The owned rows after a name, at most so many, in the order of bytes: that of
/// a collation is another on every server, and a page could not go on where the
/// last one ended.
pub(in crate::stores) struct List {
    pub(in crate::stores) after: Option<MutexName>,
    pub(in crate::stores) most: u64,
}

/// Frees a row.
pub(in crate::stores) enum Free {
    /// Of a grant.
    Held(Held),
    /// Of whatever a bid may have won.
    Left(Bid),
    /// Of its present owner, or of the grant with a token.
    Revoked(MutexName, Option<FencingToken>),
}

impl Free {
    pub(in crate::stores) fn name(&self) -> &MutexName {
        match self {
            Self::Held(held) => &held.name,
            Self::Left(bid) => &bid.name,
            Self::Revoked(name, _) => name,
        }
    }
}

pub(in crate::stores) enum Freed {
    At(StoreTime),
    /// There was nothing to free; what there is, if the statement shows it (that
    /// of MySQL does not).
    Not(Option<Found>),
}

/// The ledger of one schedule.
pub(in crate::stores) struct ReadLedger(pub(in crate::stores) MutexName);

/// Pages of ledgers, in the order of bytes.
pub(in crate::stores) enum ListLedgers {
    /// At most so many after a name.
    After(Option<MutexName>, u64),
    /// At most as many as one statement can ask for.
    Of(Vec<MutexName>),
}

pub(in crate::stores) struct LedgerRows {
    pub(in crate::stores) lines: Vec<LedgerLine>,
    pub(in crate::stores) now: Option<StoreTime>,
}

/// Claims a tick, if its claimer owns. Claims of one schedule come one after
/// the other, in the order of their tokens.
pub(in crate::stores) struct ClaimTick {
    pub(in crate::stores) held: Held,
    pub(in crate::stores) claim: Claim,
}

/// Records an end; false when another owner has claimed since.
pub(in crate::stores) struct FinishTick {
    pub(in crate::stores) held: Held,
    pub(in crate::stores) end: TickEnd,
}

/// Question, reply, what a lost answer may have done, and where the reply has
/// the server's time.
macro_rules! questions {
    ($($question:ty => $reply:ty, $effect:ident $(, $time:expr)?;)*) => {$(
        impl $crate::stores::sql::Question for $question {
            type Reply = $reply;
            const EFFECT: $crate::stores::sql::Effect = $crate::stores::sql::Effect::$effect;
            $(fn time(reply: &$reply) -> Option<$crate::model::StoreTime> {
                let time: fn(&$reply) -> Option<$crate::model::StoreTime> = $time;
                time(reply)
            })?
        }
    )*};
}
pub(in crate::stores) use questions;

questions! {
    Inspect => Inspected, Reads;
    Create => (), Writes;
    Survey => Surveyed, Reads;
    Find => Found, Reads, |found| Some(found.now);
    FindMany => Rows, Reads, |rows| rows.now;
    List => Rows, Reads, |rows| rows.now;
    Free => Freed, Writes, |freed| match freed {
        Freed::At(now) => Some(*now),
        Freed::Not(found) => found.as_ref().map(|found| found.now),
    };
    ReadLedger => Option<LedgerEntry>, Reads;
    ListLedgers => LedgerRows, Reads, |rows| rows.now;
    ClaimTick => ClaimAnswer, Writes;
    FinishTick => bool, Writes;
}

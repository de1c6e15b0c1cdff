//! Whether what docs/guarantees.md promises held.
//!
//! | kind | promise |
//! | --- | --- |
//! | [`Kind::TwoOwners`] | two tenures of one mutex are never valid at the same moment by their own deadlines; an owner that the store forgot, for at most one lease after that moment |
//! | [`Kind::OwnerRefused`] | a resource that checks tokens never refuses who owns |
//! | [`Kind::OldWrite`] | it never accepts who owned before |
//! | [`Kind::TokenFell`] | tokens rise, per mutex, also where the store forgot |
//! | [`Kind::Revived`] | what is lost stays lost |
//! | [`Kind::BelievedTooLong`] | no owner believes for longer than one lease ahead |
//! | [`Kind::RanTwice`] | a tick is begun once, in order; again only by who knows that it was begun |
//! | [`Kind::RunsAtOnce`] | two leaders do not run at once |
//! | [`Kind::LostForAnother`] | a stranger that has the row of one mutex in hand costs no other its owner |
//! | [`Kind::LeftBehind`] | what a worker leaves behind in a server ends by itself, soon |
//! | [`Kind::Stuck`] | when all is mended, every mutex goes from owner to owner again, and every worker asks again |

mod checks;
mod forgets;
mod others;
mod runs;
mod spans;

use std::fmt;
use std::time::Duration;

pub use forgets::{Forgets, LEDGERS};
pub use others::{LOCKED, STRANGERS};
pub use spans::{Valid, tenures};
use tenure_testkit::history::Event;

/// What was promised to whom.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long the store keeps everybody else out after it has heard of an owner.
    pub lease: Duration,
    /// How long an owner may go on without a renewal.
    pub belief: Duration,
    /// Whether an owner that was forgotten may be remembered again: an empty node of a combination
    /// lock is taken again.
    pub returns: bool,
}

/// The promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Two tenures at the same moment.
    TwoOwners,
    /// A valid owner was refused by a resource that checks tokens.
    OwnerRefused,
    /// Such a resource accepted an older token than before.
    OldWrite,
    /// A token that is not larger than the one before it.
    TokenFell,
    /// A tenure that was lost was valid again.
    Revived,
    /// A deadline further away than a lease.
    BelievedTooLong,
    /// A tick was begun twice, or after a later one.
    RanTwice,
    /// Runs of two leaders at the same moment.
    RunsAtOnce,
    /// A tenure was lost while nothing was wrong but with another mutex.
    LostForAnother,
    /// A server still works for a worker that is gone, or has done too much for one at a time.
    LeftBehind,
    /// Something was not owned again.
    Stuck,
    /// The judge that was written elsewhere finds no order of the calls.
    NotLinearizable,
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which one.
    pub kind: Kind,
    /// In words.
    pub message: String,
    /// The mutex it is about.
    pub name: String,
    /// When it began, and ended.
    pub span: (Duration, Duration),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

/// What was seen beside violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tenures that were handed out.
    pub grants: u64,
    /// Tenures that ended by themselves.
    pub losses: u64,
    /// Uses of what is protected by who owned it.
    pub uses: u64,
    /// Runs of the schedule.
    pub runs: u64,
    /// Writes of who owned no more that the register with a fence refused.
    pub late_refused: u64,
    /// Such writes, after a newer owner's, that the register without a fence took.
    pub late_taken: u64,
    /// Times that two owned because the store forgot.
    pub forgotten: u64,
    /// The longest of them.
    pub longest_forgotten: Duration,
}

/// What a judge says of a history.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What was broken.
    pub violations: Vec<Violation>,
    /// What was seen.
    pub tally: Tally,
}

impl Verdict {
    fn find(&mut self, kind: Kind, name: &str, span: (Duration, Duration), message: String) {
        self.violations.push(Violation {
            kind,
            message,
            name: name.to_owned(),
            span,
        });
    }
}

/// Judges `events`, which are in the order of their times.
#[must_use]
pub fn judge(events: &[Event], terms: Terms) -> Verdict {
    let mut verdict = Verdict::default();
    let forgets = Forgets::of(events, terms);
    let all = tenures(events, terms);
    for (name, tenures) in &all {
        checks::exclusion(name, tenures, &forgets, terms, &mut verdict);
        checks::tokens(name, tenures, &forgets, &mut verdict);
    }
    checks::beliefs(events, terms, &mut verdict);
    checks::writes(events, &all, &forgets, &mut verdict);
    let ledgers = Forgets::of_ledgers(events, terms);
    runs::runs(events, &forgets, &ledgers, terms, &mut verdict);
    others::losses(events, terms, &mut verdict);
    verdict
}

//! The run ledger of a schedule: which tick was started last, and how it went.

use std::fmt;

use crate::model::{FencingToken, StoreTime};

/// How far a tick has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum TickState {
    /// Not started: the plan has been written, and this tick is the first that
    /// can be claimed under it.
    Planned,
    /// Started, and not known to have ended.
    Claimed,
    /// Ended well.
    Done,
    /// Ended with an error, a panic or a time-out.
    Failed,
    /// Not run: it was later than its schedule allows when it could begin.
    Skipped,
}

impl TickState {
    const ALL: [Self; 4] = [Self::Planned, Self::Claimed, Self::Done, Self::Failed];

    /// The word by which stores keep it: `planned`, `claimed`, `done`, `failed`.
    /// A tick that was skipped is kept as `done`, since processes of earlier
    /// versions know no other word; the [note](LedgerEntry::note) beside it
    /// tells the two apart.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Claimed => "claimed",
            Self::Done | Self::Skipped => "done",
            Self::Failed => "failed",
        }
    }

    /// The state that `word` stands for.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// What the ledger of a schedule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The plan that the ticks follow, as its first claimer wrote it.
    pub plan: Box<str>,
    /// Where tick 0 of a rate lies, before any initial delay.
    pub origin: StoreTime,
    /// The last tick that was claimed; while [`Planned`](TickState::Planned),
    /// the first that will be.
    pub last_tick: u64,
    /// When that tick was due.
    pub due_at: StoreTime,
    /// The token it was claimed, or the plan written, with.
    pub token: FencingToken,
    /// How far it has come.
    pub state: TickState,
    /// When it ended.
    pub finished_at: Option<StoreTime>,
    /// When it was begun; `None` also where its claimer is of an earlier
    /// version, or the store has no room for it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub begun_at: Option<StoreTime>,
}

impl LedgerEntry {
    /// The entry that `claim` makes under `token`.
    #[must_use]
    pub fn claimed(claim: &Claim, token: FencingToken) -> Self {
        Self {
            plan: claim.plan.clone(),
            origin: claim.origin,
            last_tick: claim.tick,
            due_at: claim.due_at,
            token,
            state: claim.state(),
            finished_at: None,
            begun_at: claim.begun_at,
        }
    }

    /// What a store keeps beside the fields that were there from the beginning:
    /// when the tick was begun, or that it was skipped. It names tick and token,
    /// so that no process takes it for a later tick's, claimed by a process of an
    /// earlier version that leaves the note as it is.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let (token, tick) = (self.token, self.last_tick);
        match (self.state, self.begun_at) {
            (TickState::Skipped, _) => Some(skip_note(tick, token)),
            (_, Some(at)) => Some(format!("{token} {tick} begun {at}")),
            _ => None,
        }
    }

    /// The same entry with what `note` says of its tick; of another tick, or in
    /// words that are not known here, it says nothing.
    #[must_use]
    pub fn with_note(mut self, note: &str) -> Self {
        let (token, tick) = (self.token.to_string(), self.last_tick.to_string());
        let words: Vec<&str> = note.split(' ').collect();
        match words.as_slice() {
            [by, of, ..] if **by != *token || **of != *tick => {}
            [_, _, "begun", at] => {
                self.begun_at = at.parse().ok().map(StoreTime::from_millis);
            }
            [_, _, "skipped"] if self.state == TickState::Done => {
                self.state = TickState::Skipped;
            }
            _ => {}
        }
        self
    }

    /// Notes how the tick ended.
    pub fn end(&mut self, end: &TickEnd, at: StoreTime) {
        self.state = end.state();
        self.finished_at = Some(at);
        if end.skipped {
            self.begun_at = None;
        }
    }

    /// Whether `end` is that of the tick it holds, as claimed with `token`.
    #[must_use]
    pub fn ends_with(&self, end: &TickEnd, token: FencingToken) -> bool {
        self.last_tick == end.tick && self.token == token && self.state != TickState::Planned
    }
}

fn skip_note(tick: u64, token: FencingToken) -> String {
    format!("{token} {tick} skipped")
}

/// A wish to start a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The plan that the claimer follows. Another plan than the ledger's is
    /// refused unless `replace_plan`.
    pub plan: Box<str>,
    /// Where tick 0 of a rate lies.
    pub origin: StoreTime,
    /// The tick to start.
    pub tick: u64,
    /// When it is due.
    pub due_at: StoreTime,
    /// Start this tick although the ledger has it as claimed by an earlier,
    /// smaller token: its leader died before the end.
    pub again: bool,
    /// Follow this plan from now on, whatever the ledger followed before.
    pub replace_plan: bool,
    /// Write the plan and start nothing: `tick` stays to be claimed. Only where
    /// there is no ledger, or over another plan with `replace_plan`.
    pub only_plan: bool,
    /// When it is begun, for people.
    pub begun_at: Option<StoreTime>,
}

impl Claim {
    /// A claim of a tick that no process has started.
    #[must_use]
    pub fn new(plan: impl Into<Box<str>>, origin: StoreTime, tick: u64, due_at: StoreTime) -> Self {
        Self {
            plan: plan.into(),
            origin,
            tick,
            due_at,
            again: false,
            replace_plan: false,
            only_plan: false,
            begun_at: None,
        }
    }

    /// The same claim, of a tick that is begun at `now`.
    #[must_use]
    pub fn begun_at(self, now: StoreTime) -> Self {
        Self {
            begun_at: Some(now),
            ..self
        }
    }

    /// The same claim, of a tick that an earlier leader left unfinished.
    #[must_use]
    pub fn again(self) -> Self {
        Self {
            again: true,
            ..self
        }
    }

    /// The same claim, under a plan that replaces the ledger's.
    #[must_use]
    pub fn replacing_plan(self) -> Self {
        Self {
            replace_plan: true,
            ..self
        }
    }

    /// The same claim, which writes the plan and starts nothing.
    #[must_use]
    pub fn only_plan(self) -> Self {
        Self {
            only_plan: true,
            begun_at: None,
            ..self
        }
    }

    /// The state it leaves its tick in.
    #[must_use]
    pub fn state(&self) -> TickState {
        if self.only_plan {
            TickState::Planned
        } else {
            TickState::Claimed
        }
    }

    /// Whether the rules allow this claim under `token` over what the ledger
    /// holds: rising ticks, tokens that do not fall, one plan.
    #[must_use]
    pub fn fits(&self, ledger: Option<&LedgerEntry>, token: FencingToken) -> bool {
        let Some(entry) = ledger else { return true };
        let is_other = entry.plan != self.plan;
        if (is_other && !self.replace_plan) || (!is_other && self.only_plan) {
            return false;
        }
        let is_at_it = entry.last_tick == self.tick;
        let unfinished = self.again
            && !self.only_plan
            && is_at_it
            && entry.state == TickState::Claimed
            && entry.token < token;
        let is_new = entry.last_tick < self.tick || (is_at_it && entry.state == TickState::Planned);
        (is_new && entry.token <= token) || unfinished
    }
}

/// The store's word on a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimAnswer {
    /// The tick is the claimer's to run.
    Claimed,
    /// The ledger forbids it; this is what it holds.
    Refused(LedgerEntry),
    /// The claimer's grant is gone: it is not the owner any more.
    NotOwner,
}

/// How a claimed tick ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TickEnd {
    /// Which tick.
    pub tick: u64,
    /// Whether it ended well.
    pub done: bool,
    /// It was too late to be run, and was not.
    pub skipped: bool,
}

impl TickEnd {
    /// The end of `tick`.
    #[must_use]
    pub fn new(tick: u64, done: bool) -> Self {
        Self {
            tick,
            done,
            skipped: false,
        }
    }

    /// The end of `tick`, which was too late to be run.
    #[must_use]
    pub fn skipped(tick: u64) -> Self {
        Self {
            skipped: true,
            ..Self::new(tick, true)
        }
    }

    /// The state it leaves the tick in.
    #[must_use]
    pub fn state(self) -> TickState {
        match (self.skipped, self.done) {
            (true, _) => TickState::Skipped,
            (false, true) => TickState::Done,
            (false, false) => TickState::Failed,
        }
    }

    /// The [note](LedgerEntry::note) to write in place of the one that is
    /// there, if it is to be another.
    #[must_use]
    pub fn note(self, token: FencingToken) -> Option<String> {
        self.skipped.then(|| skip_note(self.tick, token))
    }
}

/// The source of an error of kind [`Conflict`](crate::ErrorKind::Conflict)
/// when a name's ledger follows another plan than its user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherPlan {
    /// The plan in the ledger.
    pub stands: Box<str>,
    /// The plan that was refused.
    pub refused: Box<str>,
}

impl OtherPlan {
    /// The name runs as `stands`, and a process would run it as `refused`.
    pub fn new(stands: impl Into<Box<str>>, refused: impl Into<Box<str>>) -> Self {
        Self {
            stands: stands.into(),
            refused: refused.into(),
        }
    }
}

impl fmt::Display for OtherPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stands, refused } = self;
        write!(
            f,
            "the schedule of this name runs as \"{stands}\", and this one would run as \"{refused}\""
        )
    }
}

impl std::error::Error for OtherPlan {}

//! What there is to see: who takes part, who leads, what has happened.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::moment;

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    Waiting,
    Leading,
    Paused,
    Killed,
    Ended,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) name: &'static str,
    pub(super) pid: u32,
    pub(super) state: ProcessState,
    /// Its last one.
    pub(super) token: Option<u64>,
    pub(super) renewals: u64,
    pub(super) writes: u64,
    pub(super) ticks: u64,
}

/// How a note is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) at: Duration,
    pub(super) who: String,
    pub(super) what: String,
    pub(super) tone: Tone,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, what, .. } = self;
        let at = self.at.as_secs_f64();
        write!(f, "{at:6.2}s  {who:<9} {what}")
    }
}

#[derive(Clone, Debug)]
pub(super) struct Picture {
    start: Instant,
    pub(super) list: Vec<Process>,
    pub(super) notes: Vec<Note>,
    /// Which tick was run by whom.
    pub(super) ticks: BTreeMap<u64, usize>,
    /// The writes that were refused.
    pub(super) refused: u64,
    /// Who was elected last, and when its lease ends; a time of [`moment`].
    lease: Option<(usize, u64)>,
}

impl Picture {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            list: Vec::new(),
            notes: Vec::new(),
            ticks: BTreeMap::new(),
            refused: 0,
            lease: None,
        }
    }

    pub(super) fn enter(&mut self, name: &'static str, pid: u32) {
        self.list.push(Process {
            name,
            pid,
            state: ProcessState::Waiting,
            token: None,
            renewals: 0,
            writes: 0,
            ticks: 0,
        });
    }

    pub(super) fn note(&mut self, who: &str, what: &str, tone: Tone) -> &Note {
        self.notes.push(Note {
            at: self.elapsed(),
            who: who.to_owned(),
            what: what.to_owned(),
            tone,
        });
        self.notes.last().expect("one was just made")
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn accepted(&self) -> u64 {
        self.list.iter().map(|process| process.writes).sum()
    }

    pub(super) fn elected(&mut self, who: usize, token: u64, until: u64) {
        let process = &mut self.list[who];
        process.token = Some(token);
        process.renewals = 0;
        process.state = ProcessState::Leading;
        self.lease = Some((who, until));
    }

    pub(super) fn renewed(&mut self, who: usize, until: u64) {
        self.list[who].renewals += 1;
        // Also one that died since: its lease goes on without it.
        if self.lease.is_some_and(|(owner, _)| owner == who) {
            self.lease = Some((who, until));
        }
    }

    /// Who was elected last.
    pub(super) fn last_leader(&self) -> Option<&Process> {
        self.lease.map(|(who, _)| &self.list[who])
    }

    /// How long the lease lasts if nobody renews it.
    pub(super) fn left(&self) -> Duration {
        let until = self.lease.map_or(0, |(_, until)| until);
        Duration::from_nanos(until.saturating_sub(moment::now()))
    }
}

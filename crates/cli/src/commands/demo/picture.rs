//! What there is to see: who takes part, who leads, what has happened.

use std::fmt;
use std::time::{Duration, Instant};

use super::history::History;
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
    /// Dead, and all that it said has been heard.
    pub(super) is_gone: bool,
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
    pub(super) who: &'static str,
    pub(super) what: String,
    pub(super) tone: Tone,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, what, .. } = self;
        write!(f, "{:6.2}s  {who:<9} {what}", self.at.as_secs_f64())
    }
}

#[derive(Debug)]
pub(super) struct Picture {
    pub(super) start: Instant,
    pub(super) list: Vec<Process>,
    pub(super) notes: Vec<Note>,
    pub(super) history: History,
}

impl Picture {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            list: Vec::new(),
            notes: Vec::new(),
            history: History::default(),
        }
    }

    pub(super) fn enter(&mut self, name: &'static str, pid: u32) {
        let (state, is_gone) = (ProcessState::Waiting, false);
        self.list.push(Process {
            name,
            pid,
            state,
            is_gone,
        });
    }

    pub(super) fn note(&mut self, who: &'static str, what: impl Into<String>, tone: Tone) -> &Note {
        let (at, what) = (self.start.elapsed(), what.into());
        self.notes.push(Note {
            at,
            who,
            what,
            tone,
        });
        self.notes.last().expect("one was just made")
    }

    /// How long the lease lasts if it is not renewed.
    pub(super) fn left(&self) -> Duration {
        let until = self.history.leader().map_or(0, |(.., until)| until);
        Duration::from_nanos(until.saturating_sub(moment::now()))
    }
}

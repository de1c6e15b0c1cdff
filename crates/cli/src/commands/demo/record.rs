//! What has happened so far: who takes part, what leaders did, what was told of
//! it, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use super::contender::{Act, Did};
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

#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) state: ProcessState,
    /// Dead, and all that it said has been heard.
    pub(super) is_gone: bool,
    /// How many of its writes the resource took.
    pub(super) writes: u64,
}

/// How a note is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
}

/// A line of the log.
#[derive(Debug)]
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
pub(super) struct Record {
    pub(super) start: Instant,
    /// In the order of their names.
    pub(super) processes: Vec<Process>,
    pub(super) notes: Vec<Note>,
    /// Everything that was done as leader, in the order in which it was heard
    /// of, and by whom. Its times are of the clock that all processes of the
    /// host share.
    pub(super) acts: Vec<(usize, Act)>,
    /// How many writes the resource refused.
    pub(super) refused: u64,
}

impl Record {
    pub(super) fn new(pids: impl IntoIterator<Item = u32>) -> Self {
        let process = |pid| Process {
            pid,
            state: ProcessState::Waiting,
            is_gone: false,
            writes: 0,
        };
        Self {
            start: Instant::now(),
            processes: pids.into_iter().map(process).collect(),
            notes: Vec::new(),
            acts: Vec::new(),
            refused: 0,
        }
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

    /// Who was elected last, with which token, and when its lease ends. Also of
    /// one that died since: its lease goes on without it.
    pub(super) fn leader(&self) -> Option<(usize, u64, u64)> {
        let last = |(_, act): &&(usize, Act)| (act.token, act.until);
        let (who, act) = self.acts.iter().max_by_key(last)?;
        Some((*who, act.token, act.until))
    }

    /// How long the lease lasts if it is not renewed.
    pub(super) fn left(&self) -> Duration {
        let until = self.leader().map_or(0, |(.., until)| until);
        Duration::from_nanos(until.saturating_sub(moment::now()))
    }

    /// How many writes the resource took.
    pub(super) fn accepted(&self) -> u64 {
        self.processes.iter().map(|process| process.writes).sum()
    }

    /// The ticks of the schedule: number, who ran it and when.
    pub(super) fn ticks(&self) -> impl DoubleEndedIterator<Item = (u64, usize, u64)> {
        self.acts.iter().filter_map(|(who, act)| match act.did {
            Did::Tick { number, .. } => Some((number, *who, act.at)),
            Did::Write(_) => None,
        })
    }

    /// Who led in each term of office, by tokens, and when it did the first and
    /// the last thing in it.
    pub(super) fn terms(&self) -> BTreeMap<u64, (BTreeSet<usize>, u64, u64)> {
        let mut terms = BTreeMap::new();
        for (who, act) in &self.acts {
            let new = (BTreeSet::new(), act.at, act.at);
            let (leaders, first, last) = terms.entry(act.token).or_insert(new);
            leaders.insert(*who);
            (*first, *last) = ((*first).min(act.at), (*last).max(act.at));
        }
        terms
    }

    /// Each thing that must hold, and whether it does.
    pub(super) fn judged(&self) -> [(bool, String); 2] {
        let terms: Vec<_> = self.terms().into_values().collect();
        let follows = |pair: &[(BTreeSet<usize>, u64, u64)]| pair[0].2 < pair[1].1;
        let is_alone = terms.windows(2).all(follows) && terms.iter().all(|term| term.0.len() == 1);
        let numbered: BTreeMap<u64, u64> =
            self.ticks().map(|(number, _, at)| (number, at)).collect();
        let runners: BTreeSet<usize> = self.ticks().map(|(_, who, _)| who).collect();
        let (acts, ticks, runners) = (self.acts.len(), self.ticks().count(), runners.len());
        let is_once = numbered.len() == ticks && numbered.values().is_sorted() && runners > 1;
        let alone = "one leader at a time, each with a larger token";
        let once = format!("{ticks} ticks of the schedule by {runners} leaders");
        [
            (is_alone, format!("{alone}: by the record of {acts} acts")),
            (is_once, format!("{once}, in order, none twice")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether one leads at a time, and whether ticks are run once and in order.
    fn holds(acts: &[(usize, u64, u64)], ticks: &[u64]) -> [bool; 2] {
        let (mut record, late, until) = (Record::new([]), Duration::ZERO, 99);
        for ((who, token, at), number) in acts.iter().copied().zip(ticks.iter().copied()) {
            let did = Did::Tick { number, late };
            let act = Act {
                token,
                at,
                until,
                did,
            };
            record.acts.push((who, act));
        }
        record.judged().map(|(holds, _)| holds)
    }

    #[test]
    fn two_leaders_at_a_time_are_found() {
        // Heard of late, but done in time.
        let good = [(0, 1, 10), (1, 2, 30), (0, 1, 20)];
        assert_eq!(holds(&good, &[1, 3, 2]), [true, true]);
        let bad = [(0, 1, 10), (1, 2, 30), (0, 1, 31)];
        assert_eq!(holds(&bad, &[1, 2, 3]), [false, true]);
    }

    #[test]
    fn a_token_that_falls_or_has_two_owners_is_found() {
        assert!(!holds(&[(0, 2, 10), (1, 1, 30)], &[1, 2])[0]);
        assert!(!holds(&[(0, 1, 10), (1, 1, 20)], &[1, 2])[0]);
    }

    #[test]
    fn a_tick_that_is_doubled_or_out_of_order_is_found() {
        let acts = [(0, 1, 10), (1, 2, 20), (1, 2, 30)];
        assert_eq!(holds(&acts, &[1, 2, 3]), [true, true]);
        assert_eq!(holds(&acts, &[1, 2, 1]), [true, false]);
        assert_eq!(holds(&acts, &[1, 3, 2]), [true, false]);
    }
}

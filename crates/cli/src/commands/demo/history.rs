//! The record of what leaders did, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};

/// A term of office, from the first to the last thing its leader did in it, by
/// the clock that all processes of the host share.
#[derive(Clone, Copy, Debug)]
struct LeaderRecord {
    who: usize,
    token: u64,
    first: u64,
    last: u64,
}

/// Everything that was done as leader, and by whom.
#[derive(Debug, Default)]
pub(super) struct History {
    /// In the order in which they were heard of.
    terms: Vec<LeaderRecord>,
    /// Who ran each tick of the schedule, and when.
    pub(super) ticks: BTreeMap<u64, (usize, u64)>,
    pub(super) acts: u64,
}

impl History {
    /// `who` led with `token` at the time `at`.
    pub(super) fn acted(&mut self, who: usize, token: u64, at: u64) -> Result<(), String> {
        self.acts += 1;
        let Some(term) = self.terms.iter_mut().find(|term| term.token == token) else {
            let (first, last) = (at, at);
            let term = LeaderRecord {
                who,
                token,
                first,
                last,
            };
            self.terms.push(term);
            return Ok(());
        };
        if term.who != who {
            return Err(format!(
                "expected: token {token} belongs to one leader; two had it"
            ));
        }
        term.first = term.first.min(at);
        term.last = term.last.max(at);
        Ok(())
    }

    /// `who` ran a tick of the schedule.
    pub(super) fn ran(&mut self, who: usize, number: u64, at: u64) -> Result<(), String> {
        match self.ticks.insert(number, (who, at)) {
            None => Ok(()),
            Some(_) => Err(format!("expected: tick {number} is run once; it ran twice")),
        }
    }

    pub(super) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Those of the processes that ran ticks.
    pub(super) fn runners(&self) -> usize {
        let runners = self.ticks.values().map(|(who, _)| *who);
        runners.collect::<BTreeSet<_>>().len()
    }

    /// Whether no leader did anything before the last one had stopped.
    pub(super) fn has_one_leader_at_a_time(&self) -> bool {
        let terms = self.by_time();
        terms.windows(2).all(|pair| pair[0].last < pair[1].first)
    }

    /// Whether the later leader had the larger token.
    pub(super) fn has_rising_tokens(&self) -> bool {
        self.by_time().is_sorted_by_key(|term| term.token)
    }

    /// Whether ticks were run in the order of their numbers.
    pub(super) fn has_ticks_in_order(&self) -> bool {
        let times: Vec<u64> = self.ticks.values().map(|(_, at)| *at).collect();
        times.is_sorted()
    }

    fn by_time(&self) -> Vec<LeaderRecord> {
        let mut terms = self.terms.clone();
        terms.sort_by_key(|term| term.first);
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(acts: &[(usize, u64, u64)]) -> History {
        let mut history = History::default();
        for (who, token, at) in acts {
            history.acted(*who, *token, *at).unwrap();
        }
        history
    }

    #[test]
    fn two_leaders_at_a_time_are_found() {
        // Heard of late, but done in time.
        let good = history(&[(0, 1, 10), (1, 2, 30), (0, 1, 20)]);
        assert!(good.has_one_leader_at_a_time() && good.has_rising_tokens());
        assert_eq!((good.terms(), good.acts), (2, 3));
        let bad = history(&[(0, 1, 10), (1, 2, 30), (0, 1, 31)]);
        assert!(!bad.has_one_leader_at_a_time());
    }

    #[test]
    fn a_token_that_falls_or_has_two_owners_is_found() {
        assert!(!history(&[(0, 2, 10), (1, 1, 30)]).has_rising_tokens());
        let mut shared = history(&[(0, 1, 10)]);
        assert!(shared.acted(1, 1, 20).is_err());
    }

    #[test]
    fn a_tick_that_is_doubled_or_out_of_order_is_found() {
        let mut history = History::default();
        history.ran(0, 1, 10).unwrap();
        history.ran(1, 2, 20).unwrap();
        assert!(history.has_ticks_in_order());
        assert_eq!((history.ticks.len(), history.runners()), (2, 2));
        assert!(history.ran(1, 1, 30).is_err());
        assert!(!history.has_ticks_in_order());
    }
}

//! The record of what leaders did, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};

use super::contender::{Act, Did};

/// Everything that was done as leader, in the order in which it was heard of,
/// and by whom. Its times are of the clock that all processes of the host share.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) acts: Vec<(usize, Act)>,
    /// The writes that the resource took, by process.
    pub(super) accepted: BTreeMap<usize, u64>,
    pub(super) refused: u64,
}

impl History {
    /// Who was elected last, with which token, and when its lease ends. Also of
    /// one that died since: its lease goes on without it.
    pub(super) fn leader(&self) -> Option<(usize, u64, u64)> {
        let last = |(_, act): &&(usize, Act)| (act.token, act.until);
        let (who, act) = self.acts.iter().max_by_key(last)?;
        Some((*who, act.token, act.until))
    }

    /// The last token of `who`.
    #[cfg(feature = "views")]
    pub(super) fn token(&self, who: usize) -> Option<u64> {
        let acts = self.acts.iter().filter(|(by, _)| *by == who);
        acts.map(|(_, act)| act.token).max()
    }

    /// How many writes of `who` were accepted.
    pub(super) fn writes(&self, who: usize) -> u64 {
        self.accepted.get(&who).copied().unwrap_or(0)
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
    use std::time::Duration;

    use super::*;

    /// Whether one leads at a time, and whether ticks are run once and in order.
    fn holds(acts: &[(usize, u64, u64)], ticks: &[u64]) -> [bool; 2] {
        let (mut history, late, until) = (History::default(), Duration::ZERO, 99);
        for ((who, token, at), number) in acts.iter().copied().zip(ticks.iter().copied()) {
            let did = Did::Tick { number, late };
            let act = Act {
                token,
                at,
                until,
                did,
            };
            history.acts.push((who, act));
        }
        history.judged().map(|(holds, _)| holds)
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

//! [`History`]: who has owned what since the view began to look.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use tenure::model::{FencingToken, MutexName};
use tenure_dashboard::status::Row;

/// One cell of a sparkline stands for so long.
pub(super) const CELL: Duration = Duration::from_secs(10);
/// So many cells are kept: ten minutes.
pub(super) const CELLS: usize = 60;
/// So many changes of one mutex are kept.
const KEPT: usize = 100;

/// A mutex has another owner, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: Instant,
    pub(super) owner: Option<String>,
    pub(super) token: Option<FencingToken>,
}

/// How often something happened, cell by cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    /// The last one is that of `newest`.
    cells: VecDeque<u32>,
    newest: u64,
    /// Since the beginning.
    pub(super) total: u64,
}

impl Pulse {
    fn beat(&mut self, cell: u64) {
        let empty = cell.saturating_sub(self.newest).min(CELLS as u64);
        self.newest = self.newest.max(cell);
        self.cells.extend((0..empty).map(|_| 0));
        match self.cells.back_mut() {
            Some(count) => *count += 1,
            None => self.cells.push_back(1),
        }
        let old = self.cells.len().saturating_sub(CELLS);
        self.cells.drain(..old);
        self.total += 1;
    }

    /// The `count` cells up to `now`, the oldest first.
    fn recent(&self, now: u64, count: usize) -> Vec<u32> {
        let since = usize::try_from(now.saturating_sub(self.newest)).unwrap_or(count);
        let mut recent: Vec<u32> = std::iter::repeat_n(0, since.min(count))
            .chain(self.cells.iter().rev().copied())
            .chain(std::iter::repeat(0))
            .take(count)
            .collect();
        recent.reverse();
        recent
    }
}

/// What is known of one mutex.
#[derive(Debug)]
struct Past {
    owner: Option<String>,
    token: Option<FencingToken>,
    /// What it was last wanted for.
    kind: Option<&'static str>,
    /// The latest comes last.
    changes: VecDeque<Change>,
    pulse: Pulse,
    /// The look that saw it last, and when that was.
    seen: (u64, Instant),
}

/// What has been seen.
#[derive(Debug)]
pub(super) struct History {
    start: Instant,
    looks: u64,
    mutexes: HashMap<String, Past>,
    all: Pulse,
}

impl History {
    pub(super) fn begin(start: Instant) -> Self {
        Self {
            start,
            looks: 0,
            mutexes: HashMap::new(),
            all: Pulse::default(),
        }
    }

    /// Compares with what was seen before. Of mutexes that a look does not
    /// tell of something is known only if it told of all.
    pub(super) fn hear_of(&mut self, rows: &[Row], is_whole: bool, at: Instant) {
        let cell = self.cell(at);
        self.looks += 1;
        for row in rows {
            match self.mutexes.get_mut(&row.name) {
                Some(past) => {
                    past.seen = (self.looks, at);
                    past.kind = row.kind.or(past.kind);
                    let is_new = past.go(row.owner.as_deref(), row.token, at);
                    if is_new {
                        past.pulse.beat(cell);
                        self.all.beat(cell);
                    }
                }
                None => {
                    let mut past = Past::begin(row, (self.looks, at));
                    // Of the first look it is not known since when it is so; the
                    // first look at reentrant locks comes later.
                    let is_first = self.looks == 1 || row.holds.is_some();
                    if !is_first && past.owner.is_some() {
                        past.record(at);
                        past.pulse.beat(cell);
                        self.all.beat(cell);
                    }
                    self.mutexes.insert(row.name.clone(), past);
                }
            }
        }
        if is_whole {
            self.end_what_is_gone(at);
        }
    }

    /// Many stores know nothing of a mutex that is free.
    fn end_what_is_gone(&mut self, at: Instant) {
        let looks = self.looks;
        for past in self.mutexes.values_mut() {
            if past.seen.0 != looks {
                past.go(None, past.token, at);
            }
        }
        // Names may be made out of data: they come and go for ever.
        let kept = CELL * u32::try_from(CELLS).unwrap_or(u32::MAX);
        self.mutexes
            .retain(|_, past| past.seen.0 == looks || at.duration_since(past.seen.1) < kept);
    }

    /// Those that the last look, which told of all, did not tell of: they are
    /// free, and have not been so for long.
    pub(super) fn gone(&self) -> impl Iterator<Item = Row> {
        let gone = self.mutexes.iter();
        let gone = gone.filter(|(_, past)| past.seen.0 != self.looks);
        gone.map(|(name, past)| {
            let mut row = Row::free(&MutexName::found(name));
            row.token = past.token;
            row.kind = past.kind;
            row
        })
    }

    fn cell(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_secs() / CELL.as_secs()
    }

    /// How often `name` got an owner, in each of the last `count` cells; the
    /// oldest first.
    pub(super) fn pulse(&self, name: &str, count: usize, now: Instant) -> Vec<u32> {
        match self.mutexes.get(name) {
            Some(past) => past.pulse.recent(self.cell(now), count),
            None => vec![0; count],
        }
    }

    /// The same of all together.
    pub(super) fn pulse_of_all(&self, count: usize, now: Instant) -> Vec<u32> {
        self.all.recent(self.cell(now), count)
    }

    /// How often `name` got an owner since the beginning.
    pub(super) fn total(&self, name: &str) -> u64 {
        self.mutexes.get(name).map_or(0, |past| past.pulse.total)
    }

    /// What has changed of `name`, the latest first.
    pub(super) fn changes(&self, name: &str) -> impl Iterator<Item = &Change> {
        let past = self.mutexes.get(name);
        past.into_iter().flat_map(|past| past.changes.iter().rev())
    }

    /// How long it has been looked.
    pub(super) fn length(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.start)
    }
}

impl Past {
    fn begin(row: &Row, seen: (u64, Instant)) -> Self {
        Self {
            owner: row.owner.clone(),
            token: row.token,
            kind: row.kind,
            changes: VecDeque::new(),
            pulse: Pulse::default(),
            seen,
        }
    }

    /// Whether it has another owner; also the same one that has won it anew.
    fn go(&mut self, owner: Option<&str>, token: Option<FencingToken>, at: Instant) -> bool {
        let is_same = self.owner.as_deref() == owner && (owner.is_none() || self.token == token);
        self.token = token;
        if is_same {
            return false;
        }
        self.owner = owner.map(str::to_owned);
        self.record(at);
        self.owner.is_some()
    }

    fn record(&mut self, at: Instant) {
        if self.changes.len() == KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back(Change {
            at,
            owner: self.owner.clone(),
            token: self.token,
        });
    }
}

/// The cells as blocks of one line; what is nothing is the lowest.
pub(super) fn sparkline(cells: &[u32]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = cells.iter().copied().max().unwrap_or(0).max(1);
    let steps = BLOCKS.len() as u32 - 1;
    let block = |count: &u32| {
        // Once is to be seen beside a thousand times.
        let step = u64::from(*count) * u64::from(steps);
        BLOCKS[usize::try_from(step.div_ceil(u64::from(most))).unwrap_or(0)]
    };
    cells.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, owner: Option<(&str, u64)>) -> Row {
        let mut row = Row::free(&MutexName::new(name).unwrap());
        row.owner = owner.map(|(owner, _)| owner.to_owned());
        row.token = owner.map(|(_, token)| token.to_string().parse().unwrap());
        row
    }

    fn owners(history: &History, name: &str) -> Vec<Option<String>> {
        let changes = history.changes(name);
        changes.map(|change| change.owner.clone()).collect()
    }

    #[test]
    fn what_is_seen_first_is_no_change_and_the_rest_is() {
        let start = Instant::now();
        let mut history = History::begin(start);
        let look = |history: &mut History, rows: &[Row], seconds| {
            history.hear_of(rows, true, start + Duration::from_secs(seconds));
        };
        look(&mut history, &[row("a", Some(("x", 1)))], 0);
        assert_eq!(history.total("a"), 0);
        look(&mut history, &[row("a", Some(("x", 1)))], 1);
        look(&mut history, &[row("a", Some(("y", 2)))], 2);
        // It has won it anew.
        look(&mut history, &[row("a", Some(("y", 3)))], 3);
        // Its row is gone, another has come.
        look(&mut history, &[row("b", Some(("z", 9)))], 4);
        look(&mut history, &[row("a", None), row("b", None)], 5);
        assert_eq!(history.total("a"), 2);
        assert_eq!(history.total("b"), 1);
        let y = || Some("y".to_owned());
        assert_eq!(owners(&history, "a"), [None, y(), y()]);
        assert_eq!(owners(&history, "b"), [None, Some("z".to_owned())]);
        let now = start + Duration::from_secs(5);
        assert_eq!(history.pulse_of_all(2, now), [0, 3]);
    }

    #[test]
    fn a_look_that_does_not_tell_of_all_ends_nothing() {
        let start = Instant::now();
        let mut history = History::begin(start);
        history.hear_of(&[row("a", Some(("x", 1))), row("b", None)], true, start);
        history.hear_of(&[row("b", None)], false, start);
        assert!(owners(&history, "a").is_empty());
        history.hear_of(&[row("b", None)], true, start);
        assert_eq!(owners(&history, "a"), [None]);
        let gone: Vec<String> = history.gone().map(|row| row.name).collect();
        assert_eq!(gone, ["a"]);
    }

    #[test]
    fn cells_go_on_while_nothing_happens() {
        let mut pulse = Pulse::default();
        assert_eq!(pulse.recent(5, 3), [0, 0, 0]);
        for cell in [0, 0, 2] {
            pulse.beat(cell);
        }
        assert_eq!(pulse.recent(2, 4), [0, 2, 0, 1]);
        assert_eq!(pulse.recent(4, 4), [0, 1, 0, 0]);
        assert_eq!(pulse.recent(1_000_000, 4), [0; 4]);
        pulse.beat(1_000_000);
        assert_eq!(pulse.recent(1_000_000, 2), [0, 1]);
        assert_eq!(pulse.cells.len(), CELLS);
        assert_eq!(pulse.total, 4);
    }

    #[test]
    fn what_comes_and_goes_for_ever_is_forgotten() {
        let start = Instant::now();
        let mut history = History::begin(start);
        for number in 0..1_000 {
            let at = start + Duration::from_secs(10 * number);
            let name = format!("customer-{number}");
            history.hear_of(&[row(&name, Some(("x", 1)))], true, at);
            assert!(history.mutexes.len() <= CELLS + 1);
        }
        for number in 0..1_000 {
            let rows = [row("busy", Some(("x", number)))];
            history.hear_of(&rows, true, start);
        }
        assert_eq!(history.changes("busy").count(), KEPT);
    }

    #[test]
    fn once_is_seen_beside_a_thousand_times() {
        assert_eq!(sparkline(&[0, 1, 500, 1_000]), "▁▂▅█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[1]), "█");
    }
}

//! [`Board`]: all that was seen of a store, with what has changed since when.

mod ask;
mod merge;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tenure::model::{FencingToken, MutexName};
use tenure::schedule::RunResult;

pub(crate) use ask::Ask;

use crate::history::{Histories, Now, Span, shown};
use crate::kinds::Kinds;
use crate::status::{Row, Run, millis};

/// How many names that are gone are remembered, for pages that are behind. One
/// that is further behind gets all rows again.
const MOST_GONE: usize = 4_096;
/// Of one schedule.
const MOST_RUNS: usize = 20;

/// All that was seen.
#[derive(Debug)]
pub(crate) struct Board {
    version: u64,
    rows: BTreeMap<Arc<str>, Placed>,
    gone: VecDeque<(u64, Arc<str>)>,
    /// Of what was gone at this version or earlier, not all is remembered.
    forgotten: u64,
    histories: Histories,
    runs: HashMap<Arc<str>, VecDeque<Run>>,
    looking_since: SystemTime,
    /// The lease of this server's own terms.
    lease: Duration,
    /// When the store last told all.
    whole: Option<Now>,
    /// Why what there is is not all.
    cut: Option<String>,
}

/// A row, and when it last changed in more than the passing of time.
#[derive(Debug)]
struct Placed {
    row: Row,
    changed: u64,
}

/// What has changed, for a page.
#[derive(Debug, Serialize)]
pub(crate) struct Changes {
    pub(crate) version: u64,
    pub(crate) total: usize,
    whole: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    too_many: bool,
    mutexes: Vec<Row>,
    gone: Vec<String>,
}

/// One mutex with its history.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    mutex: Row,
    history: Vec<Span>,
    looking_since: String,
}

/// The histories of some.
#[derive(Debug, Serialize)]
pub(crate) struct SomeHistories {
    looking_since: String,
    now: String,
    histories: BTreeMap<String, Vec<Span>>,
}

impl Board {
    pub(crate) fn new(lease: Duration) -> Self {
        let looking_since = SystemTime::now();
        Self {
            version: 0,
            rows: BTreeMap::new(),
            gone: VecDeque::new(),
            forgotten: 0,
            histories: Histories::new(looking_since),
            runs: HashMap::new(),
            looking_since,
            lease,
            whole: None,
            cut: None,
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn total(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn looking_since(&self) -> String {
        shown(self.looking_since)
    }

    /// When the store last told all.
    pub(crate) fn whole(&self) -> Option<Now> {
        self.whole
    }

    /// Why what there is is not all.
    pub(crate) fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Whether the store has told anything yet.
    pub(crate) fn has_told(&self) -> bool {
        self.whole.is_some() || !self.rows.is_empty()
    }

    /// Takes what a look has told: all there is, or, where `cut` says why, a part.
    pub(crate) fn take(&mut self, mut rows: Vec<Row>, kinds: &Kinds, cut: Option<String>) {
        kinds.tell_all(&mut rows);
        // A reentrant lock may have the name of a mutex: the mutex is shown.
        rows.dedup_by(|later, first| later.name == first.name);
        self.take_runs(kinds);
        let now = Now::read();
        let (next, is_first) = (self.version + 1, self.whole.is_none());
        let mut before = match cut {
            None => std::mem::take(&mut self.rows),
            Some(_) => BTreeMap::new(),
        };
        let mut has_changed = false;
        for mut row in rows {
            let (name, known) = match before.remove_entry(row.name.as_str()) {
                Some((name, placed)) => (name, Some(placed)),
                None => match self.rows.remove_entry(row.name.as_str()) {
                    Some((name, placed)) => (name, Some(placed)),
                    None => (Arc::from(row.name.as_str()), None),
                },
            };
            if let Some(runs) = self.runs.get(&name) {
                row.runs = runs.iter().cloned().collect();
            }
            let known_row = known.as_ref().map(|placed| &placed.row);
            merge::complete(&mut row, known_row, self.lease);
            if row.owner.is_none() && row.kind.is_none() {
                row.kind = self.histories.last_kind(&name);
            }
            self.histories.see(&name, &row, is_first, now);
            let changed = match &known {
                Some(placed) if !merge::is_news(&placed.row, &row) => placed.changed,
                _ => next,
            };
            has_changed |= changed == next;
            self.rows.insert(name, Placed { row, changed });
        }
        for name in before.into_keys() {
            self.histories.see_free(&name, now.at, now);
            self.runs.remove(&name);
            self.gone.push_back((next, name));
            has_changed = true;
        }
        while self.gone.len() > MOST_GONE {
            let first = self.gone.pop_front();
            self.forgotten = first.map_or(self.forgotten, |(version, _)| version);
        }
        if cut.is_none() {
            self.whole = Some(now);
        }
        has_changed |= self.cut != cut || is_first;
        self.cut = cut;
        if has_changed {
            self.version = next;
        }
    }

    fn take_runs(&mut self, kinds: &Kinds) {
        for (name, run) in kinds.runs() {
            let runs = self.runs.entry(Arc::from(name.as_str())).or_default();
            match runs.back_mut() {
                // The same, further on; or begun again by the next leader.
                Some(last) if last.run == run.run => *last = run,
                last => {
                    // It has ended since, however.
                    if let Some(last) = last
                        && last.outcome == Some(RunResult::Running.word())
                    {
                        last.outcome = None;
                    }
                    runs.push_back(run);
                }
            }
            if runs.len() > MOST_RUNS {
                runs.pop_front();
            }
        }
    }

    /// What has changed since a page was told of the version `since`; all that
    /// there is where it was told nothing, or is too far behind.
    pub(crate) fn changes(&self, since: Option<u64>, limit: usize) -> Changes {
        let at = Instant::now();
        let mut changes = Changes {
            version: self.version,
            total: self.rows.len(),
            whole: false,
            too_many: self.rows.len() > limit,
            mutexes: Vec::new(),
            gone: Vec::new(),
        };
        if changes.too_many {
            return changes;
        }
        let since = since.filter(|since| *since >= self.forgotten);
        changes.whole = since.is_none();
        let rows = self.rows.values();
        let rows = rows.filter(|placed| since.is_none_or(|since| placed.changed > since));
        changes.mutexes = rows.map(|placed| placed.row.at(at)).collect();
        if let Some(since) = since {
            let gone = self.gone.iter();
            // One that came again is among the rows.
            let gone =
                gone.filter(|(version, name)| *version > since && !self.rows.contains_key(&**name));
            changes.gone = gone.map(|(_, name)| name.to_string()).collect();
            changes.gone.sort_unstable();
            changes.gone.dedup();
        }
        changes
    }

    /// One mutex, also one that is gone and was seen to be owned.
    pub(crate) fn detail(&self, name: &str) -> Option<Detail> {
        let history = self.histories.of(name);
        let row = self
            .rows
            .get(name)
            .map(|placed| placed.row.at(Instant::now()));
        if row.is_none() && history.is_none() {
            return None;
        }
        let gone = || {
            let mut row = Row::free(&MutexName::found(name));
            row.kind = self.histories.last_kind(name);
            row
        };
        Some(Detail {
            mutex: row.unwrap_or_else(gone),
            history: history.unwrap_or_default(),
            looking_since: self.looking_since(),
        })
    }

    pub(crate) fn histories(&self, names: &[String]) -> SomeHistories {
        let known = names.iter().filter_map(|name| {
            let history = self.histories.of(name)?;
            Some((name.clone(), history))
        });
        SomeHistories {
            looking_since: self.looking_since(),
            now: shown(SystemTime::now()),
            histories: known.collect(),
        }
    }

    /// Notes that this server has freed a mutex by force.
    pub(crate) fn revoked(&mut self, name: &str, token: Option<FencingToken>) {
        self.histories.revoked(name, token, Now::read());
    }

    /// Whether a name is that of a lock in the layout of reentrant locks.
    pub(crate) fn is_reentrant(&self, name: &str) -> bool {
        let placed = self.rows.get(name);
        placed.is_some_and(|placed| placed.row.holds.is_some())
    }

    /// How old what was seen is.
    pub(crate) fn age_ms(&self) -> Option<u64> {
        self.whole.map(|whole| millis(whole.at.elapsed()))
    }
}

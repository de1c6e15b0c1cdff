//! What all slices came to, in one file that grows.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::slice::{Outcome, SlicePlan};

/// The file: slices of every store and seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// In the order in which they were run.
    pub slices: Vec<Slice>,
}

/// What is kept of one slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// The topology.
    pub store: String,
    /// What everything was chosen by.
    pub seed: u64,
    /// The how manieth slice of the seed.
    pub index: u64,
    /// How long it took, in seconds.
    pub seconds: u64,
    /// Tenures that were handed out.
    pub grants: u64,
    /// Those that ended by themselves.
    pub losses: u64,
    /// Uses of what is protected.
    pub uses: u64,
    /// Runs of the schedule.
    pub runs: u64,
    /// Late writes that the fenced register refused.
    pub late_refused: u64,
    /// Late writes that the register without a fence took.
    pub late_taken: u64,
    /// Times that two owned because the store forgot.
    pub forgotten: u64,
    /// The longest of them, in milliseconds.
    pub longest_forgotten: u64,
    /// How long the slowest mutex took to go on again after faults, in
    /// milliseconds.
    pub slowest: u64,
    /// How many mishaps were meant to happen and could not.
    pub failed: u64,
    /// How often each mishap happened.
    pub faults: BTreeMap<String, u64>,
    /// What was broken, in words.
    pub violations: Vec<String>,
}

impl Slice {
    /// What is kept of `outcome`.
    #[must_use]
    pub fn of(plan: &SlicePlan, outcome: &Outcome) -> Self {
        let tally = outcome.verdict.tally;
        let millis = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let faults = outcome.mishaps.iter();
        let violations = outcome.verdict.violations.iter();
        Self {
            store: plan.store.clone(),
            seed: plan.seed,
            index: plan.index,
            seconds: outcome.took.as_secs(),
            grants: tally.grants,
            losses: tally.losses,
            uses: tally.uses,
            runs: tally.runs,
            late_refused: tally.late_refused,
            late_taken: tally.late_taken,
            forgotten: tally.forgotten,
            longest_forgotten: millis(tally.longest_forgotten),
            slowest: millis(outcome.slowest),
            failed: outcome.failed,
            faults: faults
                .map(|(name, times)| ((*name).to_owned(), *times))
                .collect(),
            violations: violations.map(ToString::to_string).collect(),
        }
    }
}

impl Results {
    /// Reads the file; none is no slice.
    ///
    /// # Errors
    /// When it cannot be read, or is something else.
    pub fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Adds a slice to the file, in the place of an earlier run of the same. Several runs may do
    /// so at once: the file is read again, under a lock.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(path: &Path, slice: Slice) -> io::Result<Self> {
        let lock = fs::File::create(path.with_extension("lock"))?;
        lock.lock()?;
        let mut results = Self::read(path)?;
        let is_other =
            |it: &Slice| (&it.store, it.seed, it.index) != (&slice.store, slice.seed, slice.index);
        results.slices.retain(is_other);
        results.slices.push(slice);
        let text = serde_json::to_string_pretty(&results)?;
        let new = path.with_extension("new");
        fs::write(&new, text + "\n")?;
        fs::rename(new, path)?;
        Ok(results)
    }

    /// Whether this slice was run before, and all promises held. One that found
    /// something is run again.
    #[must_use]
    pub fn has(&self, plan: &SlicePlan) -> bool {
        let is_it =
            |it: &Slice| (&it.store, it.seed, it.index) == (&plan.store, plan.seed, plan.index);
        let held = |it: &&Slice| it.violations.is_empty();
        self.slices.iter().filter(held).any(is_it)
    }

    /// The slices of each store.
    #[must_use]
    pub fn by_store(&self) -> BTreeMap<&str, Vec<&Slice>> {
        let mut stores: BTreeMap<&str, Vec<&Slice>> = BTreeMap::new();
        for slice in &self.slices {
            stores.entry(&slice.store).or_default().push(slice);
        }
        stores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_add_up_and_one_that_is_run_again_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let slice = |index, grants| Slice {
            store: "redis".to_owned(),
            index,
            grants,
            ..Slice::default()
        };
        for (index, grants) in [(0, 1), (1, 2), (0, 3)] {
            Results::add(&path, slice(index, grants)).unwrap();
        }
        let results = Results::read(&path).unwrap();
        let grants: Vec<_> = results.slices.iter().map(|slice| slice.grants).collect();
        assert_eq!(grants, [2, 3]);
        let plan = |index| SlicePlan {
            store: "redis".to_owned(),
            seed: 0,
            index,
            length: Duration::ZERO,
            only: Vec::new(),
        };
        assert!(results.has(&plan(1)) && !results.has(&plan(2)));
    }
}

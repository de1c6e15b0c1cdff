//! How far the workers have come, mutex by mutex and worker by worker.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_testkit::history::{Event, What};

/// What was last seen of each mutex, and of each worker at each mutex.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The last two times that a mutex was granted, or a tick of it begun.
    turns: BTreeMap<Box<str>, [Duration; 2]>,
    /// When each worker last asked for a mutex, or got it.
    signs: BTreeMap<(Box<str>, Box<str>), Duration>,
    /// Which worker was last granted each mutex, and when.
    owners: BTreeMap<Box<str>, (Box<str>, Duration)>,
}

impl Progress {
    /// Takes notice of `event`.
    pub fn see(&mut self, event: &Event) {
        let (name, is_turn) = match &event.what {
            What::Granted { tenure, .. } => (tenure.name.as_str(), true),
            What::Ran {
                schedule,
                ended: None,
                ..
            } => (schedule.as_str(), true),
            What::Asked { name } => (name.as_str(), false),
            _ => return,
        };
        if let What::Granted { .. } = event.what {
            let owner = (worker(&event.process).into(), event.at);
            let last = self
                .owners
                .entry(name.into())
                .or_insert_with(|| owner.clone());
            if last.1 < owner.1 {
                *last = owner;
            }
        }
        let sign = (worker(&event.process).into(), name.into());
        let last = self.signs.entry(sign).or_default();
        *last = event.at.max(*last);
        if is_turn {
            let [before, last] = self.turns.entry(name.into()).or_default();
            // Workers tell of them one after the other, not in their order.
            let new = event.at.max(*last);
            *before = (*before).max(event.at.min(*last));
            *last = new;
        }
    }

    /// Those of `names` that had fewer than so many turns since `moment`, one or two. Who takes what
    /// was left by a fault has not shown yet that it can be given on: it takes two to see that.
    #[must_use]
    pub fn still<'a>(&self, names: &[&'a str], turns: usize, moment: Duration) -> Vec<&'a str> {
        let place = 2 - turns.clamp(1, 2);
        let is_still = |name: &&str| self.turns.get(*name).is_none_or(|at| at[place] < moment);
        names.iter().copied().filter(is_still).collect()
    }

    /// The worker that was last granted `name`, if that was not before `moment`.
    #[must_use]
    pub fn owner(&self, name: &str, moment: Duration) -> Option<&str> {
        let owner = self.owners.get(name).filter(|(_, at)| *at >= moment);
        owner.map(|(worker, _)| &**worker)
    }

    /// The workers, of so many, that neither asked for one of `names` nor got it since `moment`.
    #[must_use]
    pub fn silent(&self, workers: usize, names: &[&str], moment: Duration) -> Vec<String> {
        let workers = (0..workers).map(|at| format!("w{at}"));
        let pairs = workers.flat_map(|worker| {
            let pair = |name: &&str| (worker.as_str().into(), (*name).into());
            names.iter().map(pair).collect::<Vec<_>>()
        });
        let is_silent =
            |pair: &(Box<str>, Box<str>)| self.signs.get(pair).is_none_or(|at| *at < moment);
        let silent = pairs.filter(is_silent);
        silent
            .map(|(worker, name)| format!("{worker} at {name:?}"))
            .collect()
    }
}

/// The name of a worker, whatever life of it this is.
fn worker(process: &str) -> &str {
    process.split('.').next().unwrap_or(process)
}

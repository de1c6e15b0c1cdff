//! Watches every tenure of a world as it happens.

use std::collections::BTreeMap;

use crate::model::{FencingToken, MutexName};

/// True time, in nanoseconds of the world.
pub(super) type True = u64;

#[derive(Debug)]
struct Open {
    process: usize,
    until: True,
}

#[derive(Debug, Default)]
pub(super) struct Judge {
    open: BTreeMap<MutexName, Vec<Open>>,
    last_token: BTreeMap<MutexName, FencingToken>,
    /// Until when the store's own amnesia excuses two owners.
    excused_until: True,
}

impl Judge {
    pub(super) fn excuse_until(&mut self, until: True) {
        self.excused_until = self.excused_until.max(until);
    }

    /// A tenure begins; it is valid until the true time `until`.
    pub(super) fn begins(
        &mut self,
        now: True,
        process: usize,
        name: &MutexName,
        token: FencingToken,
        until: True,
    ) -> Result<(), String> {
        let last = self.last_token.get(name).copied();
        // A grant that the store forgot may be heard of after the next one.
        if last.is_some_and(|last| token <= last) && now >= self.excused_until {
            return Err(format!(
                "token {token:?} of process {process} does not rise over {last:?}"
            ));
        }
        self.last_token
            .insert(name.clone(), last.map_or(token, |last| last.max(token)));
        self.open
            .entry(name.clone())
            .or_default()
            .push(Open { process, until });
        self.check(now, name)
    }

    pub(super) fn extends(
        &mut self,
        now: True,
        process: usize,
        name: &MutexName,
        until: True,
    ) -> Result<(), String> {
        let open = self.open.entry(name.clone()).or_default();
        let Some(tenure) = open.iter_mut().find(|open| open.process == process) else {
            return Err(format!(
                "process {process} extends a tenure it does not have"
            ));
        };
        if tenure.until <= now {
            return Err(format!(
                "process {process} brings a tenure back from the dead"
            ));
        }
        tenure.until = until;
        self.check(now, name)
    }

    pub(super) fn ends(&mut self, process: usize, name: &MutexName) {
        self.open
            .entry(name.clone())
            .or_default()
            .retain(|open| open.process != process);
    }

    /// Whether `process` may act in the name of its tenure at `now`.
    pub(super) fn is_valid(&self, now: True, process: usize, name: &MutexName) -> bool {
        let open = self.open.get(name);
        open.is_some_and(|open| open.iter().any(|o| o.process == process && now < o.until))
    }

    pub(super) fn owners(&self, now: True, name: &MutexName) -> usize {
        self.open
            .get(name)
            .map_or(0, |open| open.iter().filter(|o| now < o.until).count())
    }

    fn check(&self, now: True, name: &MutexName) -> Result<(), String> {
        if now < self.excused_until {
            return Ok(());
        }
        let valid: Vec<_> = self.open[name]
            .iter()
            .filter(|open| now < open.until)
            .collect();
        if valid.len() > 1 {
            return Err(format!("two owners of {name:?} at {now}: {valid:?}"));
        }
        Ok(())
    }
}

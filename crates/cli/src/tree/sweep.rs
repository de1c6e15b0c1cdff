//! Ending a tree: politely, then by force, until no process is left.

use rustix::process::{Pid, Signal};

use super::Tree;

const SECOND: u64 = 1_000_000_000;
/// How soon to look again.
const PAUSE: u64 = 5_000_000;
/// How long those that have been killed may take to be gone.
const PATIENCE: u64 = 2 * SECOND;
/// How many looks in a row must find no process. One is not enough: one that is
/// born while we read, by a parent that dies before we come to it, is not seen.
const LOOKS: u8 = 3;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// No process is left.
    Done,
    /// These are left, and cannot be ended.
    Left(Vec<Pid>),
    /// Look again after so many nanoseconds.
    Again(u64),
}

/// The end of a tree, step by step; the caller does the waiting.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// When those who were asked are killed.
    force_at: u64,
    was_asked: bool,
    /// How many looks in a row have found no process.
    empty: u8,
    /// Whether they have been killed once, one by one.
    was_forced: bool,
}

impl Sweep {
    /// Begins at `now`, in nanoseconds: asks, and kills after `grace`.
    pub(crate) fn new(now: u64, grace: u64) -> Self {
        Self {
            force_at: now.saturating_add(grace),
            was_asked: grace == 0,
            empty: 0,
            was_forced: false,
        }
    }

    /// Ends the grace: ownership is gone, and another may work already.
    pub(crate) fn force(&mut self, now: u64) {
        self.force_at = self.force_at.min(now);
        self.was_asked = true;
    }

    pub(crate) fn step(&mut self, tree: &Tree, now: u64) -> Step {
        if now >= self.force_at {
            // At once, and every time: some may have been born since. With
            // none there, none is left: another walk over all processes of the
            // host would only say so again.
            let (living, mut refused) = tree.signal(Signal::KILL);
            let is_first = !std::mem::replace(&mut self.was_forced, true);
            // The usual end does not wait for the cgroup: it is empty then.
            if living == 0 || !is_first {
                let killed = tree.kill_cgroup();
                refused.retain(|pid| !killed.contains(pid));
            }
            if living == 0 {
                return self.found_nobody();
            }
            if is_first && tree.has_cgroup() {
                return self.found_some();
            }
            let left: Vec<Pid> = tree.members().iter().map(|member| member.pid).collect();
            let is_hopeless = !left.is_empty() && left.iter().all(|pid| refused.contains(pid));
            return match is_hopeless || now >= self.force_at + PATIENCE {
                true if !left.is_empty() => Step::Left(left),
                _ => self.found_some(),
            };
        }
        if tree.members().is_empty() {
            return self.found_nobody();
        }
        if !self.was_asked {
            self.was_asked = true;
            tree.signal(Signal::TERM);
            // One that is stopped could not hear it.
            tree.signal(Signal::CONT);
        }
        self.found_some()
    }

    fn found_nobody(&mut self) -> Step {
        self.empty += 1;
        match self.empty {
            LOOKS.. => Step::Done,
            _ => Step::Again(PAUSE / 5),
        }
    }

    fn found_some(&mut self) -> Step {
        self.empty = 0;
        Step::Again(PAUSE)
    }
}

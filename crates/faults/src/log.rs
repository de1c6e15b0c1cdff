//! What all processes of a run have told so far.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::clock::Clock;
use tenure_testkit::history::{Event, History, What};

/// The events of a run, added to by everybody.
#[derive(Debug)]
pub struct Log {
    clock: Clock,
    times: History,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<Event>,
    /// When each mutex was last seen to be owned.
    owned: BTreeMap<Box<str>, Duration>,
}

impl Default for Log {
    fn default() -> Self {
        let clock = Clock::boot();
        Self {
            times: History::new("", clock.clone()),
            clock,
            kept: Mutex::default(),
        }
    }
}

impl Log {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment on the clock of the whole host.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.times.time(self.clock.now())
    }

    /// Adds what a worker has told.
    pub fn add(&self, event: Event) {
        let mut kept = self.kept();
        let owned = match &event.what {
            What::Granted { tenure, .. } => Some(tenure.name.as_str()),
            What::Ran { schedule, .. } => Some(schedule.as_str()),
            _ => None,
        };
        if let Some(name) = owned {
            let last = kept.owned.entry(name.into()).or_default();
            *last = event.at.max(*last);
        }
        kept.events.push(event);
    }

    /// Adds what happens now, as `process` sees it.
    pub fn note(&self, process: &str, what: What) {
        let mut kept = self.kept();
        // Read under the lock: the order of the events is that of their times.
        let at = self.now();
        let process = process.into();
        kept.events.push(Event { at, process, what });
    }

    /// Those of `names` that no worker was seen to own since `moment`.
    #[must_use]
    pub fn free_since(&self, names: &[&'static str], moment: Duration) -> Vec<&'static str> {
        let kept = self.kept();
        let is_free = |name: &&str| kept.owned.get(*name).is_none_or(|at| *at < moment);
        names.iter().copied().filter(is_free).collect()
    }

    /// All events, in the order of their times.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.kept().events.clone();
        events.sort_by_key(|event| event.at);
        events
    }
}

//! What all processes of a run have told so far.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::clock::Clock;
use tenure_testkit::history::{Event, History, What};

use crate::judge::{Kind, Violation};
use crate::progress::Progress;

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
    progress: Progress,
    found: Vec<Violation>,
}

impl Log {
    /// Of events on this clock; that of the whole host, where there are several processes.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            times: History::new("", clock.clone()),
            clock,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment on its clock.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.times.time(self.clock.now())
    }

    /// Adds what a worker has told.
    pub fn add(&self, event: Event) {
        let mut kept = self.kept();
        kept.progress.see(&event);
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

    /// Does `deed`, by which the store forgets, and notes between which moments it was done.
    pub fn forgetting<T>(&self, deed: impl FnOnce() -> T) -> T {
        let since = self.now();
        let done = deed();
        self.note("nemesis", What::Forgot { since });
        done
    }

    /// Keeps what was found to be wrong with `name` while it happened, since `since`.
    pub fn find(&self, kind: Kind, name: &str, since: Duration, message: String) {
        let violation = Violation {
            kind,
            message,
            name: name.to_owned(),
            span: (since, self.now()),
        };
        self.kept().found.push(violation);
    }

    /// All that was found so.
    #[must_use]
    pub fn found(&self) -> Vec<Violation> {
        self.kept().found.clone()
    }

    /// Looks at how far the workers have come.
    pub fn progress<T>(&self, look: impl FnOnce(&Progress) -> T) -> T {
        look(&self.kept().progress)
    }

    /// Looks at the events so far, in the order in which they were heard of.
    pub fn look<T>(&self, look: impl FnOnce(&[Event]) -> T) -> T {
        look(&self.kept().events)
    }

    /// All events, in the order of their times.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.kept().events.clone();
        events.sort_by_key(|event| event.at);
        events
    }
}

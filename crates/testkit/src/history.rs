//! [`History`]: what happened, as each process saw it.
//!
//! Moments are time since the zero of a [`Clock`]. On [`Clock::boot`] all
//! processes of a machine share that zero, so their files can be merged.
//!
//! ```
//! use tenure::clock::Clock;
//! use tenure_testkit::history::History;
//! use tenure_testkit::judge::judge;
//!
//! let history = History::new("p1", Clock::boot());
//! history.store_lost(std::time::Duration::from_secs(16));
//! let merged = History::merge([History::parse(&history.to_text())?]);
//! assert!(judge(&merged).is_ok());
//! # Ok::<(), tenure_testkit::history::BadLine>(())
//! ```

mod text;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::LossCause;
use tenure::clock::{Clock, Moment};
use tenure::model::{ContenderId, FencingToken, MutexName};
pub use text::BadLine;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on the recorder's clock.
    pub at: Duration,
    /// Which process recorded it.
    pub process: Box<str>,
    /// What.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A tenure was handed out, valid from then until its local deadline.
    Granted {
        /// Whose it is.
        tenure: TenureId,
        /// Its first deadline.
        deadline: Duration,
    },
    /// It was renewed.
    Extended {
        /// Which tenure.
        tenure: TenureId,
        /// Its new deadline.
        deadline: Duration,
    },
    /// It was over, at the latest when this was recorded.
    Ended {
        /// Which tenure.
        tenure: TenureId,
        /// Why.
        cause: LossCause,
    },
    /// A resource that checks tokens was written, or refused to be.
    Written {
        /// Which resource.
        resource: Box<str>,
        /// With which token.
        token: FencingToken,
        /// Whether it accepted.
        accepted: bool,
    },
    /// The store forgot what it had granted: state lost, fail-over, clock step.
    StoreLost {
        /// How long the old owners may still believe: one lease.
        grace: Duration,
    },
    /// A worker began to ask for a mutex.
    Asked {
        /// Which one.
        name: MutexName,
    },
    /// An owner used what the mutex protects, and looked at its tenure after it.
    Used {
        /// With which tenure.
        tenure: TenureId,
        /// When the use was over and answered.
        answered: Duration,
        /// Whether a resource that checks tokens accepted.
        accepted: bool,
        /// Whether the tenure was still valid then.
        valid: bool,
    },
    /// A tick of a schedule was run.
    Ran {
        /// Of which schedule.
        schedule: MutexName,
        /// The number of the tick.
        tick: u64,
        /// The leader's token.
        token: FencingToken,
        /// Whether an earlier leader had begun it.
        is_rerun: bool,
        /// When it ended while its leader led; without it this is its beginning.
        ended: Option<Duration>,
    },
    /// Something was broken on purpose, or mended.
    Fault {
        /// What, and where.
        what: Box<str>,
        /// Whether it is over now.
        is_over: bool,
    },
    /// The store forgot grants, or ended leases early, at a moment between `since` and when this
    /// was recorded.
    Forgot {
        /// It had not forgotten before.
        since: Duration,
    },
}

/// Names one tenure in a history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenureId {
    /// What is owned.
    pub name: MutexName,
    /// By whom.
    pub contender: ContenderId,
    /// With which token.
    pub token: FencingToken,
}

/// A record of events; clones add to the same one, from any thread.
#[derive(Clone)]
pub struct History(Arc<HistoryParts>);

struct HistoryParts {
    process: Box<str>,
    clock: Clock,
    zero: Moment,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    events: Vec<Event>,
    file: Option<std::fs::File>,
}

impl History {
    /// An empty history of the process `process`.
    #[must_use]
    pub fn new(process: impl Into<Box<str>>, clock: Clock) -> Self {
        Self(Arc::new(HistoryParts {
            process: process.into(),
            // Saturates at the clock's zero, which has no name of its own.
            zero: clock.now() - Duration::MAX,
            clock,
            kept: Mutex::default(),
        }))
    }

    /// The same, also written to `path` line by line, so that it survives the
    /// process's sudden death.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn in_file(
        process: impl Into<Box<str>>,
        clock: Clock,
        path: impl AsRef<Path>,
    ) -> std::io::Result<Self> {
        let history = Self::new(process, clock);
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?;
        history.kept().file = Some(file);
        Ok(history)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `moment` as this history writes it.
    #[must_use]
    pub fn time(&self, moment: Moment) -> Duration {
        moment.since(self.0.zero)
    }

    /// Records that a tenure was handed out just now.
    pub fn granted(&self, tenure: TenureId, deadline: Moment) {
        let deadline = self.time(deadline);
        self.record(What::Granted { tenure, deadline });
    }

    /// Records that a tenure was renewed just now.
    pub fn extended(&self, tenure: TenureId, deadline: Moment) {
        let deadline = self.time(deadline);
        self.record(What::Extended { tenure, deadline });
    }

    /// Records that a tenure is over.
    pub fn ended(&self, tenure: TenureId, cause: LossCause) {
        self.record(What::Ended { tenure, cause });
    }

    /// Records a write to a resource that checks tokens.
    pub fn written(&self, resource: impl Into<Box<str>>, token: FencingToken, accepted: bool) {
        self.record(What::Written {
            resource: resource.into(),
            token,
            accepted,
        });
    }

    /// Records that the store has forgotten its grants, the longest of which
    /// may be believed for `grace` more.
    pub fn store_lost(&self, grace: Duration) {
        self.record(What::StoreLost { grace });
    }

    /// Records `what`, now.
    ///
    /// # Panics
    /// When the file of [`in_file`](Self::in_file) cannot be written: a history
    /// with holes proves nothing.
    pub fn record(&self, what: What) {
        let mut kept = self.kept();
        // Read under the lock: the order of the events is that of their times.
        let at = self.time(self.0.clock.now());
        let process = self.0.process.clone();
        let event = Event { at, process, what };
        if let Some(file) = &mut kept.file {
            let line = format!("{event}\n");
            file.write_all(line.as_bytes())
                .expect("the history's file takes it");
        }
        kept.events.push(event);
    }

    /// Adds `event` as it is, for histories made by hand.
    pub fn push(&self, event: Event) {
        self.kept().events.push(event);
    }

    /// The events, in the order of their times.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.kept().events.clone();
        events.sort_by_key(|event| event.at);
        events
    }

    /// One history of several.
    #[must_use]
    pub fn merge(histories: impl IntoIterator<Item = Self>) -> Self {
        let merged = Self::new("merged", Clock::boot());
        for history in histories {
            merged.kept().events.extend(history.events());
        }
        merged
    }

    /// One line per event.
    #[must_use]
    pub fn to_text(&self) -> String {
        let events = self.events();
        events.iter().map(|event| format!("{event}\n")).collect()
    }

    /// Reads what [`to_text`](Self::to_text) or a file holds. A last line
    /// without its end was cut off by the writer's death, and is left out.
    ///
    /// # Errors
    /// [`BadLine`] for any other line that is no event.
    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let history = Self::new("parsed", Clock::boot());
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines().filter(|line| !line.is_empty()) {
            history.push(line.parse()?);
        }
        Ok(history)
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("process", &self.0.process)
            .field("events", &self.kept().events.len())
            .finish_non_exhaustive()
    }
}

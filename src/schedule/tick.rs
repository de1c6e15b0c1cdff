//! [`Tick`]: one run of a schedule.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::engine::Tenure;
use crate::model::StoreTime;

/// What a run is given: which tick it is, and the tenure it runs under.
#[derive(Clone)]
pub struct Tick {
    pub(super) number: u64,
    pub(super) due_at: StoreTime,
    pub(super) started_at: StoreTime,
    pub(super) is_rerun: bool,
    pub(super) tenure: Tenure,
}

impl Tick {
    /// Its number, larger than that of every tick before it. The first of all
    /// is 0. At a fixed rate ticks that were left out have numbers too.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When it was due, on the store's clock.
    #[must_use]
    pub fn due_at(&self) -> StoreTime {
        self.due_at
    }

    /// When it was due, for people: as exact as the store's clock is.
    #[must_use]
    pub fn due_time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.due_at.as_millis())
    }

    /// How much later than due it was started.
    #[must_use]
    pub fn late_by(&self) -> Duration {
        self.started_at.since(self.due_at)
    }

    /// Whether an earlier leader started it and did not come to its end.
    #[must_use]
    pub fn is_rerun(&self) -> bool {
        self.is_rerun
    }

    /// The tenure of the leader: its token belongs to every effect of the run.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }
}

impl fmt::Debug for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tick")
            .field("number", &self.number)
            .field("due_at", &self.due_at)
            .field("is_rerun", &self.is_rerun)
            .field("token", &self.tenure.own_token())
            .finish()
    }
}

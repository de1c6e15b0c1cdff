//! The store's time: the wall clock of the ensemble's leader.
//!
//! ZooKeeper tells it only in the stat of what was just written. So it is read
//! from every write of ours that has a stat, nodes and ledgers, and carried on
//! by the monotonic clock; before the first it is this host's wall clock.
//!
//! In leases the scale cancels out: they are rests, an end less now. But ticks
//! of schedules are due by it, and a schedule goes on under another client:
//! two clients agree as far as both have read the same clock. Whoever writes
//! often (a leader claims every tick) follows a clock that is set; whoever
//! only waits has the time since it joined the queue, and is moved forward by
//! what it reads of others.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::clock::Moment;
use crate::model::StoreTime;

#[derive(Debug)]
pub(super) struct Scale(Mutex<Reading>);

#[derive(Clone, Copy, Debug)]
struct Reading {
    moment: Moment,
    time: StoreTime,
}

impl Scale {
    /// A scale that begins at `moment` with this host's wall clock.
    pub(super) fn guessed(moment: Moment) -> Self {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let time = StoreTime::ZERO + wall;
        Self(Mutex::new(Reading { moment, time }))
    }

    /// The store's time at `moment`.
    pub(super) fn at(&self, moment: Moment) -> StoreTime {
        self.reading().at(moment)
    }

    /// Something of ours was written at `time`, between `sent` and `heard`. A
    /// scale that fits between the two is kept: an answer that came late must
    /// not put it back.
    pub(super) fn wrote(&self, time: StoreTime, sent: Moment, heard: Moment) {
        let mut reading = self.reading();
        let latest = time + heard.since(sent) + Duration::from_millis(1);
        let shown = reading.at(heard);
        if shown < time || shown > latest {
            *reading = Reading {
                moment: heard,
                time,
            };
        }
    }

    /// Something was written at `time`, so at `moment` it is later.
    pub(super) fn saw(&self, time: StoreTime, moment: Moment) {
        let mut reading = self.reading();
        if reading.at(moment) < time {
            *reading = Reading { moment, time };
        }
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    fn at(self, moment: Moment) -> StoreTime {
        let before = u64::try_from(self.moment.since(moment).as_millis()).unwrap_or(u64::MAX);
        let time = StoreTime::from_millis(self.time.as_millis().saturating_sub(before));
        time + moment.since(self.moment)
    }
}

/// A stat's time.
pub(super) fn time(millis: i64) -> StoreTime {
    StoreTime::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_corrects_the_scale_unless_it_fits() {
        let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
        let scale = Scale::guessed(at(1000));
        scale.wrote(time(500), at(990), at(1000));
        assert_eq!(scale.at(at(2000)), time(1500));
        assert_eq!(scale.at(at(900)), time(400));
        // An answer that took its time says nothing new.
        scale.wrote(time(1000), at(1500), at(2000));
        assert_eq!(scale.at(at(2000)), time(1500));
        // The clock was set forward; back.
        scale.wrote(time(1700), at(1990), at(2000));
        assert_eq!(scale.at(at(2000)), time(1700));
        scale.wrote(time(300), at(2990), at(3000));
        assert_eq!(scale.at(at(3000)), time(300));
    }

    #[test]
    fn what_others_wrote_only_moves_it_forward() {
        let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
        let scale = Scale::guessed(at(1000));
        scale.wrote(time(500), at(1000), at(1000));
        scale.saw(time(400), at(1000));
        assert_eq!(scale.at(at(1000)), time(500));
        scale.saw(time(800), at(1000));
        assert_eq!(scale.at(at(1000)), time(800));
    }
}

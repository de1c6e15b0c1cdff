//! The store's time.
//!
//! ZooKeeper tells its time only in the stat of a node that was just written.
//! The first node of ours sets the scale, the monotonic clock goes on from
//! there; until then it is this host's wall clock. All that is computed with
//! it are rests (an end less now), in which the scale cancels out: it is for
//! people.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::clock::Moment;
use crate::model::StoreTime;

#[derive(Debug)]
pub(super) struct Scale(Mutex<Reading>);

#[derive(Clone, Copy, Debug)]
struct Reading {
    moment: Moment,
    time: StoreTime,
    is_measured: bool,
}

impl Scale {
    /// A scale that begins at `moment` with this host's wall clock.
    pub(super) fn guessed(moment: Moment) -> Self {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self(Mutex::new(Reading {
            moment,
            time: StoreTime::ZERO + wall,
            is_measured: false,
        }))
    }

    /// The store's time at `moment`.
    pub(super) fn at(&self, moment: Moment) -> StoreTime {
        self.reading().at(moment)
    }

    /// A node of ours was written at `ctime`; the answer came at `moment`.
    pub(super) fn wrote(&self, ctime: StoreTime, moment: Moment) {
        let mut reading = self.reading();
        // Later only forward: an owner's times must not move while it owns.
        if !reading.is_measured || reading.at(moment) < ctime {
            *reading = Reading {
                moment,
                time: ctime,
                is_measured: true,
            };
        }
    }

    /// Somebody's node was written at `ctime`, so at `moment` it is later.
    pub(super) fn saw(&self, ctime: StoreTime, moment: Moment) {
        let mut reading = self.reading();
        if reading.at(moment) < ctime {
            *reading = Reading {
                moment,
                time: ctime,
                ..*reading
            };
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_node_of_ours_sets_the_scale_and_later_ones_only_move_it_on() {
        let start = Moment::from_nanos(1_000_000_000);
        let later = start + Duration::from_secs(1);
        let scale = Scale::guessed(start);
        scale.wrote(time(500), start);
        assert_eq!(scale.at(later), time(1500));
        assert_eq!(scale.at(start - Duration::from_millis(100)), time(400));
        scale.wrote(time(1000), later);
        assert_eq!(scale.at(later), time(1500));
        scale.wrote(time(1700), later);
        assert_eq!(scale.at(later), time(1700));
        scale.saw(time(1800), later);
        assert_eq!(scale.at(later), time(1800));
    }
}

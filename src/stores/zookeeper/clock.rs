//! The store's time: the wall clock of the ensemble's leader.
//!
//! ZooKeeper tells it only in the stat of what was just written. So it is heard
//! from every write of ours that has a stat, nodes and ledgers.
//!
//! In leases it cancels out: they are rests, an end less now. But ticks of
//! schedules are due by it, and a schedule goes on under another client: two
//! clients agree as far as both have heard the same clock. A client that
//! writes often (a leader claims every tick) follows a clock that is set; one
//! that only waits has the time since it joined the queue, and is moved forward by what it
//! reads of others.

use super::client::Store;
use crate::clock::Moment;
use crate::model::StoreTime;

impl Store {
    pub(super) fn now(&self) -> StoreTime {
        self.time.at(self.clock.now())
    }

    /// The server wrote something of ours at `time`, after it was `sent`.
    pub(super) fn wrote(&self, time: StoreTime, sent: Moment) {
        self.time.heard(time, sent, self.clock.now());
    }

    /// A client wrote something at `time`, which we have read now.
    pub(super) fn saw(&self, time: StoreTime) {
        self.time.passed(time, self.clock.now());
    }
}

/// The time in a stat.
pub(super) fn time(millis: i64) -> StoreTime {
    StoreTime::from_millis(u64::try_from(millis).unwrap_or(0))
}

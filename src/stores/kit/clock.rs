//! [`HeardClock`]: the time of a store that tells it only in its answers.

use std::time::Duration;

use super::wall;
use crate::clock::Moment;
use crate::model::StoreTime;
use crate::sync::Mutex;

/// The store's time as last heard, carried on by the monotonic clock. Before
/// anything was heard it is a guess: this host's wall clock.
///
/// An answer says what time it was somewhere between the question and the
/// answer. A time that fits in there is kept, so that answers which were long
/// on their way do not put the clock back.
#[derive(Debug)]
pub(in crate::stores) struct HeardClock(Mutex<HeardTime>);

#[derive(Clone, Copy, Debug)]
struct HeardTime {
    moment: Moment,
    time: StoreTime,
    /// Of this host's, which may be ahead of the store's and yet fit into an answer.
    is_guess: bool,
}

impl HeardClock {
    /// A clock that shows this host's wall clock at `moment`.
    pub(in crate::stores) fn guessed(moment: Moment) -> Self {
        let time = StoreTime::ZERO + wall();
        let is_guess = true;
        Self(Mutex::new(HeardTime {
            moment,
            time,
            is_guess,
        }))
    }

    /// The store's time at `moment`.
    pub(in crate::stores) fn at(&self, moment: Moment) -> StoreTime {
        self.0.lock().at(moment)
    }

    /// What it shows at each of these moments, with no answer heard in between.
    #[cfg(any(feature = "zookeeper", test))]
    pub(in crate::stores) fn at_each<const N: usize>(
        &self,
        moments: [Moment; N],
    ) -> [StoreTime; N] {
        let reading = *self.0.lock();
        moments.map(|moment| reading.at(moment))
    }

    /// The store said `time`, in an answer to what was `sent`, `heard` now.
    pub(in crate::stores) fn heard(&self, time: StoreTime, sent: Moment, heard: Moment) {
        let mut reading = self.0.lock();
        // Stores say whole milliseconds.
        let latest = time + heard.since(sent) + Duration::from_millis(1);
        let shown = reading.at(heard);
        if reading.is_guess || shown < time || shown > latest {
            *reading = HeardTime {
                moment: heard,
                time,
                is_guess: false,
            };
        }
    }

    /// The store showed at `moment` that `time` has passed. How long ago it did
    /// is not known, so this moves the clock forward only.
    #[cfg(any(feature = "zookeeper", test))]
    pub(in crate::stores) fn passed(&self, time: StoreTime, moment: Moment) {
        let mut reading = self.0.lock();
        if reading.at(moment) < time {
            *reading = HeardTime {
                moment,
                time,
                is_guess: false,
            };
        }
    }
}

impl HeardTime {
    fn at(self, moment: Moment) -> StoreTime {
        let before = u64::try_from(self.moment.since(moment).as_millis()).unwrap_or(u64::MAX);
        let time = StoreTime::from_millis(self.time.as_millis().saturating_sub(before));
        time + moment.since(self.moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn time(millis: u64) -> StoreTime {
        StoreTime::from_millis(millis)
    }

    #[test]
    fn every_answer_corrects_the_clock_unless_it_fits() {
        let clock = HeardClock::guessed(at(1000));
        clock.heard(time(500), at(990), at(1000));
        assert_eq!(clock.at(at(2000)), time(1500));
        assert_eq!(clock.at(at(900)), time(400));
        // An answer that took its time says nothing new.
        clock.heard(time(1000), at(1500), at(2000));
        assert_eq!(clock.at(at(2000)), time(1500));
        // The clock was set forward; back.
        clock.heard(time(1700), at(1990), at(2000));
        assert_eq!(clock.at(at(2000)), time(1700));
        clock.heard(time(300), at(2990), at(3000));
        assert_eq!(clock.at(at(3000)), time(300));
    }

    #[test]
    fn what_was_guessed_is_kept_by_no_answer() {
        let clock = HeardClock::guessed(at(1000));
        let guessed = clock.at(at(1000));
        let said = StoreTime::from_millis(guessed.as_millis() - 40);
        // It fits: the answer was under way for longer than the guess is ahead.
        clock.heard(said, at(950), at(1000));
        assert_eq!(clock.at(at(1000)), said, "not ahead of the store");
    }

    #[test]
    fn what_was_written_some_time_ago_only_moves_it_forward() {
        let clock = HeardClock::guessed(at(1000));
        clock.heard(time(500), at(1000), at(1000));
        clock.passed(time(400), at(1000));
        assert_eq!(clock.at(at(1000)), time(500));
        clock.passed(time(800), at(1000));
        assert_eq!(clock.at(at(1000)), time(800));
    }
}

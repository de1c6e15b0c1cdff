//! [`EstimatedStoreClock`]: the store's clock, as its answers tell it.

use crate::clock::Moment;
use crate::model::StoreTime;

/// The store's clock showed `store` at some moment between sending and hearing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockReading {
    pub(crate) sent_at: Moment,
    pub(crate) heard_at: Moment,
    pub(crate) store: StoreTime,
}

/// The store's clock, carried on by the monotonic one. It is never ahead of
/// the store by more than the two clocks drift: what is due is not due early.
#[derive(Clone, Copy, Debug)]
pub(super) struct EstimatedStoreClock {
    store: StoreTime,
    at: Moment,
}

impl EstimatedStoreClock {
    pub(super) fn new(first: ClockReading) -> Self {
        Self {
            store: first.store,
            at: first.heard_at,
        }
    }

    /// Takes a further reading. One that the estimate fits into teaches
    /// nothing: an answer that came late must not put the clock back. One that
    /// it does not fit into means drift, or a clock that was set.
    pub(super) fn take(&mut self, reading: ClockReading) {
        let estimate = self.now(reading.heard_at);
        let travel = reading.heard_at.since(reading.sent_at);
        let latest = reading.store + travel + std::time::Duration::from_millis(1);
        if estimate < reading.store || estimate > latest {
            *self = Self::new(reading);
        }
    }

    /// What it shows at `now`.
    pub(super) fn now(&self, now: Moment) -> StoreTime {
        self.store + now.since(self.at)
    }

    /// When it will show `time`; the present for what it has shown.
    pub(super) fn moment_of(&self, time: StoreTime) -> Moment {
        self.at + time.since(self.store)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn reading(sent: u64, heard: u64, store: u64) -> ClockReading {
        ClockReading {
            sent_at: at(sent),
            heard_at: at(heard),
            store: StoreTime::from_millis(store),
        }
    }

    #[test]
    fn it_goes_on_with_the_monotonic_clock() {
        let clock = EstimatedStoreClock::new(reading(90, 100, 5_000));
        assert_eq!(clock.now(at(350)), StoreTime::from_millis(5_250));
        assert_eq!(clock.moment_of(StoreTime::from_millis(5_250)), at(350));
        assert_eq!(clock.moment_of(StoreTime::from_millis(4_000)), at(100));
    }

    #[test]
    fn a_late_answer_does_not_put_it_back() {
        let mut clock = EstimatedStoreClock::new(reading(99, 100, 5_000));
        clock.take(reading(1_000, 3_000, 5_901));
        assert_eq!(clock.now(at(3_000)), StoreTime::from_millis(7_900));
    }

    #[test]
    fn a_prompt_answer_makes_good_what_a_late_one_cost() {
        let mut clock = EstimatedStoreClock::new(reading(0, 2_000, 5_000));
        clock.take(reading(3_000, 3_001, 8_000));
        assert_eq!(clock.now(at(3_001)), StoreTime::from_millis(8_000));
    }

    #[test]
    fn a_clock_that_was_set_is_followed_both_ways() {
        for set_to in [1_000, 3_600_000] {
            let mut clock = EstimatedStoreClock::new(reading(99, 100, 50_000));
            clock.take(reading(199, 200, set_to));
            assert_eq!(clock.now(at(200)), StoreTime::from_millis(set_to));
        }
    }

    #[test]
    fn it_is_never_ahead_of_a_store_that_keeps_pace() {
        let mut rng = fastrand::Rng::with_seed(7);
        let truth = |millis: u64| millis + 1_000_000;
        let mut clock = None::<EstimatedStoreClock>;
        let mut now = 0;
        for _ in 0..10_000 {
            let sent = now + rng.u64(0..500);
            let read = sent + rng.u64(0..200);
            let heard = read + rng.u64(0..200);
            now = heard;
            let reading = reading(sent, heard, truth(read));
            match &mut clock {
                Some(clock) => clock.take(reading),
                None => clock = Some(EstimatedStoreClock::new(reading)),
            }
            let shown = clock.unwrap().now(at(now) + Duration::from_millis(3));
            assert!(shown <= StoreTime::from_millis(truth(now + 3)));
        }
    }
}

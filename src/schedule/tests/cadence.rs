//! The grid of a fixed rate, and the distance of a fixed delay.

use std::time::Duration;

use proptest::prelude::*;

use super::super::cadence::{Before, Cadence, Due};
use super::super::config::Misfire;
use crate::model::StoreTime;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> StoreTime {
    StoreTime::from_millis(millis)
}

fn rate(period: u64) -> Cadence {
    Cadence::Rate {
        initial: millis(0),
        period: millis(period),
    }
}

fn after(period: u64, due: u64, now: u64, misfire: Misfire) -> Due {
    let before = Before {
        tick: 7,
        due_at: at(due),
        finished_at: Some(at(now)),
    };
    let rate = rate(period);
    let following = rate.following(before).unwrap();
    rate.from(following, at(now), misfire).unwrap()
}

#[test]
fn late_ticks_are_skipped_run_once_or_all_run() {
    let late = |misfire| after(10, 100, 135, misfire);
    let due = |tick, due, skipped| Due {
        tick,
        at: at(due),
        skipped,
    };
    assert_eq!(late(Misfire::Skip), due(11, 140, 3));
    assert_eq!(late(Misfire::Once), due(10, 130, 2));
    assert_eq!(late(Misfire::Burst), due(8, 110, 0));
}

#[test]
fn a_tick_that_is_due_now_is_not_late() {
    for misfire in [Misfire::Skip, Misfire::Once, Misfire::Burst] {
        assert_eq!(after(10, 100, 110, misfire).at, at(110), "{misfire:?}");
    }
}

#[test]
fn a_delay_counts_from_the_end_or_else_from_when_it_was_due() {
    let cadence = Cadence::Delay {
        initial: millis(0),
        period: millis(50),
    };
    let next = |finished_at| {
        let before = Before {
            tick: 3,
            due_at: at(1_000),
            finished_at,
        };
        let following = cadence.following(before).unwrap();
        cadence.from(following, at(9_999), Misfire::Skip).unwrap()
    };
    assert_eq!(
        (next(Some(at(1_700))).at, next(None).at),
        (at(1_750), at(1_050))
    );
    assert_eq!(next(None).tick, 4);
}

proptest! {
    #[test]
    fn every_tick_lies_on_the_grid(
        period in 1_u64..5_000,
        due in 0_u64..1_000_000_000,
        ahead in 0_u64..10_000_000,
        back in 0_u64..1_000,
    ) {
        let now = (due + ahead).saturating_sub(back);
        for misfire in [Misfire::Skip, Misfire::Once, Misfire::Burst] {
            let next = after(period, due, now, misfire);
            prop_assert!(next.tick > 7);
            prop_assert_eq!(next.at.as_millis(), due + (next.tick - 7) * period);
            prop_assert_eq!(next.skipped, next.tick - 8);
            let (at, next_at) = (next.at.as_millis(), next.at.as_millis() + period);
            match misfire {
                Misfire::Burst => prop_assert_eq!(next.tick, 8),
                // The last that is due, or the first to come.
                Misfire::Once => prop_assert!(next_at > now),
                Misfire::Skip => {
                    prop_assert!(at >= now);
                    prop_assert!(next.tick == 8 || at - period < now);
                }
            }
        }
    }
}

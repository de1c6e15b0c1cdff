//! `ContendPeriod` and its `Jitter`.

use std::time::Duration;

use proptest::prelude::*;
use tenure::model::{ContendPeriod, Jitter, MutexOwner};

use super::{assert_says, at, config, id, owner, refusal};

/// The delay in milliseconds of a contender `me`.
fn delay(jitter: Jitter, owner: &MutexOwner, now: u64, roll: f64) -> u64 {
    let period = ContendPeriod::new(id("me"), jitter);
    u64::try_from(period.next_delay(owner, at(now), roll).as_millis()).unwrap()
}

fn usual(owner: &MutexOwner, now: u64, roll: f64) -> u64 {
    delay(Jitter::default(), owner, now, roll)
}

fn without_transition() -> MutexOwner {
    MutexOwner::new(id("b"), at(0), at(10_000), at(10_000))
}

const LAST: f64 = 0.999_999;

#[test]
fn the_owner_wakes_at_its_ttl_whatever_the_roll() {
    for roll in [0.0, 0.5, LAST] {
        assert_eq!(usual(&owner("me"), 4_000, roll), 6_000);
        assert_eq!(usual(&owner("me"), 10_000, roll), 0);
        assert_eq!(usual(&owner("me"), 20_000, roll), 0);
    }
}

#[test]
fn others_wake_around_the_end_of_the_transition() {
    assert_eq!(usual(&owner("b"), 4_000, 0.0), 12_000 - 200);
    assert_eq!(usual(&owner("b"), 4_000, 0.5), 12_000 + 400);
    assert_eq!(usual(&owner("b"), 4_000, LAST), 12_000 + 999);
}

#[test]
fn without_a_transition_nobody_wakes_before_the_end() {
    assert_eq!(usual(&without_transition(), 4_000, 0.0), 6_000);
    assert_eq!(usual(&without_transition(), 4_000, LAST), 6_000 + 999);
}

#[test]
fn a_delay_is_never_negative() {
    assert_eq!(usual(&owner("b"), 15_900, 0.0), 0);
    assert_eq!(usual(&owner("b"), 1_000_000, LAST), 0);
    assert_eq!(usual(&owner("b"), u64::MAX, LAST), 0);
}

#[test]
fn after_the_end_the_jitter_still_spreads() {
    assert_eq!(usual(&owner("b"), 16_100, 0.0), 0);
    assert_eq!(usual(&owner("b"), 16_100, LAST), 899);
}

#[test]
fn nobody_is_waited_for_when_nobody_owns() {
    for now in [0, 5, u64::MAX] {
        assert_eq!(usual(&MutexOwner::NONE, now, LAST), 0);
    }
}

#[test]
fn an_owner_whose_end_is_unknown_is_looked_at_after_a_second() {
    for now in [0, u64::MAX] {
        let foreign = MutexOwner::foreign(id("b"));
        assert_eq!(usual(&foreign, now, 0.0), 1_000);
        assert_eq!(usual(&foreign, now, LAST), 1_999);
        assert_eq!(delay(Jitter::NONE, &foreign, now, LAST), 1_000);
        assert_eq!(usual(&MutexOwner::foreign(id("me")), now, 0.0), 1_000);
    }
}

#[test]
fn a_foreign_owner_with_a_known_end_is_waited_for_until_then() {
    let foreign = MutexOwner::foreign(id("b")).owning_until(at(16_000));
    assert_eq!(usual(&foreign, 4_000, 0.0), 11_800);
}

#[test]
fn no_jitter_means_the_very_end() {
    for roll in [0.0, LAST] {
        assert_eq!(delay(Jitter::NONE, &owner("b"), 4_000, roll), 12_000);
    }
}

#[test]
fn the_default_jitter_is_from_200_before_to_1000_after() {
    assert_eq!(Jitter::default(), Jitter::new(-200, 1_000).unwrap());
}

#[test]
fn jitter_runs_forwards_and_within_an_hour() {
    assert!(Jitter::new(-3_600_000, 3_600_000).is_ok());
    assert!(Jitter::new(5, 5).is_ok());
    for (low, high) in [
        (1, 0),
        (-3_600_001, 0),
        (0, 3_600_001),
        (i64::MIN, i64::MAX),
    ] {
        assert_says(&refusal(Jitter::new(low, high)), "within an hour");
    }
}

#[test]
fn a_roll_outside_its_range_stays_within_the_jitter() {
    for (roll, offset) in [
        (-1.0, -200),
        (f64::NEG_INFINITY, -200),
        (f64::NAN, -200),
        (1.0, 999),
        (7.0, 999),
    ] {
        assert_eq!(
            usual(&owner("b"), 6_000, roll),
            10_000_u64.strict_add_signed(offset)
        );
    }
}

#[test]
fn the_ends_of_time_do_not_overflow() {
    let endless = MutexOwner::new(id("b"), at(0), at(0), at(u64::MAX));
    let period = ContendPeriod::new(id("me"), Jitter::default());
    let delay = period.next_delay(&endless, at(0), LAST);
    assert_eq!(delay, Duration::from_millis(u64::MAX));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn delays_follow_the_formulas(
        ttl_at in 0_i64..30_000, transition in prop_oneof![Just(0), 1_i64..10_000],
        now in 0_i64..50_000, roll in 0.0..1.0_f64, mine in any::<bool>(),
    ) {
        let transition_at = ttl_at + transition;
        let time = |millis: i64| at(millis.unsigned_abs());
        let who = id(if mine { "me" } else { "b" });
        let owner = MutexOwner::new(who, at(0), time(ttl_at), time(transition_at));
        let delay = usual(&owner, now.unsigned_abs(), roll);
        if mine {
            prop_assert_eq!(delay, (ttl_at - now).max(0).unsigned_abs());
        } else {
            let low = if transition > 0 { -200 } else { 0 };
            let least = (transition_at - now + low).max(0).unsigned_abs();
            let most = (transition_at - now + 999).max(0).unsigned_abs();
            prop_assert!((least..=most).contains(&delay), "{delay} in {least}..={most}");
        }
    }

    #[test]
    fn rolls_stay_within_any_jitter_and_in_order(
        low in -5_000_i64..5_000, width in 0_i64..5_000, a in 0.0..1.0_f64, b in 0.0..1.0_f64,
    ) {
        let jitter = Jitter::new(low, low + width).unwrap();
        let offset = |roll| delay(jitter, &owner("b"), 6_000, roll).cast_signed() - 10_000;
        for roll in [0.0, a, LAST] {
            prop_assert!(offset(roll) >= low);
            prop_assert!(offset(roll) < low + width.max(1));
        }
        prop_assert!(a <= b || offset(a) >= offset(b));
        prop_assert!(a > b || offset(a) <= offset(b));
    }
}

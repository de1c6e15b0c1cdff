//! `StoreTime`.

use std::time::Duration;

use proptest::prelude::*;
use tenure::model::StoreTime;

use super::{at, config};

#[test]
fn time_is_milliseconds() {
    assert_eq!(at(7).as_millis(), 7);
    assert_eq!(StoreTime::ZERO, at(0));
    assert_eq!(at(7).to_string(), "7");
    assert_eq!(format!("{:?}", at(7)), "7ms");
    assert_eq!(at(7) + Duration::from_micros(1_999), at(8), "rounded down");
}

#[test]
fn sums_end_at_the_largest_time() {
    assert_eq!(at(u64::MAX) + Duration::from_millis(1), at(u64::MAX));
    assert_eq!(at(1) + Duration::MAX, at(u64::MAX));
}

#[test]
fn no_time_is_before_its_own_past() {
    assert_eq!(at(1).since(at(2)), Duration::ZERO);
    assert_eq!(at(0).since(at(u64::MAX)), Duration::ZERO);
    assert_eq!(at(u64::MAX).since(at(0)), Duration::from_millis(u64::MAX));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_added_is_what_has_passed(start in any::<u64>(), length in any::<u64>()) {
        let later = at(start) + Duration::from_millis(length);
        prop_assert_eq!(later.as_millis(), start.saturating_add(length));
        prop_assert_eq!(later.since(at(start)), Duration::from_millis(length.min(u64::MAX - start)));
        prop_assert!(later >= at(start));
    }
}

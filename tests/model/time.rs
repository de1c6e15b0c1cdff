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
    assert_eq!(at(7) + Duration::from_micros(1_999), at(8), "rounded down");
}

#[test]
fn people_read_a_date() {
    for (millis, text) in [
        (0, "never"),
        (7, "1970-01-01T00:00:00.007Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"),
        (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
        (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "253402300800000ms"),
        (u64::MAX, "18446744073709551615ms"),
    ] {
        assert_eq!(format!("{:?}", at(millis)), text);
    }
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

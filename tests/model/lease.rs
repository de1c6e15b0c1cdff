//! `LeaseTerms`.

use std::time::Duration;

use proptest::prelude::*;
use tenure::model::LeaseTerms;

use super::{assert_says, config, refusal};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn terms(ttl: u64, transition: u64) -> LeaseTerms {
    LeaseTerms::new(MS * ttl as u32, MS * transition as u32).unwrap()
}

#[test]
fn the_default_is_ten_seconds_and_six() {
    let terms = LeaseTerms::default();
    assert_eq!(terms.ttl(), SECOND * 10);
    assert_eq!(terms.transition(), SECOND * 6);
    assert_eq!(terms.lease(), SECOND * 16);
    assert_eq!(terms.margin(), MS * 37);
    assert_eq!(terms.valid_for(), MS * 15_963);
    assert_eq!(terms.renew_after(), SECOND * 10);
    assert_eq!(terms.call_timeout(), SECOND * 4);
}

#[test]
fn a_ttl_of_zero_is_refused_and_a_transition_of_zero_is_not() {
    let message = refusal(LeaseTerms::new(Duration::ZERO, SECOND));
    assert_says(&message, "longer than zero");
    assert_eq!(terms(10_000, 0).lease(), SECOND * 10);
}

#[test]
fn without_a_transition_there_is_a_third_of_the_lease_to_retry() {
    assert_eq!(terms(9_000, 0).renew_after(), SECOND * 6);
    assert_eq!(terms(9_000, 3_000).renew_after(), SECOND * 8);
    assert_eq!(terms(8_000, 4_000).renew_after(), SECOND * 8);
    assert_eq!(terms(8_000, 5_000).renew_after(), SECOND * 8);
}

#[test]
fn a_lease_is_longer_than_ten_margins() {
    // 10 × (5 ms + 0.2 %) is less than the lease from 51.02 ms on.
    assert_says(
        &refusal(LeaseTerms::new(MS * 51, Duration::ZERO)),
        "too short",
    );
    assert!(LeaseTerms::new(MS * 52, Duration::ZERO).is_ok());
    assert!(LeaseTerms::new(MS * 26, MS * 26).is_ok(), "both together");
    assert_says(&refusal(LeaseTerms::new(MS * 25, MS * 26)), "ten margins");
}

#[test]
fn a_lease_is_at_most_a_year() {
    assert!(LeaseTerms::new(DAY * 365, DAY).is_ok());
    assert_says(&refusal(LeaseTerms::new(DAY * 366, MS)), "at most 366 days");
    let endless = Duration::from_secs(u64::MAX);
    assert_says(
        &refusal(LeaseTerms::new(endless, endless)),
        "at most 366 days",
    );
}

#[test]
fn lengths_are_whole_milliseconds() {
    let half = Duration::from_micros(10_000_500);
    assert_says(
        &refusal(LeaseTerms::new(half, SECOND)),
        "the ttl of a lease must be whole",
    );
    assert_says(
        &refusal(LeaseTerms::new(SECOND, half)),
        "the transition of a lease must be whole",
    );
}

#[test]
fn a_margin_may_grow_to_a_tenth_of_the_lease_and_not_shrink() {
    let terms = LeaseTerms::default();
    assert_eq!(terms.with_margin(MS * 37).unwrap(), terms);
    let message = refusal(terms.with_margin(MS * 36));
    assert_says(&message, "at least 37ms");
    let wide = terms.with_margin(MS * 1_599).unwrap();
    assert_eq!(wide.valid_for(), MS * 14_401);
    assert_says(
        &refusal(terms.with_margin(MS * 1_600)),
        "more than ten margins",
    );
    refusal(terms.with_margin(Duration::MAX));
}

#[test]
fn three_call_timeouts_fit_into_a_lease() {
    let terms = terms(9_000, 3_000);
    assert_eq!(
        terms.with_call_timeout(SECOND * 4).unwrap().call_timeout(),
        SECOND * 4
    );
    let message = refusal(terms.with_call_timeout(MS * 4_001));
    assert_says(&message, "at most a third");
    assert_says(&message, "4s");
    assert_says(
        &refusal(terms.with_call_timeout(Duration::ZERO)),
        "longer than zero",
    );
    refusal(terms.with_call_timeout(Duration::MAX));
}

#[test]
fn margin_and_call_timeout_keep_each_other() {
    let both = LeaseTerms::default().with_margin(MS * 100).unwrap();
    let both = both.with_call_timeout(SECOND).unwrap();
    assert_eq!((both.margin(), both.call_timeout()), (MS * 100, SECOND));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_relations_hold_for_all_terms(ttl in 1_u64..100_000, transition in 0_u64..100_000) {
        let lease = MS * (ttl + transition) as u32;
        let margin = MS * 5 + lease / 500;
        match LeaseTerms::new(MS * ttl as u32, MS * transition as u32) {
            Err(_) => prop_assert!(lease <= margin * 10),
            Ok(terms) => {
                prop_assert!(lease > margin * 10);
                prop_assert_eq!(terms.lease(), lease);
                prop_assert_eq!(terms.margin(), margin);
                prop_assert_eq!(terms.valid_for(), lease - margin);
                prop_assert_eq!(terms.renew_after(), terms.ttl().min(lease * 2 / 3));
                prop_assert!(terms.call_timeout() * 3 <= lease);
                prop_assert!(!terms.call_timeout().is_zero());
                prop_assert!(terms.renew_after() + lease / 5 < terms.valid_for());
            }
        }
    }

    #[test]
    fn no_duration_makes_it_panic(a in any::<(u64, u32)>(), b in any::<(u64, u32)>()) {
        let a = Duration::new(a.0, a.1 % 1_000_000_000);
        let b = Duration::new(b.0, b.1 % 1_000_000_000);
        let _ = LeaseTerms::new(a, b);
        let _ = LeaseTerms::default().with_margin(a);
        let _ = LeaseTerms::default().with_call_timeout(b);
    }
}

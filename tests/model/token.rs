//! `FencingToken`.

use proptest::prelude::*;
use tenure::model::FencingToken;

use super::{assert_says, config, refusal, token};

#[test]
fn a_token_is_the_grant_times_1024_plus_the_hand_over() {
    assert_eq!(FencingToken::PER_GRANT, 1024);
    let handed_on = token(7).handed_on().unwrap();
    assert_eq!(token(7).value(), 7 * 1024);
    assert_eq!(handed_on.value(), 7 * 1024 + 1);
    assert_eq!((handed_on.store(), handed_on.hand_over()), (7, 1));
    assert_eq!(handed_on.to_string(), "7169");
    assert_eq!(format!("{handed_on:?}"), "7169 (grant 7, hand-over 1)");
    assert_eq!(format!("{:?}", token(7)), "7168 (grant 7)");
}

#[test]
fn a_token_is_a_number_of_either_sign_of_column() {
    let last = FencingToken::from_value((1 << 63) - 1).unwrap();
    for token in [token(0), token(7), last] {
        assert_eq!(u64::from(token), token.value());
        assert_eq!(i64::from(token).unsigned_abs(), token.value());
        assert_eq!(FencingToken::try_from(u64::from(token)).unwrap(), token);
        assert_eq!(FencingToken::try_from(i64::from(token)).unwrap(), token);
    }
    assert_says(&refusal(FencingToken::try_from(-1_i64)), "not negative");
    assert_says(&refusal(FencingToken::try_from(1_u64 << 63)), "below 2^63");
}

#[test]
fn a_grant_is_handed_on_exactly_1023_times() {
    let mut now = token(7);
    let mut hand_overs = 0;
    while let Some(next) = now.handed_on() {
        assert!(next > now && next < token(8));
        now = next;
        hand_overs += 1;
    }
    assert_eq!(hand_overs, 1023);
    assert_eq!((now.store(), now.hand_over()), (7, 1023));
}

#[test]
fn every_token_is_below_two_to_the_63rd() {
    let last = FencingToken::from_store(FencingToken::STORE_LIMIT - 1).unwrap();
    let very_last = FencingToken::from_value(last.value() + 1023).unwrap();
    assert_eq!(very_last.value(), (1 << 63) - 1);
    assert_eq!(very_last.handed_on(), None);
    let message = refusal(FencingToken::from_store(FencingToken::STORE_LIMIT));
    assert_says(&message, "must be below 9007199254740992");
    refusal(FencingToken::from_store(u64::MAX));
    assert_says(&refusal(FencingToken::from_value(1 << 63)), "below 2^63");
}

#[test]
fn text_that_is_no_token_is_refused() {
    for text in [
        "",
        " 1",
        "1 ",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "0x10",
        "١",
        "9223372036854775808",
        "99999999999999999999",
    ] {
        assert_says(&refusal(text.parse::<FencingToken>()), "below 2^63");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tokens_of_a_later_grant_are_larger(
        early in 0..FencingToken::STORE_LIMIT - 1, later in 1..1000_u64,
        a in 0..1024_u64, b in 0..1024_u64,
    ) {
        let later = (early + later).min(FencingToken::STORE_LIMIT - 1);
        let of = |grant: u64, hand_over| FencingToken::from_value(grant * 1024 + hand_over).unwrap();
        prop_assert!(of(early, a) < of(later, b));
        prop_assert_eq!(of(early, a) < of(early, b), a < b);
        prop_assert_eq!((of(early, a).store(), of(early, a).hand_over()), (early, a));
    }

    #[test]
    fn a_token_comes_back_from_its_text_and_its_value(value in 0_u64..1 << 63) {
        let token = FencingToken::from_value(value).unwrap();
        prop_assert_eq!(token.value(), value);
        prop_assert_eq!(token.to_string().parse::<FencingToken>().unwrap(), token);
    }
}

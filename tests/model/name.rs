//! `MutexName`.

use proptest::prelude::*;
use tenure::model::MutexName;

use super::{assert_says, config, name, refusal};

#[test]
fn a_name_is_kept_as_given() {
    for text in [
        "a",
        "order-settlement",
        "with inner space",
        "a}b{c}",
        "{}",
        "锁",
        "a@@b",
    ] {
        assert_eq!(name(text).as_str(), text);
        assert_eq!(name(text).to_string(), text);
        assert_eq!(format!("{:?}", name(text)), format!("{text:?}"));
        assert_eq!(text.parse::<MutexName>().unwrap(), name(text));
        assert_eq!(MutexName::try_from(text).unwrap(), name(text));
        assert_eq!(name(text).as_ref(), text);
    }
}

#[test]
fn a_blank_name_is_refused() {
    for blank in ["", " ", "\t\n", "\u{3000}", "\u{a0}\u{2003}"] {
        assert_says(&refusal(MutexName::new(blank)), "must not be blank");
    }
}

#[test]
fn the_limit_is_66_bytes_not_characters() {
    assert_eq!(MutexName::MAX_BYTES, 66);
    assert!(MutexName::new("x".repeat(66)).is_ok());
    assert!(MutexName::new("锁".repeat(22)).is_ok(), "22 × 3 bytes");
    let message = refusal(MutexName::new("x".repeat(67)));
    assert_says(&message, "at most 66 bytes, this one has 67");
    assert_says(&message, "MutexName::hashed");
    assert_says(&refusal(MutexName::new("锁".repeat(23))), "this one has 69");
}

#[test]
fn a_huge_name_is_not_repeated_in_full() {
    assert!(refusal(MutexName::new("x".repeat(1_000_000))).len() < 200);
}

#[test]
fn any_text_has_a_hashed_name_that_is_the_same_for_ever() {
    // As `printf %s TEXT | sha256sum` has it.
    for (text, expected) in [
        ("", "-e3b0c44298fc1c149afbf4c8996fb924"),
        ("short", "short-f9b0078b5df596d2ea19010c001bbd00"),
        ("}x", "-x-77994711e5de6a0a898ddbeec66a71da"),
        (
            // Replaced first, then cut.
            &"🔒".repeat(40),
            "----------------------------------66fe038013335c685a7a8202dac8191c",
        ),
        (
            "订单/结算/2026-11-17/一个很长的名字",
            "订单-结算-2026-11-17-一个-b4ebda7052f669c223992596d1e173e0",
        ),
    ] {
        assert_eq!(MutexName::hashed(text).as_str(), expected);
    }
}

#[test]
fn white_space_at_either_end_is_refused() {
    for space in [' ', '\t', '\n', '\u{85}', '\u{a0}', '\u{2028}', '\u{3000}'] {
        for padded in [format!("{space}a"), format!("a{space}")] {
            assert_says(&refusal(MutexName::new(padded)), "white space");
        }
    }
}

#[test]
fn control_characters_are_refused_anywhere() {
    for control in [
        '\0', '\t', '\n', '\r', '\u{1b}', '\u{7f}', '\u{80}', '\u{9f}',
    ] {
        let message = refusal(MutexName::new(format!("a{control}b")));
        assert_says(&message, "control characters");
        assert!(!message.contains(control), "shown escaped");
    }
}

#[test]
fn a_name_does_not_begin_with_a_closing_brace() {
    assert_says(&refusal(MutexName::new("}a")), "must not begin with '}'");
    assert_says(&refusal(MutexName::new("}")), "must not begin with '}'");
}

#[test]
fn names_are_compared_byte_by_byte() {
    assert_ne!(name("a"), name("A"));
    assert_ne!(name("é"), name("e\u{301}"));
    assert!(name("B") < name("a"));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_name_is_accepted_exactly_when_it_keeps_every_rule(text in ".{0,30}|[ }a\\t锁]{0,30}") {
        let good = !text.is_empty()
            && text.len() <= 66
            && text.trim() == text
            && !text.chars().any(char::is_control)
            && !text.starts_with('}');
        prop_assert_eq!(MutexName::new(&text).is_ok(), good);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_hashed_name_is_a_name(text in any::<String>(), more in "\\PC{1,80}") {
        let hashed = MutexName::hashed(&text);
        prop_assert_eq!(hashed.fault(), None);
        prop_assert_eq!(&MutexName::new(hashed.as_str()).unwrap(), &hashed);
        let is_plain = !hashed.as_str().contains(['/', '%', '{', '}']);
        prop_assert!(is_plain, "{}", hashed);
        prop_assert_ne!(&hashed, &MutexName::hashed(text + &more));
    }
}

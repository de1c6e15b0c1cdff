//! `ContenderId` and its generators.

use std::collections::HashSet;

use proptest::prelude::*;
use tenure::model::{ContenderId, ContenderIdGenerator, Host, Uuid};

use super::{assert_says, config, id, refusal};

#[test]
fn an_id_is_kept_as_given() {
    for text in ["0:12345@192.168.1.100", "a b", "}a", "a@b@c", "竞争者"] {
        assert_eq!(id(text).as_str(), text);
        assert_eq!(text.parse::<ContenderId>().unwrap().to_string(), text);
    }
}

#[test]
fn the_limit_is_128_bytes_not_characters() {
    assert_eq!(ContenderId::MAX_BYTES, 128);
    assert!(ContenderId::new("x".repeat(128)).is_ok());
    assert!(ContenderId::new("é".repeat(64)).is_ok());
    let message = refusal(ContenderId::new("x".repeat(129)));
    assert_says(&message, "at most 128 bytes, this one has 129");
    assert_says(&refusal(ContenderId::new("é".repeat(65))), "has 130");
}

#[test]
fn two_at_signs_in_a_row_are_refused() {
    for text in ["a@@b", "@@", "a@@@b", "@@a", "a@@"] {
        assert_says(&refusal(ContenderId::new(text)), "must not contain '@@'");
    }
}

#[test]
fn blanks_padding_and_control_characters_are_refused() {
    assert_says(
        &refusal(ContenderId::new("")),
        "contender id must not be blank",
    );
    assert_says(&refusal(ContenderId::new("\u{2003}")), "must not be blank");
    assert_says(&refusal(ContenderId::new("a\u{3000}")), "white space");
    assert_says(&refusal(ContenderId::new("a\nb")), "control characters");
}

#[test]
fn host_ids_are_counter_pid_and_address() {
    let host = Host::from_zero();
    let ids: Vec<String> = (0..3)
        .map(|_| host.generate().unwrap().to_string())
        .collect();
    let pid = std::process::id();
    let (_, address) = ids[0].split_once('@').unwrap();
    assert!(!address.is_empty());
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(*id, format!("{number}:{pid}@{address}"));
    }
}

#[test]
fn host_ids_differ_though_pid_and_address_do_not() {
    let ids: HashSet<ContenderId> = (0..100)
        .flat_map(|_| {
            let host = Host::default();
            (0..100).map(move |_| host.generate().unwrap())
        })
        .collect();
    assert_eq!(ids.len(), 10_000);
    let rest = |id: &ContenderId| id.as_str().split_once(':').unwrap().1.to_owned();
    let rests: HashSet<String> = ids.iter().map(rest).collect();
    assert_eq!(rests.len(), 1, "pid and address");
    let longest = "r4Tz0bQx:4194304@192.168.100.100";
    assert_eq!(longest.len(), 32, "it fits the columns of old tables");
    let mark = |id: &ContenderId| id.as_str().split(':').next().unwrap().len();
    assert!(ids.iter().all(|id| mark(id) == 8));
}

#[test]
fn only_who_says_so_makes_unique_ids() {
    #[derive(Debug)]
    struct Constant;
    impl ContenderIdGenerator for Constant {
        fn generate(&self) -> tenure::Result<ContenderId> {
            ContenderId::new("pod-7")
        }
    }
    assert!(!Constant.unique_per_call());
    assert!(!Host::from_zero().unique_per_call());
    assert!(Host::new().unique_per_call() && Uuid.unique_per_call());
}

#[test]
fn threads_that_share_a_generator_never_share_an_id() {
    let host = Host::from_zero();
    let ids: Vec<ContenderId> = std::thread::scope(|scope| {
        let make = || {
            (0..100)
                .map(|_| host.generate().unwrap())
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 400);
}

#[test]
fn uuid_ids_are_32_hexadecimal_digits_and_differ() {
    let ids: HashSet<ContenderId> = (0..100).map(|_| Uuid.generate().unwrap()).collect();
    assert_eq!(ids.len(), 100);
    for id in ids {
        assert_eq!(id.as_str().len(), 32);
        assert!(
            id.as_str()
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        );
    }
}

#[test]
fn a_generator_of_ones_own_can_stand_behind_a_pointer() {
    #[derive(Debug)]
    struct Fixed;
    impl ContenderIdGenerator for Fixed {
        fn generate(&self) -> tenure::Result<ContenderId> {
            ContenderId::new("pod-7")
        }
    }
    let generators: Vec<Box<dyn ContenderIdGenerator>> =
        vec![Box::new(Fixed), Box::new(Host::new()), Box::new(Uuid)];
    assert_eq!(generators[0].generate().unwrap(), id("pod-7"));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_id_is_accepted_exactly_when_it_keeps_every_rule(text in ".{0,40}|[ @a\\té]{0,70}") {
        let good = !text.is_empty()
            && text.len() <= 128
            && text.trim() == text
            && !text.chars().any(char::is_control)
            && !text.contains("@@");
        prop_assert_eq!(ContenderId::new(&text).is_ok(), good);
    }
}

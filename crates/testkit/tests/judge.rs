//! The judge catches each broken promise, and agrees with a slower one.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use tenure::LossCause;
use tenure::clock::Clock;
use tenure::model::{ContenderId, FencingToken, MutexName};
use tenure_testkit::history::{Event, History, TenureId, What};
use tenure_testkit::judge::{Kind, judge};

fn tenure(name: &str, who: &str, token: u64) -> TenureId {
    TenureId {
        name: MutexName::new(name).unwrap(),
        contender: ContenderId::new(who).unwrap(),
        token: FencingToken::from_value(token).unwrap(),
    }
}

fn at(second: u64) -> Duration {
    Duration::from_secs(second)
}

fn granted(from: u64, id: &TenureId, deadline: u64) -> (u64, What) {
    let (tenure, deadline) = (id.clone(), at(deadline));
    (from, What::Granted { tenure, deadline })
}

fn extended(from: u64, id: &TenureId, deadline: u64) -> (u64, What) {
    let (tenure, deadline) = (id.clone(), at(deadline));
    (from, What::Extended { tenure, deadline })
}

fn ended(from: u64, id: &TenureId) -> (u64, What) {
    let (tenure, cause) = (id.clone(), LossCause::Released);
    (from, What::Ended { tenure, cause })
}

fn written(from: u64, token: u64, accepted: bool) -> (u64, What) {
    let token = FencingToken::from_value(token).unwrap();
    let resource = "file".into();
    (
        from,
        What::Written {
            resource,
            token,
            accepted,
        },
    )
}

fn lost(from: u64, grace: u64) -> (u64, What) {
    (from, What::StoreLost { grace: at(grace) })
}

fn history(events: impl IntoIterator<Item = (u64, What)>) -> History {
    let history = History::new("test", Clock::boot());
    for (second, what) in events {
        history.push(Event {
            at: at(second),
            process: "p".into(),
            what,
        });
    }
    history
}

fn kinds(events: impl IntoIterator<Item = (u64, What)>) -> Vec<Kind> {
    let violations = judge(&history(events)).err().unwrap_or_default();
    violations.iter().map(|violation| violation.kind).collect()
}

#[test]
fn tenures_one_after_another_are_fine() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    let other = tenure("other", "a", 1);
    assert_eq!(
        kinds([
            granted(0, &a, 10),
            granted(1, &other, 99),
            extended(8, &a, 18),
            granted(18, &b, 30),
        ]),
        []
    );
}

#[test]
fn a_release_makes_room_before_the_deadline() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    assert_eq!(
        kinds([granted(0, &a, 10), ended(4, &a), granted(4, &b, 9)]),
        []
    );
}

#[test]
fn an_end_that_is_noticed_late_does_not_lengthen() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    assert_eq!(
        kinds([granted(0, &a, 10), granted(10, &b, 20), ended(15, &a)]),
        []
    );
}

#[test]
fn two_owners_are_found() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    assert_eq!(
        kinds([granted(0, &a, 10), granted(9, &b, 20)]),
        [Kind::TwoOwners]
    );
}

#[test]
fn two_owners_by_an_extension_are_found() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    let events = [
        granted(0, &a, 10),
        granted(10, &b, 20),
        extended(10, &a, 12),
    ];
    assert_eq!(kinds(events), [Kind::TwoOwners]);
}

#[test]
fn an_owner_inside_a_longer_one_is_found_after_a_short_one() {
    let (a, b, c) = (
        tenure("m", "a", 1),
        tenure("m", "b", 2),
        tenure("m", "c", 3),
    );
    let events = [granted(0, &a, 100), granted(1, &b, 2), granted(50, &c, 51)];
    assert_eq!(kinds(events), [Kind::TwoOwners, Kind::TwoOwners]);
}

#[test]
fn two_owners_are_excused_within_the_grace_only() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    let run =
        |lost_at, grace| kinds([granted(0, &a, 10), lost(lost_at, grace), granted(6, &b, 20)]);
    assert_eq!(run(5, 5), []);
    assert_eq!(run(5, 4), [Kind::TwoOwners], "the grace was over");
    let before = kinds([granted(0, &a, 10), granted(6, &b, 20), lost(7, 9)]);
    assert_eq!(before, [Kind::TwoOwners], "it was lost afterwards");
}

#[test]
fn two_graces_that_meet_are_one() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    let events = [
        granted(0, &a, 10),
        lost(5, 3),
        lost(7, 4),
        granted(6, &b, 20),
    ];
    assert_eq!(kinds(events), []);
}

#[test]
fn a_token_that_repeats_or_falls_is_found() {
    for second in [2, 1] {
        let (a, b) = (tenure("m", "a", 2), tenure("m", "b", second));
        let events = [granted(0, &a, 5), granted(6, &b, 9)];
        assert_eq!(kinds(events), [Kind::TokenFell]);
    }
}

#[test]
fn a_tenure_that_comes_back_is_found() {
    let a = tenure("m", "a", 1);
    assert_eq!(
        kinds([granted(0, &a, 5), extended(6, &a, 9)]),
        [Kind::Revived]
    );
    let events = [granted(0, &a, 5), ended(2, &a), extended(3, &a, 9)];
    assert_eq!(kinds(events), [Kind::Revived]);
    assert_eq!(kinds([extended(3, &a, 9)]), [Kind::Revived]);
}

#[test]
fn an_old_write_is_found_and_a_refused_one_is_not() {
    let good = [
        written(0, 5, true),
        written(1, 4, false),
        written(2, 5, true),
    ];
    assert_eq!(kinds(good), []);
    let bad = [written(0, 5, true), written(1, 4, true)];
    assert_eq!(kinds(bad), [Kind::OldWrite]);
}

#[test]
fn a_violation_is_printed_with_the_events_around_it() {
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    let noise = (0..50).map(|second| written(second, second, true));
    let events = noise.chain([granted(20, &a, 30), granted(25, &b, 40)]);
    let violations = judge(&history(events)).unwrap_err();
    let text = violations[0].to_string();
    assert!(
        text.contains("granted m a 1") && text.contains("granted m b 2"),
        "{text}"
    );
    assert!(text.contains("written"), "its surroundings: {text}");
    assert!(text.lines().count() < 20, "not everything: {text}");
}

#[test]
fn a_process_of_its_own_has_tenures_of_its_own() {
    let id = tenure("m", "a", 1);
    let history = history([granted(0, &id, 10)]);
    history.push(Event {
        at: at(5),
        process: "other".into(),
        what: granted(5, &id, 15).1,
    });
    let found = judge(&history).unwrap_err();
    let found: Vec<_> = found.iter().map(|violation| violation.kind).collect();
    assert_eq!(found, [Kind::TwoOwners, Kind::TokenFell]);
}

fn any_events() -> impl Strategy<Value = Vec<(u64, What)>> {
    let id = (0..2_u64, 0..3_u64, 1..6_u64).prop_map(|(name, who, token)| {
        tenure(["m", "a b%;"][name as usize], &format!("c {who}"), token)
    });
    let tenured =
        (0..6_u8, id, 0..12_u64, 0..8_u64).prop_map(|(what, id, from, length)| match what {
            0..=2 => granted(from, &id, from + length),
            3 => extended(from, &id, from + length),
            _ => ended(from, &id),
        });
    let rest = prop_oneof![
        (0..12_u64, 0..5_u64).prop_map(|(from, grace)| lost(from, grace)),
        (0..12_u64, 0..5_u64, any::<bool>()).prop_map(|(from, token, ok)| written(from, token, ok)),
    ];
    proptest::collection::vec(prop_oneof![4 => tenured, 1 => rest], 0..12)
}

/// When each tenure was valid, by asking about each moment.
fn slow(history: &History) -> BTreeSet<Kind> {
    let events = history.events();
    let mut found = BTreeSet::new();
    let grants: Vec<usize> = (0..events.len())
        .filter(|index| matches!(events[*index].what, What::Granted { .. }))
        .collect();
    let id = |index: usize| match &events[index].what {
        What::Granted { tenure, .. }
        | What::Extended { tenure, .. }
        | What::Ended { tenure, .. } => Some(tenure),
        _ => None,
    };
    // The events of one grant: up to the next of the same id.
    let own = |grant: usize| {
        let next = grants
            .iter()
            .find(|next| **next > grant && id(**next) == id(grant));
        (grant..next.copied().unwrap_or(events.len())).filter(move |index| id(*index) == id(grant))
    };
    let until = |grant: usize| {
        let mut until = Duration::ZERO;
        for index in own(grant) {
            match &events[index].what {
                What::Granted { deadline, .. } => until = (*deadline).max(events[index].at),
                What::Extended { deadline, .. } => {
                    until = if until < events[index].at {
                        *deadline
                    } else {
                        until.max(*deadline)
                    };
                }
                What::Ended { .. } => return until.min(events[index].at),
                _ => {}
            }
        }
        until
    };
    for (index, event) in events.iter().enumerate() {
        if let What::Extended { .. } = event.what {
            let grant = grants
                .iter()
                .rev()
                .find(|grant| **grant < index && id(**grant) == id(index));
            let runs = grant.is_some_and(|grant| {
                let ended =
                    own(*grant).any(|i| i < index && matches!(events[i].what, What::Ended { .. }));
                let mut until = Duration::ZERO;
                for i in own(*grant).filter(|i| *i < index) {
                    if let What::Granted { deadline, .. } | What::Extended { deadline, .. } =
                        &events[i].what
                    {
                        let at = events[i].at;
                        let late = until < at;
                        until = if late {
                            *deadline
                        } else {
                            until.max(*deadline)
                        };
                        if i == *grant {
                            until = (*deadline).max(at);
                        }
                    }
                }
                !ended && until >= event.at
            });
            if !runs {
                found.insert(Kind::Revived);
            }
        }
    }
    let excused = |moment: Duration| {
        events.iter().any(|event| match event.what {
            What::StoreLost { grace } => event.at <= moment && moment < event.at + grace,
            _ => false,
        })
    };
    for (place, first) in grants.iter().enumerate() {
        for second in &grants[place + 1..] {
            let (Some(one), Some(two)) = (id(*first), id(*second)) else {
                continue;
            };
            if one.name != two.name {
                continue;
            }
            if two.token <= one.token {
                found.insert(Kind::TokenFell);
            }
            // Half seconds: events are at whole ones.
            for half in 0..80 {
                let moment = Duration::from_millis(500 * half + 250);
                let valid = |grant: usize| events[grant].at <= moment && moment < until(grant);
                if valid(*first) && valid(*second) && !excused(moment) {
                    found.insert(Kind::TwoOwners);
                }
            }
        }
    }
    let writes = events.iter().filter_map(|event| match event.what {
        What::Written {
            token,
            accepted: true,
            ..
        } => Some(token),
        _ => None,
    });
    let writes: Vec<_> = writes.collect();
    if !writes.is_sorted() {
        found.insert(Kind::OldWrite);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_judge_agrees_with_a_slower_one(events in any_events()) {
        let history = history(events);
        let fast: BTreeSet<Kind> = judge(&history).err().unwrap_or_default()
            .iter().map(|violation| violation.kind).collect();
        prop_assert_eq!(fast, slow(&history), "{}", history.to_text());
    }

    #[test]
    fn a_history_survives_its_text(events in any_events()) {
        let history = history(events);
        let again = History::parse(&history.to_text()).unwrap();
        prop_assert_eq!(again.events(), history.events());
    }
}

#[test]
fn a_line_cut_off_by_a_crash_is_left_out_and_nonsense_is_not() {
    let whole = history([written(0, 1, true), written(1, 2, true)]).to_text();
    let cut = &whole[..whole.len() - 4];
    assert_eq!(History::parse(cut).unwrap().events().len(), 1);
    assert!(History::parse("what is this\n").is_err());
    assert!(History::parse(&format!("{} more\n", whole.trim_end())).is_err());
}

#[test]
fn several_processes_write_files_that_merge() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::boot();
    let (a, b) = (tenure("m", "a", 1), tenure("m", "b", 2));
    let mut texts = Vec::new();
    for (process, id) in [("one", &a), ("two", &b)] {
        let path = folder.path().join(process);
        let history = History::in_file(process, clock.clone(), &path).unwrap();
        history.granted(id.clone(), clock.now() + at(100));
        texts.push(std::fs::read_to_string(path).unwrap());
    }
    let histories = texts.iter().map(|text| History::parse(text).unwrap());
    let violations = judge(&History::merge(histories)).unwrap_err();
    assert_eq!(violations[0].kind, Kind::TwoOwners);
    let processes = violations[0].events.iter().map(|event| &*event.process);
    assert_eq!(processes.collect::<Vec<_>>(), ["one", "two"]);
}

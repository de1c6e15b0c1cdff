//! What a stranger does to one mutex costs no other its owner: found where it does, and no alarm
//! where something else may have been the cause.

use std::time::Duration;

use tenure_faults::judge::{Kind, LEDGERS, LOCKED, STRANGERS, judge};
use tenure_testkit::history::{Event, What};

use crate::bad::{TERMS, history};

/// An owner of `m` that is not renewed after the seventh second, and loses.
const LOSES: &str = "
    1 a takes 5 11
    6 a keeps 5 16
    16 a loses 5";

/// Something was wrong from a second to another.
fn fault(what: &str, from: u64, until: u64) -> [Event; 2] {
    [(from, false), (until, true)].map(|(at, is_over)| Event {
        at: Duration::from_secs(at),
        process: "nemesis".into(),
        what: What::Fault {
            what: what.into(),
            is_over,
        },
    })
}

/// `b` is renewed at these seconds.
fn renewed(seconds: &[u64]) -> Vec<Event> {
    let event = |at: &u64| {
        let (at, until) = (at * 1_000_000_000, (at + 10) * 1_000_000_000);
        let event = format!("{at} b extended n b 4 {until}");
        event.parse().unwrap_or_else(|error| panic!("{error}"))
    };
    seconds.iter().map(event).collect()
}

/// The usual: the server goes on for others.
const SERVED: [u64; 5] = [5, 7, 10, 12, 15];

fn kinds(text: &str, more: &[&[Event]]) -> Vec<Kind> {
    let mut events = history(text);
    events.extend(more.iter().flat_map(|more| more.iter().cloned()));
    events.sort_by_key(|event| event.at);
    let found = judge(&events, TERMS).violations;
    found.iter().map(|violation| violation.kind).collect()
}

fn locked(name: &str) -> Vec<Event> {
    let mishap = fault(STRANGERS[1], 7, 30);
    let row = fault(&format!("{LOCKED}{name}"), 7, 30);
    [mishap, row].concat()
}

#[test]
fn a_loss_beside_the_locked_row_of_another_is_found() {
    let found = kinds(LOSES, &[&locked("other"), &renewed(&SERVED)]);
    assert_eq!(found, [Kind::LostForAnother]);
    let is_given_back = LOSES.replace("loses", "frees");
    let found = kinds(&is_given_back, &[&locked("other"), &renewed(&SERVED)]);
    assert_eq!(found, []);
}

#[test]
fn who_loses_what_the_stranger_has_in_hand_loses_it_rightly() {
    let found = kinds(LOSES, &[&locked("m"), &renewed(&SERVED)]);
    assert_eq!(found, []);
    let both = [locked("m"), locked("other")].concat();
    assert_eq!(kinds(LOSES, &[&both, &renewed(&SERVED)]), []);
}

#[test]
fn a_loss_is_not_judged_where_something_else_was_wrong() {
    let served = renewed(&SERVED);
    for other in ["server killed", "w1.3 held up", "row locked by us"] {
        let present = fault(other, 3, 4);
        assert_eq!(
            kinds(LOSES, &[&locked("other"), &present, &served]),
            [],
            "{other}"
        );
        // Long over, and all had gone on since.
        let past = history("100 x mends nothing");
        let late = LOSES
            .replace("1 a", "101 a")
            .replace("6 a keeps 5 16", "106 a keeps 5 116")
            .replace("16 a loses", "116 a loses")
            .replace("takes 5 11", "takes 5 111");
        let row = [
            fault(STRANGERS[1], 107, 130),
            fault("locked: other", 107, 130),
        ];
        let served: Vec<_> = SERVED.iter().map(|at| at + 100).collect();
        let found = kinds(&late, &[&past, &present, &row.concat(), &renewed(&served)]);
        assert_eq!(found, [Kind::LostForAnother], "{other}");
    }
    let forgot = history("8 x forgets 7.5");
    assert_eq!(kinds(LOSES, &[&locked("other"), &forgot, &served]), []);
}

#[test]
fn a_loss_is_not_judged_where_the_server_may_have_stood_still() {
    for missing in &SERVED[1..] {
        let seconds = SERVED.iter().filter(|second| *second != missing);
        let seconds: Vec<_> = seconds.copied().collect();
        let found = kinds(LOSES, &[&locked("other"), &renewed(&seconds)]);
        assert_eq!(found, [], "without {missing}");
    }
    assert_eq!(kinds(LOSES, &[&renewed(&SERVED)]), [], "no stranger at all");
}

#[test]
fn a_store_that_lost_its_ledgers_alone_excuses_a_schedule_that_begins_anew() {
    let text = "
        1 a runs 7 5 first begins
        4 b runs 0 6 first begins";
    assert_eq!(kinds(text, &[]), [Kind::RanTwice]);
    let lost = fault(LEDGERS, 2, 3);
    assert_eq!(kinds(text, &[&lost]), []);
    // Not the same leader, not an older one, and no two owners.
    let same = text.replace("0 6", "0 5");
    assert_eq!(kinds(&same, &[&lost]), [Kind::RanTwice]);
    let older = text.replace("0 6", "0 4");
    assert_eq!(kinds(&older, &[&lost]), [Kind::RanTwice]);
    let owners = "
        1 a takes 5 11
        4 b takes 6 14";
    assert_eq!(kinds(owners, &[&lost]), [Kind::TwoOwners]);
}

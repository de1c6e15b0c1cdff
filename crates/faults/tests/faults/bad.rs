//! Histories made by hand: both judges find what is wrong with them, and nothing in good ones.

use std::time::Duration;

use tenure_faults::judge::{Kind, Terms, judge};
use tenure_faults::report::{svg, timeline};
use tenure_faults::second;
use tenure_testkit::history::Event;

pub(crate) const TERMS: Terms = Terms {
    lease: Duration::from_secs(10),
    belief: Duration::from_secs(10),
    returns: false,
};

/// A history in short: `SECONDS PROCESS WHAT …`, with a contender named as its process.
///
/// `takes TOKEN DEADLINE`, `keeps TOKEN DEADLINE`, `frees TOKEN`, `loses TOKEN`,
/// `writes TOKEN ANSWERED accepted|refused valid|late`, `runs TICK TOKEN first|again ENDED|begins`,
/// `breaks WHAT`, `mends WHAT`, `forgets SINCE`, `register TOKEN accepted|refused`.
pub(crate) fn history(text: &str) -> Vec<Event> {
    let nanos = |word: &str| {
        let seconds: f64 = word.parse().unwrap();
        Duration::from_secs_f64(seconds).as_nanos().to_string()
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (at, process) = (nanos(words[0]), words[1]);
        let what = match words[2..] {
            ["asks"] => "asked m".to_owned(),
            ["takes", token, until] => format!("granted m {process} {token} {}", nanos(until)),
            ["keeps", token, until] => format!("extended m {process} {token} {}", nanos(until)),
            ["frees", token] => format!("ended m {process} {token} released"),
            ["loses", token] => format!("ended m {process} {token} deadline"),
            ["writes", token, answered, accepted, valid] => {
                let answered = nanos(answered);
                format!("used m {process} {token} {answered} {accepted} {valid}")
            }
            ["runs", tick, token, again, "begins"] => {
                format!("ran plan {tick} {token} {again} begins")
            }
            ["runs", tick, token, again, ended] => {
                format!("ran plan {tick} {token} {again} {}", nanos(ended))
            }
            ["breaks", what] => format!("broken {what}"),
            ["mends", what] => format!("mended {what}"),
            ["forgets", since] => format!("forgot {}", nanos(since)),
            ["register", token, accepted] => format!("written fenced%20;m {token} {accepted}"),
            _ => panic!("{line}"),
        };
        let event = format!("{at} {process} {what}");
        event.parse().unwrap_or_else(|error| panic!("{error}"))
    };
    let mut events: Vec<Event> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(line)
        .collect();
    events.sort_by_key(|event| event.at);
    events
}

fn kinds(text: &str) -> Vec<Kind> {
    let verdict = judge(&history(text), TERMS);
    let kinds = verdict.violations.iter().map(|violation| violation.kind);
    kinds.collect()
}

/// What our judge says, and whether the other finds fault as well.
fn both(text: &str) -> (Vec<Kind>, bool) {
    (
        kinds(text),
        !second::judge(&history(text), TERMS).is_empty(),
    )
}

#[test]
fn owners_one_after_the_other_are_fine() {
    let text = "
        0 a asks
        1 a takes 5 11
        2 a writes 5 3 accepted valid
        6 a keeps 5 15
        8 a frees 5
        1 b asks
        8.1 b takes 6 18
        18 b loses 6
        18 c takes 7 28
        19 b writes 6 20 refused late";
    assert_eq!(both(text), (vec![], false));
}

#[test]
fn a_killed_owner_owns_until_its_deadline() {
    let text = "
        1 a takes 5 11
        11 b takes 6 20";
    assert_eq!(both(text), (vec![], false));
    let text = "
        1 a takes 5 11
        10.9 b takes 6 20";
    assert_eq!(both(text), (vec![Kind::TwoOwners], true));
}

#[test]
fn an_owner_that_was_renewed_is_not_followed_before_its_last_deadline() {
    let text = "
        1 a takes 5 11
        9 a keeps 5 19
        12 b takes 6 20";
    assert_eq!(both(text), (vec![Kind::TwoOwners], true));
}

#[test]
fn two_owners_with_one_between_them_are_found() {
    let text = "
        1 a takes 5 11
        2 b takes 6 3
        4 c takes 7 9";
    let (kinds, other) = both(text);
    assert_eq!(kinds, [Kind::TwoOwners, Kind::TwoOwners]);
    assert!(other);
}

#[test]
fn two_owners_far_into_a_long_history_are_found() {
    let mut text = String::new();
    for turn in 0..40 {
        let (from, until) = (turn * 20, turn * 20 + 10);
        text += &format!(
            "{from} a takes {} {until}\n{until} a frees {}\n",
            turn + 1,
            turn + 1
        );
    }
    assert_eq!(both(&text), (vec![], false));
    text += "705 b takes 36 712\n";
    let (kinds, other) = both(&text);
    assert!(kinds.contains(&Kind::TwoOwners), "{kinds:?}");
    assert!(other);
}

#[test]
fn two_owners_beside_one_that_was_forgotten_are_found() {
    // The first was forgotten, and owns for longer than both that do not know of each other.
    let text = "
        1 a takes 5 11
        2 x forgets 1.9
        3 b takes 6 13
        4 c takes 7 14
        9 c frees 7
        10 b loses 6";
    assert_eq!(both(text), (vec![Kind::TwoOwners], true));
}

#[test]
fn a_use_as_owner_after_the_deadline_is_owning() {
    let text = "
        1 a takes 5 11
        10 a writes 5 12 accepted valid
        11.5 b takes 6 20";
    assert_eq!(both(text), (vec![Kind::TwoOwners], true));
}

#[test]
fn a_store_that_forgot_may_have_two_owners_for_a_lease() {
    let text = "
        1 a takes 5 11
        2 x forgets 1.5
        3 b takes 6 13
        5 a loses 5";
    assert_eq!(both(text), (vec![], false));
    assert_eq!(judge(&history(text), TERMS).tally.forgotten, 1);
    let kept = text.replace("2 x forgets 1.5", "2 x breaks pause");
    assert_eq!(both(&kept), (vec![Kind::TwoOwners], true));
}

#[test]
fn only_who_was_granted_before_is_forgotten() {
    let text = "
        2 x forgets 1.5
        13 a takes 5 23
        14 b takes 6 24";
    assert_eq!(both(text), (vec![Kind::TwoOwners], true));
    // Within a lease of it, and no part of it all the same.
    let sooner = text.replace("13 a takes 5 23", "4 a takes 5 14");
    let sooner = sooner.replace("14 b takes 6 24", "5 b takes 6 15");
    assert_eq!(both(&sooner), (vec![Kind::TwoOwners], true));
}

#[test]
fn nobody_is_let_in_before_the_store_forgets() {
    let text = "
        1 a takes 5 11
        3 b takes 6 13
        6 x forgets 5";
    assert_eq!(kinds(text), [Kind::TwoOwners]);
}

#[test]
fn who_is_renewed_after_it_was_not_forgotten() {
    let text = "
        1 a takes 5 11
        2 x forgets 1.5
        3 b takes 6 13
        9 a keeps 5 19
        9 b keeps 6 19";
    assert_eq!(both(text), (vec![Kind::TwoOwners], true));
    // Also when the other has gone meanwhile, unless it may come back.
    let gone = "
        1 a takes 5 11
        2 x forgets 1.5
        3 b takes 6 13
        4 b frees 6
        9 a keeps 5 19";
    assert_eq!(both(gone), (vec![Kind::TwoOwners], true));
    let terms = Terms {
        returns: true,
        ..TERMS
    };
    assert_eq!(judge(&history(gone), terms).violations.len(), 0);
    assert_eq!(second::judge(&history(gone), terms).len(), 0);
}

#[test]
fn a_refusal_is_excused_by_a_forgotten_grant_alone() {
    let text = "
        1 a takes 5 11
        2 x forgets 1.5
        3 a writes 5 4 refused valid";
    assert_eq!(kinds(text), []);
    let later = "
        2 x forgets 1.5
        3 a takes 5 13
        4 a writes 5 5 refused valid";
    assert_eq!(kinds(later), [Kind::OwnerRefused]);
    let renewed = "
        1 a takes 5 11
        2 x forgets 1.5
        9 a keeps 5 19
        13 a writes 5 14 refused valid";
    assert_eq!(kinds(renewed), [Kind::OwnerRefused]);
}

#[test]
fn tokens_rise_also_where_the_store_forgot() {
    let text = "
        1 a takes 5 3
        3 a frees 5
        4 b takes 5 14";
    assert_eq!(both(text), (vec![Kind::TokenFell], true));
    let text = "
        3.5 x forgets 3.2
        1 a takes 5 3
        3 a frees 5
        4 b takes 4 14";
    assert_eq!(both(text), (vec![Kind::TokenFell], true));
}

#[test]
fn a_forgotten_grant_may_be_handed_over_until_its_lease_ends() {
    // 5120 is the fifth grant of the store, 5121 the next holder of the same grant.
    let text = "
        1 a takes 5120 11
        2 x forgets 1.9
        3 b takes 6144 13
        4 a frees 5120
        5 a takes 5121 11
        11 a loses 5121";
    assert_eq!(both(text), (vec![], false));
    let kept = text.replace("x forgets 1.9", "x breaks pause");
    assert_eq!(kinds(&kept)[..2], [Kind::TwoOwners, Kind::TwoOwners]);
    let another = text.replace("5121", "5633");
    assert_eq!(both(&another), (vec![], false));
    let stranger = text.replace("a takes 5121 11", "c takes 5121 14");
    let (kinds, other) = both(&stranger);
    assert_eq!(kinds, [Kind::TwoOwners, Kind::TokenFell]);
    assert!(other);
}

#[test]
fn a_forgotten_grant_may_be_heard_of_after_the_next() {
    let text = "
        2.2 x forgets 2.1
        3 b takes 6144 12.5
        4 a takes 5120 12
        4 a frees 5120";
    assert_eq!(both(text), (vec![], false));
    let late = text.replace("4 a takes 5120 12", "4 a takes 5120 13.5");
    assert_eq!(both(&late), (vec![Kind::TokenFell], true));
}

#[test]
fn what_only_ours_finds() {
    for text in [
        "1 a takes 5 11.5",
        "1 a takes 5 11\n11 a loses 5\n12 a keeps 5 20",
        "1 r register 6 accepted\n2 r register 5 accepted",
        "1 a runs 1 5 first begins\n2 b runs 1 6 first begins",
    ] {
        let (kinds, other) = both(text);
        assert_eq!((kinds.len(), other), (1, false), "{text}");
    }
}

#[test]
fn what_only_the_other_finds() {
    // Killed before it could tell that it owned, it had written as an owner: ours knows of what
    // was told to be owned, and of nothing else.
    let text = "
        1 a takes 5 11
        2 k writes 4 3 accepted valid";
    assert_eq!(both(text), (vec![], true));
    let before = "
        0 k writes 4 0.5 accepted valid
        1 a takes 5 11";
    assert_eq!(both(before), (vec![], false));
}

#[test]
fn what_is_lost_stays_lost_and_nobody_believes_for_longer_than_a_lease() {
    let text = "
        1 a takes 5 11
        11 a loses 5
        12 a keeps 5 20";
    assert_eq!(kinds(text), [Kind::Revived]);
    let used = text.replace("12 a keeps 5 20", "12 a writes 5 13 accepted valid");
    assert_eq!(kinds(&used), [Kind::Revived]);
    assert_eq!(kinds("1 a takes 5 11.5"), [Kind::BelievedTooLong]);
}

#[test]
fn some_stores_allow_less_belief_than_they_keep_others_out() {
    let terms = Terms {
        belief: TERMS.lease * 5 / 8,
        ..TERMS
    };
    let violations = judge(&history("1 a takes 5 9"), terms).violations;
    assert_eq!(violations[0].kind, Kind::BelievedTooLong);
    assert_eq!(judge(&history("1 a takes 5 7"), terms).violations.len(), 0);
}

#[test]
fn an_owner_is_not_refused_by_what_it_owns() {
    let text = "
        1 a takes 5 11
        2 a writes 5 3 refused valid";
    assert_eq!(kinds(text), [Kind::OwnerRefused]);
    let late = "
        1 a takes 5 11
        12 a writes 5 13 refused late";
    assert_eq!(kinds(late), []);
}

#[test]
fn a_register_that_checks_tokens_takes_no_older_one() {
    let text = "
        1 r register 6 accepted
        2 r register 5 refused
        3 r register 6 accepted";
    assert_eq!(kinds(text), []);
    assert_eq!(
        kinds("1 r register 6 accepted\n2 r register 5 accepted"),
        [Kind::OldWrite]
    );
}

#[test]
fn a_tick_is_begun_once_and_in_order() {
    let text = "
        1 a runs 1 5 first begins
        1 a runs 1 5 first 2
        3 a runs 2 5 first begins
        9 b runs 2 6 again begins
        10 b runs 3 6 first begins";
    assert_eq!(kinds(text), []);
    let twice = "
        1 a runs 1 5 first begins
        2 b runs 1 6 first begins";
    assert_eq!(kinds(twice), [Kind::RanTwice]);
    let back = "
        1 a runs 2 5 first begins
        2 b runs 1 6 again begins";
    assert_eq!(kinds(back), [Kind::RanTwice]);
    let at_once = "
        1 a runs 1 5 first 4
        2 b runs 2 6 first 3";
    assert_eq!(kinds(at_once), [Kind::RunsAtOnce]);
}

#[test]
fn a_schedule_begins_anew_once_where_the_store_forgot() {
    let anew = "
        1 a runs 7 5 first begins
        3 x forgets 2
        20 b runs 0 6 first begins
        21 b runs 1 6 first begins";
    assert_eq!(kinds(anew), []);
    let again = format!("{anew}\n22 a runs 0 7 first begins");
    assert_eq!(kinds(&again), [Kind::RanTwice]);
    // What was begun long after it is written down.
    let later = "
        3 x forgets 2
        30 a runs 7 5 first begins
        31 b runs 3 6 first begins";
    assert_eq!(kinds(later), [Kind::RanTwice]);
    let same_leader = anew.replace("0 6", "0 5").replace("1 6", "1 5");
    assert_eq!(kinds(&same_leader), [Kind::RanTwice]);
}

#[test]
fn an_older_leader_runs_no_more_unless_it_was_forgotten() {
    let text = "
        1 a runs 7 5 first begins
        3 b runs 8 6 first begins
        4 a runs 9 5 first begins";
    assert_eq!(kinds(text), [Kind::RanTwice]);
    let forgotten = format!("{text}\n2 x forgets 1.5");
    assert_eq!(kinds(&forgotten), []);
    let for_long = forgotten.replace("4 a runs", "13 a runs");
    assert_eq!(kinds(&for_long), [Kind::RanTwice]);
    let at_once = "
        1 a runs 1 5 first 4
        3 b runs 2 6 first 5
        2 x forgets 1.5";
    assert_eq!(kinds(at_once), []);
    let newcomer = "
        5 a runs 1 5 first 9
        8 b runs 2 6 first 9.5
        2 x forgets 1.5";
    assert_eq!(kinds(newcomer), [Kind::RunsAtOnce]);
}

#[test]
fn runs_at_once_beside_a_longer_one_are_found() {
    let text = "
        1 a runs 1 5 first 9
        2 x forgets 1.5
        5 b runs 1 6 first 7
        6 c runs 2 7 first 8";
    assert_eq!(kinds(text), [Kind::RunsAtOnce]);
}

#[test]
fn a_counterexample_can_be_read() {
    let events = history(
        "
        0 x breaks pause
        1 a takes 5 11
        2 n asks
        9 b takes 6 19",
    );
    let violations = judge(&events, TERMS).violations;
    let text = timeline(&events, &violations[0], Duration::from_secs(20));
    let expected = [
        "TwoOwners: a with 5 and b with 6 both owned \"m\" for 2s",
        "      0.000 s  x          ── pause",
        "      1.000 s  a          OWNS m with 5, deadline 10.000 s ahead",
        "      2.000 s  n          asks for m",
        "      9.000 s  b          OWNS m with 6, deadline 10.000 s ahead",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let picture = svg(&events, &violations, None);
    assert_eq!(picture.matches("#2f6f9f").count(), 2, "{picture}");
    assert!(picture.contains("TwoOwners"), "{picture}");
}

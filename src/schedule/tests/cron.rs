//! Cron expressions: both changes of the clock, late ticks, bad input.

use std::time::Instant;

use jiff::{Timestamp, civil};
use proptest::prelude::*;

use super::super::cadence::{Before, Cadence, Due};
use super::super::config::{Misfire, ScheduleConfig};
use super::super::cron::CronRule;
use crate::error::ErrorKind;
use crate::model::StoreTime;

fn utc(text: &str) -> StoreTime {
    let timestamp: Timestamp = text.parse().unwrap();
    StoreTime::from_millis(timestamp.as_millisecond() as u64)
}

fn show(time: StoreTime) -> String {
    Timestamp::from_millisecond(time.as_millis() as i64)
        .unwrap()
        .to_string()
}

fn rule(expr: &str, tz: &str) -> CronRule {
    CronRule::new(expr, tz).unwrap()
}

fn following(rule: &CronRule, before: Before, now: StoreTime, misfire: Misfire) -> Option<Due> {
    let cadence = Cadence::Cron(rule.clone());
    cadence.from(cadence.following(before)?, now, misfire)
}

/// The first `count` times from `start` on.
fn times(rule: &CronRule, start: &str, count: usize) -> Vec<String> {
    let first = rule.from(utc(start));
    let all = std::iter::successors(first, |time| rule.next(*time));
    all.take(count).map(show).collect()
}

#[test]
fn it_runs_by_the_wall_clock_of_its_zone() {
    let rule = rule("0 9 * * mon-fri", "America/New_York");
    // A Friday in winter.
    assert_eq!(
        times(&rule, "2026-01-09T00:00:00Z", 3),
        [
            "2026-01-09T14:00:00Z",
            "2026-01-12T14:00:00Z",
            "2026-01-13T14:00:00Z"
        ]
    );
    assert_eq!(
        times(&rule, "2026-07-01T00:00:00Z", 1),
        ["2026-07-01T13:00:00Z"]
    );
}

#[test]
fn a_time_that_summer_time_leaves_out_runs_when_the_clock_has_jumped() {
    // 2026-03-29: at 02:00 the clocks in Zurich go on to 03:00.
    let nightly = rule("30 2 * * *", "Europe/Zurich");
    assert_eq!(
        times(&nightly, "2026-03-28T00:00:00Z", 3),
        [
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z"
        ]
    );
}

#[test]
fn a_gap_at_midnight_moves_only_what_it_left_out() {
    // 2025-04-25: at 00:00 the clocks in Cairo go on to 01:00.
    let noon = rule("0 12 * * *", "Africa/Cairo");
    assert_eq!(
        times(&noon, "2025-04-24T12:00:00Z", 2),
        ["2025-04-25T09:00:00Z", "2025-04-26T09:00:00Z"]
    );
    let early = rule("30 0 * * *", "Africa/Cairo");
    assert_eq!(
        times(&early, "2025-04-24T12:00:00Z", 2),
        ["2025-04-24T22:00:00Z", "2025-04-25T21:30:00Z"]
    );
    // Two times in one gap are one run.
    let both = rule("15,45 0,12 * * *", "Africa/Cairo");
    assert_eq!(
        times(&both, "2025-04-24T12:00:00Z", 2),
        ["2025-04-24T22:00:00Z", "2025-04-25T09:15:00Z"]
    );
}

#[test]
fn a_time_that_winter_time_repeats_runs_once() {
    // 2026-10-25: at 03:00 the clocks in Zurich go back to 02:00.
    let nightly = rule("30 2 * * *", "Europe/Zurich");
    assert_eq!(
        times(&nightly, "2026-10-24T00:00:00Z", 3),
        [
            "2026-10-24T00:30:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-26T01:30:00Z"
        ]
    );
}

#[test]
fn an_hourly_one_does_not_notice_the_changes() {
    let hourly = rule("0 * * * *", "Europe/Zurich");
    for night in ["2026-03-28T22:00:00Z", "2026-10-24T22:00:00Z"] {
        let mut at = utc(night);
        for _ in 0..8 {
            let next = hourly.next(at).unwrap();
            assert_eq!(next.since(at).as_secs(), 3600, "after {}", show(at));
            at = next;
        }
    }
}

#[test]
fn late_ticks_follow_the_rule() {
    let rule = rule("*/10 * * * * *", "UTC");
    let before = Before {
        tick: 4,
        due_at: utc("2026-01-01T00:00:00Z"),
        finished_at: None,
    };
    let now = utc("2026-01-01T00:00:35.5Z");
    let next = |misfire| {
        let due = following(&rule, before, now, misfire).unwrap();
        (due.tick, show(due.at), due.skipped)
    };
    assert_eq!(next(Misfire::Skip), (5, "2026-01-01T00:00:40Z".into(), 3));
    assert_eq!(next(Misfire::Once), (5, "2026-01-01T00:00:30Z".into(), 2));
    assert_eq!(next(Misfire::Burst), (5, "2026-01-01T00:00:10Z".into(), 0));
}

#[test]
fn years_of_late_ticks_cost_little() {
    let rule = rule("* * * * * *", "Europe/Zurich");
    let before = Before {
        tick: 4,
        due_at: utc("2020-01-01T00:00:00Z"),
        finished_at: None,
    };
    let begin = Instant::now();
    let due = following(&rule, before, utc("2026-01-01T00:00:00Z"), Misfire::Once);
    assert_eq!(show(due.unwrap().at), "2026-01-01T00:00:00Z");
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
}

#[test]
fn one_with_years_ends() {
    let rule = rule("0 0 0 1 1 * 2025", "UTC");
    assert_eq!(
        times(&rule, "2024-06-01T00:00:00Z", 9),
        ["2025-01-01T00:00:00Z"]
    );
    let once_more = Before {
        tick: 0,
        due_at: utc("2025-01-01T00:00:00Z"),
        finished_at: None,
    };
    let now = utc("2025-06-01T00:00:00Z");
    assert!(following(&rule, once_more, now, Misfire::Once).is_none());
}

#[test]
fn bad_expressions_and_zones_say_what_would_be_right() {
    for expr in [
        "",
        "every day",
        "60 * * * *",
        "* * *",
        "0 0 30 2 *",
        "0 0 0 1 1 * 2020",
    ] {
        let error = ScheduleConfig::cron(expr, "UTC").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{expr:?}");
        let text = error.to_string();
        assert!(
            text.contains("minute hour day-of-month"),
            "{expr:?}: {text}"
        );
    }
    for zone in ["", "Mars/Olympus", "Europe/Zürich", "CEST+1"] {
        let error = ScheduleConfig::cron("0 0 * * *", zone).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{zone:?}");
        assert!(error.to_string().contains("IANA name"), "{error}");
    }
    assert!(ScheduleConfig::cron("*".repeat(300), "UTC").is_err());
}

#[test]
fn spelling_does_not_make_another_plan() {
    let plan = |expr: &str, tz: &str| ScheduleConfig::cron(expr, tz).unwrap().plan();
    assert_eq!(plan("0  0 * *\t*", "utc"), plan("0 0 * * *", "UTC"));
    assert_eq!(
        plan("0 0 * * *", "Europe/Zurich"),
        "cron 0 0 * * * Europe/Zurich"
    );
}

proptest! {
    #[test]
    fn nothing_lies_between_two_neighbours(
        which in 0..6_usize,
        day in 0_i64..3_650,
        milli in 0_i64..86_400_000,
    ) {
        let rules = [
            ("30 2 * * *", "Europe/Zurich"),
            ("*/15 * * * *", "America/New_York"),
            ("0 0 1 * *", "Pacific/Apia"),
            ("15 1-3 * * sun", "Australia/Lord_Howe"),
            ("0 30 0 * * *", "America/Havana"),
            ("0 12 L * *", "UTC"),
        ];
        let rule = rule(rules[which].0, rules[which].1);
        let start = civil::date(2020, 1, 1).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
        let millis = start.timestamp().as_millisecond() + day * 86_400_000 + milli;
        let time = StoreTime::from_millis(millis as u64);
        let (from, next) = (rule.from(time).unwrap(), rule.next(time).unwrap());
        prop_assert!(from >= time && next > time);
        prop_assert!(from == next || from == time);
        prop_assert_eq!(rule.from(from), Some(from), "a time is its own first");
        let last = rule.last(time).unwrap();
        prop_assert!(last <= time && rule.next(last).unwrap() == next);
        prop_assert_eq!(rule.last(next), Some(next), "a time is its own last");
        let before = Before { tick: 1, due_at: time, finished_at: None };
        // Seen a little after the next: that is what runs, whatever the rule.
        let now = next + std::time::Duration::from_millis(999);
        for misfire in [Misfire::Once, Misfire::Burst] {
            prop_assert_eq!(following(&rule, before, now, misfire).unwrap().at, next);
        }
    }
}

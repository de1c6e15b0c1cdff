//! The times to come, without a store.

use std::time::{Duration, SystemTime};

use tenure::schedule::{ClockChange, ScheduleConfig};

use super::support::{millis, seconds};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The next times in Zurich, where the clocks go forward on 2027-03-28 and
/// back on 2027-10-31.
fn told(expr: &str, from: u64, count: usize) -> Vec<(String, Option<ClockChange>)> {
    let config = ScheduleConfig::cron(expr, "Europe/Zurich").unwrap();
    let runs = config.upcoming(at(from)).take(count);
    runs.map(|run| (run.local.unwrap().into(), run.change))
        .collect()
}

fn are(told: Vec<(String, Option<ClockChange>)>, expected: &[(&str, Option<ClockChange>)]) {
    let told: Vec<_> = told
        .iter()
        .map(|(time, change)| (&**time, *change))
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn a_time_that_is_left_out_has_a_run_in_its_place() {
    let march = 1_806_105_600;
    are(
        told("30 2 * * *", march, 3),
        &[
            ("2027-03-27T02:30:00+01:00", None),
            ("2027-03-28T03:00:00+02:00", Some(ClockChange::StandsIn)),
            ("2027-03-29T02:30:00+02:00", None),
        ],
    );
    // Nothing of it is left out: it only comes an hour earlier.
    are(
        told("0 3 * * *", march, 2),
        &[
            ("2027-03-27T03:00:00+01:00", None),
            ("2027-03-28T03:00:00+02:00", None),
        ],
    );
}

#[test]
fn a_time_that_comes_twice_is_run_the_first_time() {
    are(
        told("30 2 * * *", 1_824_854_400, 3),
        &[
            ("2027-10-30T02:30:00+02:00", None),
            ("2027-10-31T02:30:00+02:00", Some(ClockChange::FirstOnly)),
            ("2027-11-01T02:30:00+01:00", None),
        ],
    );
}

#[test]
fn what_runs_in_every_hour_follows_the_clock_on_the_wall() {
    are(
        told("*/30 * * * *", 1_806_192_900, 3),
        &[
            ("2027-03-28T01:30:00+01:00", None),
            ("2027-03-28T03:00:00+02:00", Some(ClockChange::LeftOut)),
            ("2027-03-28T03:30:00+02:00", None),
        ],
    );
    are(
        told("*/30 * * * *", 1_824_940_800, 5),
        &[
            ("2027-10-31T02:00:00+02:00", Some(ClockChange::First)),
            ("2027-10-31T02:30:00+02:00", Some(ClockChange::First)),
            ("2027-10-31T02:00:00+01:00", Some(ClockChange::Second)),
            ("2027-10-31T02:30:00+01:00", Some(ClockChange::Second)),
            ("2027-10-31T03:00:00+01:00", None),
        ],
    );
}

#[test]
fn rates_and_delays_are_counted_from_then() {
    for config in [
        ScheduleConfig::rate(millis(500), seconds(2)),
        ScheduleConfig::delay(millis(500), seconds(2)),
    ] {
        let config = config.unwrap();
        let runs = config.upcoming(at(1)).take(3);
        let due: Vec<_> = runs.map(|run| run.due_at.as_millis()).collect();
        assert_eq!(due, [1_500, 3_500, 5_500]);
    }
}

#[test]
fn it_ends_with_the_last_year() {
    let config = ScheduleConfig::cron("0 0 0 1 1 * 2028", "UTC").unwrap();
    assert_eq!(config.upcoming(at(1_806_105_600)).count(), 1);
    assert_eq!(config.upcoming(at(1_900_000_000)).count(), 0);
    // Also far away, and before all counting.
    let config = ScheduleConfig::rate(seconds(1), seconds(1)).unwrap();
    assert_eq!(config.upcoming(SystemTime::UNIX_EPOCH).take(2).count(), 2);
}

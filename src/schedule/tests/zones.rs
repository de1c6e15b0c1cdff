//! Cron in every zone of the database that changes its clocks, against an
//! oracle that walks minute by minute and knows nothing of the rule's ways.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{self, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::super::cron::CronRule;
use crate::model::StoreTime;

/// An expression, and the same in words of its own: which minutes match, at
/// which seconds of them, and whether it runs in every hour.
struct Case {
    expr: &'static str,
    minutes: fn(DateTime) -> bool,
    seconds: &'static [i8],
    hourly: bool,
}

const fn daily(expr: &'static str, minutes: fn(DateTime) -> bool) -> Case {
    Case {
        expr,
        minutes,
        seconds: &[0],
        hourly: false,
    }
}

const fn hourly(expr: &'static str, minutes: fn(DateTime) -> bool) -> Case {
    Case {
        expr,
        minutes,
        seconds: &[0],
        hourly: true,
    }
}

fn at(time: DateTime, hour: i8, minute: i8) -> bool {
    time.hour() == hour && time.minute() == minute
}

fn works(day: Date) -> bool {
    !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// The working day nearest to the `day` of the month, within the month.
fn nearest(time: DateTime, day: i8) -> bool {
    let wanted = time.date().with().day(day).build().unwrap();
    let near = [0, -1, 1, -2, 2].map(|days| wanted.checked_add(days.days()).unwrap());
    let mut near = near
        .into_iter()
        .filter(|near| near.month() == wanted.month());
    near.find(|near| works(*near)) == Some(time.date())
}

const CASES: [Case; 24] = [
    daily("0 12 * * *", |t| at(t, 12, 0)),
    daily("0 0 * * *", |t| at(t, 0, 0)),
    daily("30 0 * * *", |t| at(t, 0, 30)),
    daily("30 2 * * *", |t| at(t, 2, 30)),
    daily("59 23 * * *", |t| at(t, 23, 59)),
    daily("0 9 * * mon-fri", |t| at(t, 9, 0) && works(t.date())),
    daily("15 1 * * sun", |t| {
        at(t, 1, 15) && t.weekday() == Weekday::Sunday
    }),
    daily("0 2,14 * * *", |t| at(t, 2, 0) || at(t, 14, 0)),
    daily("*/20 0-3 * * *", |t| t.hour() <= 3 && t.minute() % 20 == 0),
    daily("0 */2 * * *", |t| t.hour() % 2 == 0 && t.minute() == 0),
    daily("0 3 1 * *", |t| at(t, 3, 0) && t.day() == 1),
    daily("0 0 L * *", |t| {
        at(t, 0, 0) && t.date() == t.date().last_of_month()
    }),
    daily("30 0 * * sun#1", |t| {
        at(t, 0, 30) && t.weekday() == Weekday::Sunday && t.day() <= 7
    }),
    daily("30 1 * * sunL", |t| {
        let last = t.date().days_in_month() - 7 < t.day();
        at(t, 1, 30) && t.weekday() == Weekday::Sunday && last
    }),
    daily("0 1 26W * *", |t| at(t, 1, 0) && nearest(t, 26)),
    // Either the day of the month or that of the week.
    daily("0 0 25 * fri", |t| {
        at(t, 0, 0) && (t.day() == 25 || t.weekday() == Weekday::Friday)
    }),
    daily("45 23 * 3,4,9,10,11 sat", |t| {
        let months = [3, 4, 9, 10, 11].contains(&t.month());
        at(t, 23, 45) && months && t.weekday() == Weekday::Saturday
    }),
    daily("0 12 25 4 *", |t| {
        at(t, 12, 0) && t.day() == 25 && t.month() == 4
    }),
    Case {
        seconds: &[15, 45],
        ..daily("15,45 30 0,2 * * *", |t| at(t, 0, 30) || at(t, 2, 30))
    },
    daily("0 0 2 * * * 2025", |t| at(t, 2, 0) && t.year() == 2025),
    hourly("30 * * * *", |t| t.minute() == 30),
    hourly("0 * * * sun", |t| {
        t.minute() == 0 && t.weekday() == Weekday::Sunday
    }),
    hourly("*/15 0-23 * * *", |t| t.minute() % 15 == 0),
    Case {
        seconds: &[10],
        ..hourly("10 5 * * * *", |t| t.minute() == 5)
    },
];

/// A minute of real time, as a wall clock shows it.
struct Minute {
    at: i64,
    wall: DateTime,
    /// The wall clock has shown it before.
    is_repeated: bool,
    /// What the wall clock left out just before.
    left_out: Vec<DateTime>,
}

/// The minutes around `change`, for the oracle.
fn minutes(zone: &TimeZone, change: Timestamp) -> Vec<Minute> {
    let hour = SignedDuration::from_hours(1);
    let (begin, end) = (change - hour * 13, change + hour * 25);
    let mut latest: Option<DateTime> = None;
    let mut all = Vec::new();
    for second in (begin.as_second()..end.as_second()).step_by(60) {
        let wall = zone.to_datetime(Timestamp::from_second(second).unwrap());
        let next = latest.map(|latest| latest + 1.minute());
        let left_out = next.into_iter().flat_map(|next| next.series(1.minute()));
        all.push(Minute {
            at: second,
            wall,
            is_repeated: latest.is_some_and(|latest| wall <= latest),
            left_out: left_out.take_while(|time| *time < wall).collect(),
        });
        latest = latest.max(Some(wall));
    }
    all
}

/// When `case` runs in these minutes.
fn expected(case: &Case, minutes: &[Minute]) -> Vec<i64> {
    let mut all = Vec::new();
    for minute in minutes {
        if !case.hourly && minute.left_out.iter().any(|time| (case.minutes)(*time)) {
            all.push(minute.at);
        }
        if (case.minutes)(minute.wall) && (case.hourly || !minute.is_repeated) {
            all.extend(
                case.seconds
                    .iter()
                    .map(|second| minute.at + i64::from(*second)),
            );
        }
    }
    all.dedup();
    all
}

fn time(second: i64) -> StoreTime {
    StoreTime::from_millis(second as u64 * 1_000)
}

/// Compares the rule with the oracle; what differs, as text.
fn compare(case: &Case, rule: &CronRule, minutes: &[Minute]) -> Result<(), String> {
    // What runs in every hour shows what it does in a few.
    let hour = 60;
    let minutes = if case.hourly {
        &minutes[10 * hour..16 * hour]
    } else {
        minutes
    };
    let (begin, end) = (minutes[0].at, minutes[minutes.len() - 1].at + 60);
    let expected = expected(case, minutes);
    let first = rule.from(time(begin));
    let found: Vec<_> = std::iter::successors(first, |time| rule.next(*time))
        .take_while(|found| *found < time(end))
        .map(|found| found.as_millis() as i64 / 1_000)
        .collect();
    if found != expected {
        let show = |all: &[i64]| {
            let all = all
                .iter()
                .map(|second| Timestamp::from_second(*second).unwrap().to_string());
            all.collect::<Vec<_>>().join(" ")
        };
        return Err(format!("{} instead of {}", show(&found), show(&expected)));
    }
    let mut before = rule.last(time(begin - 1));
    for at in expected.into_iter().map(time) {
        let earlier = StoreTime::from_millis(at.as_millis() - 1);
        let agree = rule.last(at) == Some(at)
            && rule.last(earlier) == before
            && rule.from(at) == Some(at)
            && rule.from(earlier) == Some(at);
        if !agree {
            return Err(format!("next, last and from do not agree about {at}"));
        }
        before = Some(at);
    }
    if rule.last(time(end - 1)) != before {
        return Err("there is another last".into());
    }
    Ok(())
}

fn check(zone: &str, changes: &[Timestamp]) -> Vec<String> {
    let rules: Vec<_> = CASES
        .iter()
        .map(|case| CronRule::new(case.expr, zone).unwrap())
        .collect();
    let zone_rules = TimeZone::get(zone).unwrap();
    let mut wrong = Vec::new();
    for change in changes {
        let minutes = minutes(&zone_rules, *change);
        for (case, rule) in CASES.iter().zip(&rules) {
            if let Err(why) = compare(case, rule, &minutes) {
                wrong.push(format!("{zone} at {change}, {:?}: {why}", case.expr));
            }
        }
    }
    wrong
}

fn assert_right(wrong: &[String]) {
    let some = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{} wrong, such as {some:#?}", wrong.len());
}

fn changes(zone: &TimeZone, from: &str, to: &str) -> Vec<Timestamp> {
    let (from, to): (Timestamp, Timestamp) = (from.parse().unwrap(), to.parse().unwrap());
    let all = zone.following(from).map(|change| change.timestamp());
    all.take_while(|change| *change < to).collect()
}

#[test]
fn every_zone_is_as_a_minute_by_minute_walk_says() {
    // Zones that change at the same moments, as the many names of one do,
    // are the same zone.
    let mut zones = BTreeMap::new();
    for name in tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let changes = changes(&zone, "2020-01-01T00:00:00Z", "2031-01-01T00:00:00Z");
        let walls: Vec<_> = changes
            .iter()
            .map(|change| zone.to_datetime(*change))
            .collect();
        if !changes.is_empty() {
            zones
                .entry((changes, walls))
                .or_insert_with(|| name.to_string());
        }
    }
    assert!(zones.len() > 40, "{} zones", zones.len());
    let zones: Vec<_> = zones
        .iter()
        .map(|((changes, _), name)| (name, changes))
        .collect();
    let share = zones.len().div_ceil(4);
    let wrong = std::thread::scope(|scope| {
        let check = |(name, changes): &(&String, &Vec<Timestamp>)| check(name, changes);
        let parts = zones.chunks(share);
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().flat_map(check).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_right(&wrong);
}

#[test]
fn whole_days_that_never_were_and_days_that_came_twice() {
    let mut wrong = Vec::new();
    for (name, from, to) in [
        // Left out 2011-12-30.
        (
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            "2012-01-31T00:00:00Z",
        ),
        // Left out 1993-08-21.
        (
            "Pacific/Kwajalein",
            "1993-08-01T00:00:00Z",
            "1993-09-30T00:00:00Z",
        ),
        (
            "Pacific/Kiritimati",
            "1994-12-01T00:00:00Z",
            "1995-01-31T00:00:00Z",
        ),
        // Forward by two hours, and by half an hour.
        (
            "Antarctica/Troll",
            "2020-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z",
        ),
        (
            "Australia/Lord_Howe",
            "2020-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z",
        ),
        // Back by half an hour, without summer time.
        (
            "Asia/Pyongyang",
            "2015-01-01T00:00:00Z",
            "2019-01-01T00:00:00Z",
        ),
        (
            "America/Caracas",
            "2007-01-01T00:00:00Z",
            "2017-01-01T00:00:00Z",
        ),
        // Changes of the name alone, and two changes within hours or weeks.
        (
            "Africa/Casablanca",
            "2012-01-01T00:00:00Z",
            "2019-01-01T00:00:00Z",
        ),
        ("Asia/Gaza", "2008-01-01T00:00:00Z", "2012-01-01T00:00:00Z"),
        (
            "Antarctica/Casey",
            "2009-01-01T00:00:00Z",
            "2024-01-01T00:00:00Z",
        ),
    ] {
        let changes = changes(&TimeZone::get(name).unwrap(), from, to);
        assert!(!changes.is_empty(), "{name}");
        wrong.extend(check(name, &changes));
    }
    assert_right(&wrong);
}

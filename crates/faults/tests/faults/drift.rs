//! That clocks drift when they are to, by as much as is promised to be borne and not by more.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_faults::topology::drift;
use tenure_testkit::servers::Redis;

/// A 500th of it is ten milliseconds.
const LENGTH: Duration = Duration::from_secs(5);

/// Of ten, in microseconds.
const SEEN: i64 = 4_000;

/// What is left when a time is rounded.
const ROUNDED: i64 = 10;

fn wall() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_micros() as i64
}

/// By how many microseconds a server's clock is ahead of the machine's: at least, and at most.
fn lead(server: &Redis) -> (i64, i64) {
    let before = wall();
    let there = server.command(&["TIME"]).unwrap();
    let after = wall();
    let mut parts = there.lines().map(|part| part.parse::<i64>().unwrap());
    let there = parts.next().unwrap() * 1_000_000 + parts.next().unwrap();
    (there - after, there - before)
}

/// Looks until the drift is over: the furthest ahead and the furthest behind that was seen.
fn seen(gains: bool) -> (i64, i64) {
    let server = Redis::builder().own_clock().unwrap().start().unwrap();
    let (mut ahead, mut behind) = (0, 0);
    std::thread::scope(|scope| {
        let drifting = scope.spawn(|| drift(&[&*server], gains, LENGTH));
        while !drifting.is_finished() {
            let (at_least, at_most) = lead(&server);
            ahead = ahead.max(at_least);
            behind = behind.max(-at_most);
        }
        drifting.join().unwrap().unwrap();
    });
    let (at_least, at_most) = lead(&server);
    assert!(
        at_least <= ROUNDED && at_most >= -ROUNDED,
        "{at_least} {at_most}"
    );
    (ahead, behind)
}

#[test]
fn a_servers_clock_gains_and_is_right_again() {
    let (ahead, behind) = seen(true);
    assert!((SEEN..=10_000 + ROUNDED).contains(&ahead), "{ahead}");
    assert!(behind <= ROUNDED, "{behind}");
}

#[test]
fn a_servers_clock_loses_and_is_right_again() {
    let (ahead, behind) = seen(false);
    assert!((SEEN..=10_000 + ROUNDED).contains(&behind), "{behind}");
    assert!(ahead <= ROUNDED, "{ahead}");
}

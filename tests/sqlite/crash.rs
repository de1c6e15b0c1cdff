//! Processes that die, stop, and lie about the time.

use std::time::{Duration, Instant};

use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, PeerBuilder, read_journal};
use tenure_testkit::servers::find::Server;

use crate::support::{SOON, TestFile};

/// Short enough to wait for, long enough for a busy machine.
const LEASE: Duration = Duration::from_millis(2000);

fn peer(place: &TestFile) -> PeerBuilder {
    let journal = place.beside("-journal-of-the-fleet");
    Peer::contending(&place.url(), "m")
        .option("--ttl", "1200ms")
        .option("--transition", "800ms")
        .option("--journal", journal.to_str().unwrap())
}

fn assert_one_owner_at_a_time(place: &TestFile) {
    let history = read_journal(&place.beside("-journal-of-the-fleet"));
    if let Err(violations) = judge(&history) {
        panic!("{}", violations[0]);
    }
}

#[test]
fn a_killed_owner_is_followed_as_soon_as_its_lease_is_over() {
    let place = TestFile::new();
    let mut owner = peer(&place).spawn();
    let first = owner.wait_acquired(SOON);
    let mut waiter = peer(&place).spawn();
    waiter.wait_line(SOON, "ready");
    owner.kill();
    let killed = Instant::now();
    let next = waiter.wait_acquired(SOON);
    // The promise is a second; more is the machine's.
    let took = killed.elapsed();
    assert!(took < LEASE + Duration::from_secs(5), "{took:?}");
    assert!(next.token > first.token);
    waiter.quit(SOON);
    assert_one_owner_at_a_time(&place);
}

#[test]
fn a_release_goes_to_one_who_waits_though_another_waiter_was_killed() {
    let place = TestFile::new();
    let mut owner = peer(&place).option("--ttl", "60s").spawn();
    owner.wait_acquired(SOON);
    let mut waiters = [peer(&place).spawn(), peer(&place).spawn()];
    for waiter in &mut waiters {
        waiter.wait_line(SOON, "ready");
    }
    let [killed, mut waiter] = waiters;
    killed.kill();
    owner.tell("stop");
    owner.wait_line(SOON, "stopped");
    let stopped = Instant::now();
    waiter.wait_acquired(SOON);
    let took = stopped.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "the lease had a minute: {took:?}"
    );
    assert_one_owner_at_a_time(&place);
}

#[test]
fn an_owner_that_was_stopped_for_longer_than_its_lease_finds_itself_deposed() {
    let place = TestFile::new();
    let mut owner = peer(&place).spawn();
    let first = owner.wait_acquired(SOON);
    let mut waiter = peer(&place).spawn();
    waiter.wait_line(SOON, "ready");
    owner.pause();
    let next = waiter.wait_acquired(SOON);
    assert!(next.token > first.token);
    owner.resume();
    owner.wait_line(SOON, "released");
    // It stands again, and follows when the other goes.
    waiter.tell("stop");
    waiter.wait_line(SOON, "stopped");
    assert!(owner.wait_acquired(SOON).token > next.token);
    assert_one_owner_at_a_time(&place);
}

#[test]
fn a_wall_clock_an_hour_off_changes_nothing() {
    let preload = Server::Faketime
        .find("libfaketime.so.1")
        .unwrap_or_else(|missing| panic!("{missing}"));
    let place = TestFile::new();
    // Long leases, so that only a clock can end one.
    let peer = || peer(&place).option("--ttl", "30s");
    let off = |by: &str| {
        peer()
            .env("LD_PRELOAD", &preload)
            .env("FAKETIME", by)
            .env("DONT_FAKE_MONOTONIC", "1")
    };
    let mut owner = peer().spawn();
    let mut token = owner.wait_acquired(SOON).token;
    for by in ["+1h", "-1h"] {
        let mut shifted = off(by).spawn();
        shifted.wait_line(SOON, "ready");
        // It must not take what is owned, though its own clock says that the
        // lease was over long ago.
        let early = shifted.acquired_within(Duration::from_secs(1));
        assert_eq!(early, None, "{by}");
        owner.tell("stop");
        owner.wait_line(SOON, "stopped");
        let next = shifted.wait_acquired(SOON);
        assert!(next.token > token, "{by}");
        assert!(next.valid_for <= Duration::from_secs(31), "{by}");
        // Tokens are microseconds where the last one was not larger: proof
        // that the clock was moved at all.
        let moved = next.token.store() - token.store() > 3_000_000_000;
        assert_eq!(moved, by == "+1h", "{by}");
        token = next.token;
        // Nor may another take it from an owner whose clock is behind or ahead.
        owner.tell("start");
        assert_eq!(owner.acquired_within(Duration::from_secs(1)), None, "{by}");
        shifted.quit(SOON);
        token = owner.wait_acquired(SOON).token.max(token);
    }
    assert_one_owner_at_a_time(&place);
}

#[test]
fn fifty_processes_take_their_turns() {
    let place = TestFile::with("?busy_timeout=5s");
    let mut peers: Vec<_> = (0..50)
        .map(|number| {
            peer(&place)
                .id(&format!("p{number}"))
                .option("--ttl", "20s")
                .option("--hold", "1ms")
                .option("--rest", "20ms")
                .option("--rounds", "4")
                .spawn()
        })
        .collect();
    for peer in &mut peers {
        peer.wait_line(Duration::from_secs(60), "bye");
        let trouble = peer.said().iter().find(|line| line.starts_with("trouble"));
        assert_eq!(trouble, None);
    }
    assert_one_owner_at_a_time(&place);
}

#[test]
fn two_processes_that_are_given_the_same_chance_do_not_both_own() {
    tenure_testkit::every_store::same_chance::one_of_two_owns(&TestFile::new().url());
}

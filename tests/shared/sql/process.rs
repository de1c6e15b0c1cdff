//! Processes that die and stop.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, PeerBuilder, read_journal};

use crate::SERVER;

/// Longer than anything here takes on a machine that is busy.
const SOON: Duration = Duration::from_secs(60);

const LEASE: Duration = Duration::from_millis(2000);

/// The peers of one mutex, and what they noted.
struct Fleet {
    folder: TempDir,
    mutex: &'static str,
}

impl Fleet {
    fn of(mutex: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, mutex }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn peer(&self) -> PeerBuilder {
        Peer::contending(&SERVER.url(), self.mutex)
            .option("--ttl", "1200ms")
            .option("--transition", "800ms")
            .option("--journal", self.journal().to_str().unwrap())
    }

    fn assert_one_owner_at_a_time(&self) {
        if let Err(violations) = judge(&read_journal(&self.journal())) {
            panic!("{}", violations[0]);
        }
    }
}

#[test]
fn a_killed_owner_is_followed_when_its_lease_is_over() {
    let fleet = Fleet::of("killed-owner");
    let mut owner = fleet.peer().spawn();
    let first = owner.wait_acquired(SOON);
    let mut waiter = fleet.peer().spawn();
    waiter.wait_line(SOON, "ready");
    owner.kill();
    let killed_at = Instant::now();
    let next = waiter.wait_acquired(SOON);
    let took = killed_at.elapsed();
    assert!(took < LEASE + Duration::from_secs(5), "{took:?}");
    assert!(next.token > first.token);
    waiter.quit(SOON);
    fleet.assert_one_owner_at_a_time();
}

#[test]
fn a_killed_waiter_is_in_nobodys_way() {
    let fleet = Fleet::of("killed-waiter");
    let mut owner = fleet.peer().option("--ttl", "60s").spawn();
    owner.wait_acquired(SOON);
    let mut doomed = fleet.peer().spawn();
    let mut waiter = fleet.peer().spawn();
    doomed.wait_line(SOON, "ready");
    waiter.wait_line(SOON, "ready");
    doomed.kill();
    owner.tell("stop");
    owner.wait_line(SOON, "stopped");
    let stopped_at = Instant::now();
    waiter.wait_acquired(SOON);
    let took = stopped_at.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "the lease had a minute: {took:?}"
    );
    fleet.assert_one_owner_at_a_time();
}

#[test]
fn an_owner_stopped_for_longer_than_its_lease_finds_itself_deposed() {
    let fleet = Fleet::of("stopped-owner");
    let mut owner = fleet.peer().spawn();
    let first = owner.wait_acquired(SOON);
    let mut waiter = fleet.peer().spawn();
    waiter.wait_line(SOON, "ready");
    owner.pause();
    let next = waiter.wait_acquired(SOON);
    assert!(next.token > first.token);
    owner.resume();
    owner.wait_line(SOON, "released");
    waiter.tell("stop");
    waiter.wait_line(SOON, "stopped");
    assert!(owner.wait_acquired(SOON).token > next.token);
    fleet.assert_one_owner_at_a_time();
}

#[test]
fn ten_processes_take_their_turns() {
    let fleet = Fleet::of("turns-of-ten");
    let peer = |number: usize| {
        let id = format!("p{number}");
        let peer = fleet.peer().id(&id).option("--ttl", "20s");
        let peer = peer.option("--hold", "1ms").option("--rest", "30ms");
        peer.option("--rounds", "3").spawn()
    };
    let mut peers: Vec<_> = (0..10).map(peer).collect();
    for peer in &mut peers {
        peer.wait_line(SOON, "bye");
        let trouble = peer.said().iter().find(|line| line.starts_with("trouble"));
        assert_eq!(trouble, None);
    }
    fleet.assert_one_owner_at_a_time();
}

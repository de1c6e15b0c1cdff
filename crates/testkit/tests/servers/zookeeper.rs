use std::time::{Duration, Instant};

use tenure_testkit::servers::{ZooKeeper, ZooKeeperEnsemble, wait};

use crate::{drop_removes, kill_refuses, pause_silences};

/// How many nodes there are; a new server has five of its own.
fn nodes(server: &ZooKeeper) -> u32 {
    let answer = server.word("srvr").unwrap();
    let count = answer
        .lines()
        .find_map(|line| line.strip_prefix("Node count: "));
    count.unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
}

#[test]
fn zookeeper_lives_through_all_that_can_happen_to_it() {
    let server = ZooKeeper::start().unwrap();
    assert_eq!(server.mode().unwrap(), "standalone");
    let empty = nodes(&server);
    server.shell(&["create", "/a", "x"]).unwrap();
    assert_eq!(nodes(&server), empty + 1);
    pause_silences(&server, |limit| server.word_within("ruok", limit).map(drop));
    kill_refuses(&server, server.address());
    server.start().unwrap();
    assert_eq!(nodes(&server), empty + 1);
    server.restart_empty().unwrap();
    assert_eq!(nodes(&server), empty);
    drop_removes(server);
}

#[test]
fn an_ensemble_goes_on_without_its_leader() {
    let ensemble = ZooKeeperEnsemble::start(3).unwrap();
    let first = ensemble.wait_leader().unwrap();
    first.kill().unwrap();
    let second = ensemble.wait_leader().unwrap();
    assert_ne!(first.port(), second.port());
    first.start().unwrap();
    assert_eq!(first.mode().unwrap(), "follower");
    // Without a majority none leads.
    let others = ensemble
        .members()
        .iter()
        .filter(|m| m.port() != second.port());
    others.for_each(|member| member.kill().unwrap());
    wait::until_true("no leader", || ensemble.leader().is_none()).unwrap();
}

/// For how long it runs, by the clock by which it counts sessions.
fn uptime(server: &ZooKeeper) -> Duration {
    let answer = server.word("mntr").unwrap();
    let uptime = answer
        .lines()
        .find_map(|line| line.strip_prefix("zk_uptime\t"));
    let uptime = uptime.unwrap_or_else(|| panic!("{answer}"));
    Duration::from_millis(uptime.parse().unwrap())
}

#[test]
fn the_monotonic_clock_of_zookeeper_can_be_set() {
    let server = ZooKeeper::builder().own_clock().unwrap().start().unwrap();
    let (begun, first) = (Instant::now(), uptime(&server));
    let ahead = Duration::from_secs(100);
    server.set_clock(ahead).unwrap();
    let second = uptime(&server);
    let passed = second - first;
    assert!(passed >= ahead, "{passed:?}");
    assert!(
        passed <= ahead + begun.elapsed() + Duration::from_millis(5),
        "{passed:?}"
    );
}

#[test]
fn a_zookeeper_without_room_ends_and_has_everything_again() {
    let server = ZooKeeper::builder().own_disk().unwrap().start().unwrap();
    server.shell(&["create", "/a", "x"]).unwrap();
    let before = nodes(&server);
    server.fill_disk(true).unwrap();
    server.shell(&["create", "/b", "x"]).unwrap_err();
    wait::until_true("its end", || server.pid().is_none()).unwrap();
    server.fill_disk(false).unwrap();
    server.start().unwrap();
    assert_eq!(nodes(&server), before);
}

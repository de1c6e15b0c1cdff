//! The other process does what it is told and says what it does.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_testkit::history::What;
use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, read_journal};

tenure_testkit::peer_process!();

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_peer_owns_stops_starts_and_quits() {
    let mut peer = Peer::contending("memory:?ttl=3s&transition=2s", "m").spawn();
    peer.wait_line(SOON, "ready");
    let first = peer.wait_acquired(SOON);
    assert!(first.valid_for <= Duration::from_secs(5));
    peer.tell("stop");
    peer.wait_line(SOON, "released");
    peer.wait_line(SOON, "stopped");
    peer.tell("start");
    assert!(peer.wait_acquired(SOON).token > first.token);
    peer.quit(SOON);
}

#[test]
fn a_peer_with_rounds_ends_by_itself_and_keeps_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let peer = Peer::contending("memory:", "m")
        .id("a")
        .option("--hold", "20ms")
        .option("--rounds", "5")
        .option("--journal", journal.to_str().unwrap())
        .spawn();
    assert!(peer.wait().success());
    let history = read_journal(&journal);
    judge(&history).unwrap();
    let tokens = history.events().into_iter().map(|event| match event.what {
        What::Written { token, .. } => token,
        other => panic!("{other:?}"),
    });
    assert_eq!(tokens.collect::<BTreeSet<_>>().len(), 5, "one a round");
}

#[test]
fn a_peer_says_what_is_wrong() {
    let mut peer = Peer::contending("nosuch:", "m").spawn();
    let trouble = peer.wait_trouble(SOON);
    assert!(trouble.contains("nosuch"), "{trouble}");
    assert!(!peer.wait().success());
}

#[test]
fn a_killed_peer_is_gone() {
    let mut peer = Peer::contending("memory:", "m").spawn();
    peer.wait_acquired(SOON);
    peer.pause();
    peer.resume();
    peer.kill();
}

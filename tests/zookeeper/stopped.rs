//! Owners whose processes are stopped for a part of their session; at once
//! after they go on, their server is cut off from the ensemble.
//!
//! What the leader knows of their sessions is then as old as the pause. The
//! pauses end together, so that one cut serves all of them.

use std::time::{Duration, Instant};

use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, PeerBuilder, read_journal};
use tenure_testkit::servers::ZooKeeperEnsemble;

use crate::stall::{TICK, until_aligned};
use crate::support::{PATIENCE, name};

/// A session timeout T is two ticks, the least that servers give.
const T: Duration = TICK.saturating_mul(2);

/// How long each owner is stopped, in parts of T. From 5/8 on it has lost by
/// its own clock when it goes on.
const PARTS: [f64; 5] = [0.7, 0.6, 0.5, 0.4, 0.3];

fn is_left(peer: &mut Peer) -> bool {
    // Hears all that it has said by now.
    while peer.acquired_within(Duration::ZERO).is_some() {}
    peer.said().iter().any(|line| line == "released")
}

fn sleep_until(at: Instant) {
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
}

/// One cut, `after` the owners have gone on. False when the machine was too slow
/// for their sessions before it came to that.
fn stopped(ensemble: &ZooKeeperEnsemble, after: Duration) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let name = name("stopped");
    let peer = |hosts: &str, number: usize, who: &str| -> PeerBuilder {
        let url = format!("zookeeper://{hosts}?session_timeout={}ms", T.as_millis());
        Peer::contending(&url, &format!("{name}-{number}"))
            .id(&format!("{who}-{number}"))
            .option("--journal", journal.to_str().unwrap())
    };
    let members = ensemble.members();
    let (here, there) = (
        members[2].address().to_string(),
        format!("{},{}", members[0].address(), members[1].address()),
    );
    let mut owners: Vec<_> = (0..PARTS.len())
        .map(|number| peer(&here, number, "owner").spawn())
        .collect();
    for owner in &mut owners {
        owner.wait_acquired(PATIENCE);
    }
    let mut rivals: Vec<_> = (0..PARTS.len())
        .map(|number| peer(&there, number, "rival").spawn())
        .collect();
    for rival in &mut rivals {
        rival.wait_line(PATIENCE, "ready");
    }
    // Renewed a few times, so that all is as usual.
    std::thread::sleep(T);
    if owners.iter_mut().any(is_left) {
        return false;
    }
    // The leader ends sessions at whole ticks: at one just before a lease that
    // is counted from the first request after the pause.
    std::thread::sleep(until_aligned(T + T.mul_f64(0.625 - 0.075)));
    let end = Instant::now() + T;
    for (owner, part) in owners.iter().zip(PARTS) {
        sleep_until(end - T.mul_f64(part));
        owner.pause();
    }
    sleep_until(end);
    owners.iter().for_each(Peer::resume);
    // Time for an answer to those who ask at once, and no more.
    std::thread::sleep(after);
    ensemble.sever().unwrap();
    for rival in &mut rivals {
        rival.wait_acquired(PATIENCE);
    }
    for owner in &mut owners {
        if !is_left(owner) {
            owner.wait_line(PATIENCE, "released");
        }
    }
    ensemble.rejoin().unwrap();
    drop((owners, rivals));
    let judged = judge(&read_journal(&journal));
    assert!(judged.is_ok(), "{after:?} after the pauses: {judged:#?}");
    true
}

#[test]
fn owners_that_were_stopped_believe_no_longer_than_the_leader_remembers_them() {
    let tick = format!("tickTime={}", TICK.as_millis());
    let ensemble = ZooKeeperEnsemble::start_severable_with(false, 10, &[&tick]).unwrap();
    for after in [20, 60] {
        let mut trials = 0;
        while !stopped(&ensemble, Duration::from_millis(after)) {
            trials += 1;
            assert!(trials < 10, "the machine is too slow for these sessions");
        }
    }
}

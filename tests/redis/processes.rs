//! Processes that are killed and stopped while they contend.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_testkit::history::What;
use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, read_journal};

use crate::support::{PATIENCE, fresh, shared, url};

#[test]
fn killed_and_stopped_processes_never_own_together() {
    let folder = tempfile::tempdir().unwrap();
    let mutex = fresh("fleet");
    let journal = folder.path().join("journal");
    let start = |_| {
        Peer::contending(&url(shared()), mutex.as_str())
            .option("--ttl", "700ms")
            .option("--transition", "500ms")
            .option("--hold", "40ms")
            .option("--journal", journal.to_str().unwrap())
            .spawn()
    };
    let mut peers: Vec<Peer> = (0..4).map(start).collect();
    for peer in &mut peers {
        peer.wait_acquired(PATIENCE);
    }
    for round in 0..3 {
        // Longer than the lease: what it owned is another's when it wakes.
        peers[0].pause();
        peers.remove(1).kill();
        std::thread::sleep(Duration::from_millis(1_600));
        peers[0].resume();
        peers.push(start(round));
        for peer in &mut peers {
            peer.wait_acquired(PATIENCE);
        }
    }
    for peer in peers {
        peer.quit(PATIENCE);
    }
    let history = read_journal(&journal);
    judge(&history).unwrap();
    let (mut owners, mut tokens) = (BTreeSet::new(), BTreeSet::new());
    for event in history.events() {
        owners.insert(event.process);
        if let What::Written { token, .. } = event.what {
            tokens.insert(token);
        }
    }
    // One that was killed just after it had won may have noted nothing.
    assert!(owners.len() >= 4, "everybody had its turns: {owners:?}");
    // Everybody was waited for in each of four phases.
    assert!(tokens.len() >= 4 * 4 - 3, "{} grants", tokens.len());
    // Nothing is left behind but the fence.
    let keys = shared()
        .command(&["KEYS", &format!("simba:{{{mutex}}}*")])
        .unwrap();
    let rest: Vec<&str> = keys.lines().filter(|key| !key.ends_with(":kept")).collect();
    assert_eq!(rest, [format!("simba:{{{mutex}}}:fence")]);
}

#[test]
fn two_processes_that_are_given_the_same_chance_do_not_both_own() {
    tenure_testkit::every_store::same_chance::one_of_two_owns(&url(shared()));
}

//! Processes that are killed and stopped while they hold.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_testkit::history::What;
use tenure_testkit::judge::judge;
use tenure_testkit::peer::{Peer, read_journal};

use crate::support::{PATIENCE, fresh, shared, url};

#[test]
fn killed_and_stopped_processes_never_hold_together() {
    let folder = tempfile::tempdir().unwrap();
    let lock = fresh("fleet");
    let journal = folder.path().join("journal");
    let start = |_| {
        Peer::contending(&url(shared()), &lock)
            .option("--ttl", "700ms")
            .option("--transition", "500ms")
            .option("--reentrant", "3")
            .option("--hold", "40ms")
            .option("--rest", "20ms")
            .option("--journal", journal.to_str().unwrap())
            .spawn()
    };
    let mut peers: Vec<Peer> = (0..3).map(start).collect();
    for peer in &mut peers {
        peer.wait_acquired(PATIENCE);
    }
    for round in 0..2 {
        // Longer than the lease: what it held is another's when it wakes.
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
    let tokens: BTreeSet<_> = history
        .events()
        .iter()
        .filter_map(|event| match event.what {
            What::Written { token, .. } => Some(token),
            _ => None,
        })
        .collect();
    // Everybody was waited for in each of three phases; one that was killed
    // just after it had won may have noted nothing.
    assert!(tokens.len() >= 3 * 3 - 2, "{} grants", tokens.len());
    // Nothing is left behind but the token.
    let keys = shared().command(&["KEYS", &format!("*{lock}*")]).unwrap();
    assert_eq!(keys, format!("redisson_lock_token:{{{lock}}}"));
}

//! The operating system repeats itself: never two owners.

use std::time::Duration;

use crate::peer::{Peer, PeerBuilder, SameChance};

const SOON: Duration = Duration::from_secs(60);

/// Two processes are given the same random bytes, and have the same process id
/// and address, as copies of one virtual machine may: with one id for both and
/// with ids that each makes.
pub fn one_of_two_owns(url: &str) {
    for id in [Some("the-same"), None] {
        let chance = SameChance::new();
        let mutex = format!("same-chance-{}", id.unwrap_or("made"));
        let peer = |number| {
            let peer = Peer::contending(url, &mutex).option("--try-lock", "1");
            let peer = id.into_iter().fold(peer, PeerBuilder::id);
            chance.of(number, peer).spawn()
        };
        let mut first = peer(1);
        let token = first.wait_acquired(SOON).token;
        let mut second = peer(2);
        second.wait_line(SOON, "tried");
        assert!(
            chance.was_asked(1) && chance.was_asked(2),
            "as it should be"
        );
        let said = second.said();
        assert!(
            said.iter().any(|line| line == "refused"),
            "the first owns with {token}, the second under the same chance: {said:?}"
        );
    }
}

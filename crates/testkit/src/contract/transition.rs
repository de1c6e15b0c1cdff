//! Between ttl and transition only the incumbent may go on.

use std::time::Duration;

use tenure::backend::{Backend, LeaseBound};

use super::ground::not_applicable;
use super::{Ground, Subject, Win};

/// A grant that has just entered its transition, or `None` where the sentence
/// says nothing.
async fn in_transition<S: Subject>(
    ground: &Ground<'_, S>,
    client: &S::Backend,
    name: &str,
    sentence: &str,
) -> Option<Win> {
    let profile = client.profile();
    if let LeaseBound::Session(_) = profile.bound {
        not_applicable(&profile, sentence, "a session has no transition");
        return None;
    }
    let bid = ground.bid(&ground.name(name), "a");
    assert!(
        !bid.terms.transition().is_zero(),
        "the subject's terms need a transition to be tested"
    );
    let win = ground.win(client, &bid).await;
    let entered = win.answered_at + bid.terms.ttl() + Duration::from_millis(1);
    ground.clock().sleep_until(entered).await;
    Some(win)
}

/// A renewal that comes late, but in the transition, is a renewal.
pub async fn the_owner_may_renew_in_the_transition(subject: &impl Subject) {
    let sentence = "the_owner_may_renew_in_the_transition";
    let ground = Ground::new(subject);
    let client = ground.client().await;
    let attempt = async || {
        let name = format!("m{}", fastrand::u32(..));
        let Some(win) = in_transition(&ground, &client, &name, sentence).await else {
            return Some(());
        };
        let answer = ground.renew(&client, &win.held).await;
        if !win.is_surely_valid(ground.clock().now()) {
            return None;
        }
        assert!(answer.is_won(), "refused in the transition: {answer:?}");
        assert_eq!(answer.token(), Some(win.token()), "the token stays");
        Some(())
    };
    ground.judged(attempt).await;
}

/// Nobody else is granted the mutex before the transition's end.
pub async fn others_are_refused_in_the_transition(subject: &impl Subject) {
    let sentence = "others_are_refused_in_the_transition";
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let attempt = async || {
        let name = format!("m{}", fastrand::u32(..));
        let Some(win) = in_transition(&ground, &here, &name, sentence).await else {
            return Some(());
        };
        let rival = ground.bid(&win.held.name, "b");
        let twin = ground.bid_of(&win.held.name, &win.held.contender);
        for bid in [rival, twin] {
            let tried = ground.try_win(&there, &bid).await;
            if !win.is_surely_valid(ground.clock().now()) {
                return None;
            }
            assert!(tried.is_err(), "won in another's transition: {tried:?}");
        }
        Some(())
    };
    ground.judged(attempt).await;
}

/// A renewal in the transition begins a whole new lease.
pub async fn a_renewal_in_the_transition_begins_a_whole_lease(subject: &impl Subject) {
    let sentence = "a_renewal_in_the_transition_begins_a_whole_lease";
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let attempt = async || {
        let name = format!("m{}", fastrand::u32(..));
        let Some(mut win) = in_transition(&ground, &here, &name, sentence).await else {
            return Some(());
        };
        let sent_at = ground.clock().now();
        if !ground.renew(&here, &win.held).await.is_won() {
            return None;
        }
        win.sent_at = sent_at;
        // Past the old end, in the new lease.
        let late = sent_at + win.held.terms.valid_for() * 9 / 10;
        ground.clock().sleep_until(late).await;
        let rival = ground.bid(&win.held.name, "b");
        let tried = ground.try_win(&there, &rival).await;
        if !win.is_surely_valid(ground.clock().now()) {
            return None;
        }
        assert!(tried.is_err(), "the renewed lease runs, and {tried:?}");
        Some(())
    };
    ground.judged(attempt).await;
}

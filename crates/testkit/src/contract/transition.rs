//! Between ttl and transition only the incumbent may go on.

use std::time::Duration;

use tenure::backend::{Backend, LeaseBound};

use super::case::not_applicable;
use super::{Case, Subject, Win};

/// A grant that has just entered its transition, or `None` where the sentence
/// says nothing.
async fn in_transition<S: Subject>(
    case: &Case<'_, S>,
    client: &S::Backend,
    name: &str,
    sentence: &str,
) -> Option<Win> {
    let profile = client.profile();
    if let LeaseBound::Session(_) = profile.bound {
        not_applicable(&profile, sentence, "a session has no transition");
        return None;
    }
    let bid = case.bid(&case.name(name), "a");
    assert!(
        !bid.terms.transition().is_zero(),
        "the subject's terms need a transition to be tested"
    );
    let win = case.win(client, &bid).await;
    let entered = win.answered_at + bid.terms.ttl() + Duration::from_millis(1);
    case.clock().sleep_until(entered).await;
    Some(win)
}

/// A renewal that comes late, but in the transition, is a renewal.
pub async fn the_owner_may_renew_in_the_transition(subject: &impl Subject) {
    let sentence = "the_owner_may_renew_in_the_transition";
    let case = Case::new(subject);
    let client = case.client().await;
    let attempt = async || {
        let name = format!("m{}", fastrand::u32(..));
        let Some(win) = in_transition(&case, &client, &name, sentence).await else {
            return Some(());
        };
        let answer = case.renew(&client, &win.held).await;
        if !win.is_surely_valid(case.clock().now()) {
            return None;
        }
        assert!(answer.is_won(), "refused in the transition: {answer:?}");
        assert_eq!(answer.token(), Some(win.token()), "the token stays");
        Some(())
    };
    case.judged(attempt).await;
}

/// No other is granted the mutex before the transition's end.
pub async fn others_are_refused_in_the_transition(subject: &impl Subject) {
    let sentence = "others_are_refused_in_the_transition";
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let attempt = async || {
        let name = format!("m{}", fastrand::u32(..));
        let Some(win) = in_transition(&case, &here, &name, sentence).await else {
            return Some(());
        };
        let rival = case.bid(&win.held.name, "b");
        let twin = case.bid_of(&win.held.name, &win.held.contender);
        for bid in [rival, twin] {
            let tried = case.try_win(&there, &bid).await;
            if !win.is_surely_valid(case.clock().now()) {
                return None;
            }
            assert!(tried.is_err(), "won in another's transition: {tried:?}");
        }
        Some(())
    };
    case.judged(attempt).await;
}

/// A renewal in the transition begins a whole new lease.
pub async fn a_renewal_in_the_transition_begins_a_whole_lease(subject: &impl Subject) {
    let sentence = "a_renewal_in_the_transition_begins_a_whole_lease";
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let attempt = async || {
        let name = format!("m{}", fastrand::u32(..));
        let Some(mut win) = in_transition(&case, &here, &name, sentence).await else {
            return Some(());
        };
        let sent_at = case.clock().now();
        if !case.renew(&here, &win.held).await.is_won() {
            return None;
        }
        win.sent_at = sent_at;
        // Past the old end, in the new lease.
        let late = sent_at + win.held.terms.valid_for() * 9 / 10;
        case.clock().sleep_until(late).await;
        let rival = case.bid(&win.held.name, "b");
        let tried = case.try_win(&there, &rival).await;
        if !win.is_surely_valid(case.clock().now()) {
            return None;
        }
        assert!(tried.is_err(), "the renewed lease runs, and {tried:?}");
        Some(())
    };
    case.judged(attempt).await;
}

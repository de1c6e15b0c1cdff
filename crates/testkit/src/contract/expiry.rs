//! A lease ends by itself, at its end and not before.

use std::time::Duration;

use tenure::backend::{Backend, LeaseBound};

use super::case::{ROUNDING, not_applicable};
use super::{Case, Subject};

/// Until the owner's own deadline no other is granted the mutex.
pub async fn a_grant_is_exclusive_for_its_whole_lease(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    let step = win.held.terms.lease() / 10;
    loop {
        let tried = case.try_win(&there, &case.bid(&name, "b")).await;
        if !win.is_surely_valid(case.clock().now()) {
            // Answered too late to prove anything.
            return;
        }
        assert!(tried.is_err(), "the lease of {win:?} runs, and {tried:?}");
        case.clock().sleep(step).await;
    }
}

/// An owner that does not renew is not in the way after its lease. A session
/// that lives may hold the grant for longer, or not.
pub async fn a_grant_that_is_not_renewed_is_free_after_its_lease(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    case.run_out(here, &win).await;
    case.is_free(&there, &name, "the lease is over").await;
    let next = case.win(&there, &case.bid(&name, "b")).await;
    assert!(next.token() > win.token());
}

/// By the store's own words: refused while `transition_at >= now`, won after.
pub async fn the_lease_ends_where_the_store_says(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "a session's end is not announced";
        return not_applicable(&here.profile(), "the_lease_ends_where_the_store_says", why);
    }
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    let end = win.answer.owner().transition_at();
    let end = end.expect("the end of a lease that hangs on its terms is known to its owner");
    let before = case.clock().now() + end.since(win.answer.now()) - Duration::from_millis(20);
    case.clock().sleep_until(before).await;
    loop {
        match case.try_win(&there, &case.bid(&name, "b")).await {
            Err(answer) => assert!(
                answer.now().since(end) <= ROUNDING,
                "the lease ended at {end:?}, and this was refused: {answer:?}"
            ),
            Ok(next) => {
                let early = end.since(next.answer.now());
                assert!(
                    early <= ROUNDING,
                    "won {early:?} before the end {end:?}: {next:?}"
                );
                return;
            }
        }
        case.clock().sleep(Duration::from_millis(1)).await;
    }
}

/// What is over cannot be extended, even while it has not been taken.
pub async fn an_expired_grant_cannot_be_renewed(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    case.run_out(here, &win).await;
    let answer = case.renew(&there, &win.held).await;
    assert!(!answer.is_won(), "an expired grant was renewed: {answer:?}");
    case.is_free(&there, &name, "a refused renewal").await;
    case.win(&there, &case.bid(&name, "b")).await;
}

/// What is over cannot be released, and the next owner does not notice.
pub async fn an_expired_grant_cannot_be_released(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    case.run_out(here, &win).await;
    let answer = case.try_release(&there, &win.held).await;
    assert!(
        !answer.is_won(),
        "an expired grant was released: {answer:?}"
    );
    let next = case.win(&there, &case.bid(&name, "b")).await;
    let answer = case.try_release(&there, &win.held).await;
    assert!(
        !answer.is_won(),
        "an expired grant was released: {answer:?}"
    );
    case.still_owns(&there, &next, "the late release").await;
}

/// Asking again is no renewal: the lease ends where the first answer put it.
pub async fn asking_again_does_not_lengthen_the_lease(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "the session holds the grant, whoever asks";
        let sentence = "asking_again_does_not_lengthen_the_lease";
        return not_applicable(&here.profile(), sentence, why);
    }
    let bid = case.bid(&case.name("m"), "a");
    let win = case.win(&here, &bid).await;
    case.clock().sleep(bid.terms.ttl() / 2).await;
    // Its answer matters elsewhere; here, what it does to the lease.
    let again = case.try_win(&here, &bid).await;
    case.clock().sleep_until(win.surely_over()).await;
    let rival = case.bid(&bid.name, "b");
    match case.try_win(&there, &rival).await {
        Ok(_) => {}
        // A machine so slow that `again` came after the end, as a new grant.
        Err(_) if again.is_ok_and(|again| again.token() != win.token()) => {}
        Err(answer) => panic!("asking again lengthened the lease: {answer:?}"),
    }
}

/// A bid that asks after its lease has run out is granted anew.
pub async fn asking_after_the_lease_is_a_new_grant(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let bid = case.bid(&case.name("m"), "a");
    let win = case.win(&here, &bid).await;
    case.run_out(here, &win).await;
    let next = case.win(&there, &bid).await;
    assert!(next.token() > win.token(), "a new grant has a larger token");
    let answer = case.renew(&there, &win.held).await;
    assert!(!answer.is_won(), "the old grant was renewed: {answer:?}");
}

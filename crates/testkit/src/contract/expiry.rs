//! A lease ends by itself, at its end and not before.

use std::time::Duration;

use tenure::backend::{Backend, LeaseBound};

use super::ground::{ROUNDING, not_applicable};
use super::{Ground, Subject};

/// Until the holder's own deadline nobody else is granted the mutex.
pub async fn a_grant_is_exclusive_for_its_whole_lease(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let name = ground.name("m");
    let win = ground.win(&here, &ground.bid(&name, "a")).await;
    let step = win.held.terms.lease() / 10;
    loop {
        let tried = ground.try_win(&there, &ground.bid(&name, "b")).await;
        if !win.is_surely_valid(ground.clock().now()) {
            // Answered too late to prove anything.
            return;
        }
        assert!(tried.is_err(), "the lease of {win:?} runs, and {tried:?}");
        ground.clock().sleep(step).await;
    }
}

/// An owner that does not renew is not in the way after its lease. A session
/// that lives may hold the grant for longer, or not.
pub async fn a_grant_that_is_not_renewed_is_free_after_its_lease(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let name = ground.name("m");
    let win = ground.win(&here, &ground.bid(&name, "a")).await;
    ground.run_out(here, &win).await;
    ground.is_free(&there, &name, "the lease is over").await;
    let next = ground.win(&there, &ground.bid(&name, "b")).await;
    assert!(next.token() > win.token());
}

/// By the store's own words: refused while `transition_at >= now`, won after.
pub async fn the_lease_ends_where_the_store_says(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "a session's end is not announced";
        return not_applicable(&here.profile(), "the_lease_ends_where_the_store_says", why);
    }
    let name = ground.name("m");
    let win = ground.win(&here, &ground.bid(&name, "a")).await;
    let end = win.answer.owner().transition_at();
    let end = end.expect("the end of a lease that hangs on its terms is known to its owner");
    let before = ground.clock().now() + end.since(win.answer.now()) - Duration::from_millis(20);
    ground.clock().sleep_until(before).await;
    loop {
        match ground.try_win(&there, &ground.bid(&name, "b")).await {
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
        ground.clock().sleep(Duration::from_millis(1)).await;
    }
}

/// What is over cannot be extended, even while nobody has taken it.
pub async fn an_expired_grant_cannot_be_renewed(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let name = ground.name("m");
    let win = ground.win(&here, &ground.bid(&name, "a")).await;
    ground.run_out(here, &win).await;
    let answer = ground.renew(&there, &win.held).await;
    assert!(!answer.is_won(), "an expired grant was renewed: {answer:?}");
    ground.is_free(&there, &name, "a refused renewal").await;
    ground.win(&there, &ground.bid(&name, "b")).await;
}

/// What is over cannot be released, and the next owner does not notice.
pub async fn an_expired_grant_cannot_be_released(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let name = ground.name("m");
    let win = ground.win(&here, &ground.bid(&name, "a")).await;
    ground.run_out(here, &win).await;
    let answer = ground.try_release(&there, &win.held).await;
    assert!(
        !answer.is_won(),
        "an expired grant was released: {answer:?}"
    );
    let next = ground.win(&there, &ground.bid(&name, "b")).await;
    let answer = ground.try_release(&there, &win.held).await;
    assert!(
        !answer.is_won(),
        "an expired grant was released: {answer:?}"
    );
    ground.still_owns(&there, &next, "the late release").await;
}

/// Asking again is no renewal: the lease ends where the first answer put it.
pub async fn asking_again_does_not_lengthen_the_lease(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "the session holds the grant, whoever asks";
        let sentence = "asking_again_does_not_lengthen_the_lease";
        return not_applicable(&here.profile(), sentence, why);
    }
    let bid = ground.bid(&ground.name("m"), "a");
    let win = ground.win(&here, &bid).await;
    ground.clock().sleep(bid.terms.ttl() / 2).await;
    // Its answer matters elsewhere; here, what it does to the lease.
    let again = ground.try_win(&here, &bid).await;
    ground.clock().sleep_until(win.surely_over()).await;
    let rival = ground.bid(&bid.name, "b");
    match ground.try_win(&there, &rival).await {
        Ok(_) => {}
        // A machine so slow that `again` came after the end, as a new grant.
        Err(_) if again.is_ok_and(|again| again.token() != win.token()) => {}
        Err(answer) => panic!("asking again lengthened the lease: {answer:?}"),
    }
}

/// A bid that asks after its lease has run out is granted anew.
pub async fn asking_after_the_lease_is_a_new_grant(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let bid = ground.bid(&ground.name("m"), "a");
    let win = ground.win(&here, &bid).await;
    ground.run_out(here, &win).await;
    let next = ground.win(&there, &bid).await;
    assert!(next.token() > win.token(), "a new grant has a larger token");
    let answer = ground.renew(&there, &win.held).await;
    assert!(!answer.is_won(), "the old grant was renewed: {answer:?}");
}

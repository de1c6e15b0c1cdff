//! Who dies without a word is in the way for one lease at most.

use tenure::backend::Interest;

use super::{Case, Subject, Waiter};

/// What a dead client owned is free after its lease.
pub async fn a_dead_owner_is_in_the_way_for_its_lease_only(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let (name, terms) = (case.name("m"), case.terms(&there));
    let win = case.win(&here, &case.bid(&name, "dead")).await;
    subject.abandon(here).await;
    let bid = case.bid(&name, "heir");
    let limit = terms.lease() + case.patience();
    let next = case
        .win_within(&there, &bid, limit, "the owner is dead")
        .await;
    assert!(next.token() > win.token());
}

/// A dead waiter delays those behind it by one lease at most.
pub async fn a_dead_waiter_delays_nobody_longer_than_the_lease(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let doomed = case.client().await;
    let (name, terms) = (case.name("m"), case.terms(&there));
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let dead = Waiter::stand(&case, &doomed, case.bid(&name, "dead")).await;
    let next = Waiter::stand(&case, &there, case.bid(&name, "next")).await;
    drop(dead.hints);
    subject.abandon(doomed).await;
    case.release(&here, &win.held).await;
    // It tries often instead of by hints alone: what is promised is the end.
    let limit = terms.lease() + case.patience();
    let why = "the one before it is dead";
    case.win_within(&there, &next.bid, limit, why).await;
}

/// A dead waiter that still seems to listen (a stopped process) costs no more.
pub async fn a_stopped_waiter_delays_nobody_longer_than_the_lease(subject: &impl Subject) {
    use tenure::backend::Backend as _;
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let profile = there.profile();
    if let tenure::backend::LeaseBound::Session(_) = profile.bound {
        let sentence = "a_stopped_waiter_delays_nobody_longer_than_the_lease";
        let why = "a session that lives keeps its place";
        return super::case::not_applicable(&profile, sentence, why);
    }
    let (name, terms) = (case.name("m"), case.terms(&there));
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let stopped = Waiter::stand(&case, &there, case.bid(&name, "stopped")).await;
    let next = Waiter::stand(&case, &there, case.bid(&name, "next")).await;
    let _still_open = there.changes(&Interest::in_turn(&stopped.bid));
    case.release(&here, &win.held).await;
    let limit = terms.lease() + case.patience();
    let why = "the one before it does nothing";
    case.win_within(&there, &next.bid, limit, why).await;
}

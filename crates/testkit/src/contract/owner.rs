//! Who owns, by the store's word.

use tenure::backend::{Backend, LeaseBound};
use tenure::model::MutexOwner;

use super::case::{ROUNDING, shows};
use super::{Case, Subject};

/// A name that was never used has no owner, and asking changes nothing.
pub async fn nobody_owns_an_unknown_name(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let name = case.name("m");
    for _ in 0..2 {
        let (owner, _) = case.owner(&client, &name).await;
        assert_eq!(owner, MutexOwner::NONE);
    }
    case.win(&client, &case.bid(&name, "a")).await;
}

/// Every time that is known fits the terms and the store's now.
pub async fn an_owner_is_told_with_token_and_times(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let bid = case.long_bid(&case.name("m"), "a");
    let win = case.win(&here, &bid).await;
    if let LeaseBound::Terms = here.profile().bound {
        let own = win.answer.owner();
        assert!(own.ttl_at().is_some(), "a winner knows its ttl: {own:?}");
        assert!(own.transition_at().is_some(), "and its end: {own:?}");
        check(own, win.answer.now(), &bid.terms);
    }
    let (seen, now) = case.owner(&there, &bid.name).await;
    assert_eq!(seen.owner_id(), Some(&bid.contender));
    assert!(shows(&there.profile(), &seen, &win), "its token: {seen:?}");
    if let LeaseBound::Terms = here.profile().bound {
        assert!(
            seen.transition_at().is_some(),
            "others know its end: {seen:?}"
        );
        check(&seen, now, &bid.terms);
    }
    case.release(&here, &win.held).await;
    let (owner, _) = case.owner(&there, &bid.name).await;
    assert_eq!(owner, MutexOwner::NONE, "nobody owns after the release");
}

fn check(owner: &MutexOwner, now: tenure::model::StoreTime, terms: &tenure::model::LeaseTerms) {
    let (start, ttl, end) = (owner.acquired_at(), owner.ttl_at(), owner.transition_at());
    if let Some(start) = start {
        assert!(start <= now, "acquired in the past: {owner:?} at {now:?}");
    }
    if let Some(ttl) = ttl {
        assert!(
            now < ttl,
            "a fresh grant is in its ttl: {owner:?} at {now:?}"
        );
    }
    if let (Some(ttl), Some(end)) = (ttl, end) {
        assert!(ttl <= end, "the transition follows the ttl: {owner:?}");
        assert_eq!(end.since(ttl), terms.transition(), "its length: {owner:?}");
    }
    if let (Some(start), Some(end)) = (start, end) {
        let lease = end.since(start);
        let off = lease.abs_diff(terms.lease());
        assert!(
            off <= ROUNDING,
            "a lease of {:?}, not {lease:?}",
            terms.lease()
        );
    }
}

/// The store's clock goes forward, about as fast as ours.
pub async fn the_stores_time_goes_forward(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let pause = std::time::Duration::from_millis(200);
    let (_, first) = case.owner(&here, &name).await;
    case.clock().sleep(pause).await;
    let (_, second) = case.owner(&there, &name).await;
    let passed = second.since(first);
    assert!(
        passed + ROUNDING >= pause && passed <= pause + case.patience(),
        "{pause:?} passed here, and {passed:?} on the store's clock"
    );
}

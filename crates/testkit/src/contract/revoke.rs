//! Freeing by force.

use tenure::backend::{Answer, Backend};
use tenure::model::{FencingToken, MutexName};

use super::{Case, Part, Subject, Waiter};
use crate::Whole as _;

async fn revoke(client: &impl Backend, name: &MutexName, token: Option<FencingToken>) -> Answer {
    let answer = client.revoke(name, token).await;
    answer.unwrap_or_else(|error| panic!("revoke failed: {error:?}"))
}

/// The owner owns no longer, and its calls say so.
pub async fn a_revocation_frees_whoever_owns(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    if case.has_none(
        &here,
        Part::Administration,
        "a_revocation_frees_whoever_owns",
    ) {
        return;
    }
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    let answer = revoke(&there, &name, None).await;
    assert!(answer.is_won(), "this call freed it: {answer:?}");
    case.is_free(&here, &name, "it was revoked").await;
    let renewed = case.renew(&here, &win.held).await;
    assert!(
        !renewed.is_won(),
        "what was revoked is renewed: {renewed:?}"
    );
    let next = case.win(&there, &case.bid(&name, "b")).await;
    assert!(next.token() > win.token());
    let released = case.try_release(&here, &win.held).await;
    assert!(!released.is_won(), "what was revoked is released");
    case.still_owns(&there, &next, "the old owner's calls")
        .await;
}

/// With a token, exactly the grant it belongs to is freed; any token of the
/// grant will do, also one that was handed on inside the owner's process.
pub async fn a_revocation_by_token_frees_that_grant_only(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    if case.has_none(
        &client,
        Part::Administration,
        "a_revocation_by_token_frees_that_grant_only",
    ) {
        return;
    }
    let name = case.name("m");
    let win = case.win(&client, &case.bid(&name, "a")).await;
    for number in [win.token().store() - 1, win.token().store() + 1] {
        let wrong = FencingToken::from_store(number).expect("small enough");
        let answer = revoke(&client, &name, Some(wrong)).await;
        assert!(!answer.is_won(), "another grant's token freed it");
        case.still_owns(&client, &win, "another grant's token")
            .await;
    }
    let answer = revoke(&client, &name, Some(win.token())).await;
    assert!(answer.is_won(), "its own token frees it: {answer:?}");
    let win = case.win(&client, &case.bid(&name, "b")).await;
    let handed_on = win.token().handed_on().expect("the first of many");
    let answer = revoke(&client, &name, Some(handed_on)).await;
    assert!(answer.is_won(), "a token of its grant frees it: {answer:?}");
    case.is_free(&client, &name, "it was revoked").await;
}

/// Nothing to free is a refusal, not an error.
pub async fn revoking_a_free_mutex_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    if case.has_none(
        &client,
        Part::Administration,
        "revoking_a_free_mutex_is_refused",
    ) {
        return;
    }
    let name = case.name("m");
    let answer = revoke(&client, &name, None).await;
    assert!(!answer.is_won(), "nobody ever owned it: {answer:?}");
    let win = case.win(&client, &case.bid(&name, "a")).await;
    case.release(&client, &win.held).await;
    for token in [None, Some(win.token())] {
        let answer = revoke(&client, &name, token).await;
        assert!(!answer.is_won(), "nobody owns it any more: {answer:?}");
    }
}

/// A revoked mutex goes to who waits for it.
pub async fn a_waiter_gets_what_was_revoked(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if case.has_none(
        &here,
        Part::Administration,
        "a_waiter_gets_what_was_revoked",
    ) {
        return;
    }
    let name = case.name("m");
    case.win(&here, &case.long_bid(&name, "a")).await;
    let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    assert!(revoke(&here, &name, None).await.is_won());
    let limit = case.wake_up(&there);
    let why = "the owner was revoked";
    waiter.win_by_hints(&case, &there, limit, why).await;
}

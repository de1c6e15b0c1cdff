//! A release frees exactly the grant it names.

use tenure::backend::{Backend, Nonce};
use tenure::model::{FencingToken, MutexOwner};

use super::case::not_applicable;
use super::{Case, Subject};

/// The mutex is free as soon as the release is answered.
pub async fn a_release_frees_at_once(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    for client in [&there, &here] {
        let win = case.win(&here, &case.bid(&name, "a")).await;
        case.release(&here, &win.held).await;
        let (owner, _) = case.owner(client, &name).await;
        assert_eq!(owner, MutexOwner::NONE, "nobody owns after a release");
        let next = case.win(client, &case.bid(&name, "b")).await;
        case.release(client, &next.held).await;
    }
}

/// Releasing twice does no harm, also when another owns by then.
pub async fn a_second_release_is_refused_and_harmless(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    case.release(&here, &win.held).await;
    let answer = case.try_release(&here, &win.held).await;
    assert!(!answer.is_won(), "this call freed nothing: {answer:?}");
    let next = case.win(&there, &case.bid(&name, "b")).await;
    let answer = case.try_release(&here, &win.held).await;
    assert!(!answer.is_won(), "this call freed nothing: {answer:?}");
    case.still_owns(&there, &next, "another's release").await;
}

/// The token must be the grant's.
pub async fn a_release_with_another_token_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let win = case.win(&client, &case.bid(&case.name("m"), "a")).await;
    for number in [win.token().store() + 1, win.token().store() - 1] {
        let mut wrong = win.held.clone();
        wrong.token = FencingToken::from_store(number).expect("small enough");
        let answer = case.try_release(&client, &wrong).await;
        assert!(!answer.is_won(), "released with a wrong token: {answer:?}");
        case.still_owns(&client, &win, "a release with another token")
            .await;
    }
}

/// The id must be the grant's.
pub async fn a_release_with_another_id_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let win = case.win(&client, &case.bid(&case.name("m"), "a")).await;
    let mut wrong = win.held.clone();
    wrong.contender = case.id("b");
    let answer = case.try_release(&client, &wrong).await;
    assert!(!answer.is_won(), "released under a wrong id: {answer:?}");
    case.still_owns(&client, &win, "a release under another id")
        .await;
}

/// The nonce must be the grant's, where the store keeps it.
pub async fn a_release_with_another_nonce_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    if !client.profile().nonce {
        let sentence = "a_release_with_another_nonce_is_refused";
        return not_applicable(&client.profile(), sentence, "it has no room for a nonce");
    }
    let win = case.win(&client, &case.bid(&case.name("m"), "a")).await;
    let mut wrong = win.held.clone();
    wrong.nonce = Nonce::random();
    let answer = case.try_release(&client, &wrong).await;
    assert!(!answer.is_won(), "released with a wrong nonce: {answer:?}");
    case.still_owns(&client, &win, "a release with another nonce")
        .await;
}

/// Other names go on as they were; a name that was never used is refused.
pub async fn a_release_touches_no_other_name(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let kept = case.win(&client, &case.bid(&case.name("kept"), "a")).await;
    let gone = case.win(&client, &case.bid(&case.name("gone"), "a")).await;
    case.release(&client, &gone.held).await;
    case.still_owns(&client, &kept, "the release of another name")
        .await;
    let mut unknown = gone.held;
    unknown.name = case.name("unknown");
    let answer = case.try_release(&client, &unknown).await;
    assert!(!answer.is_won(), "there was nothing to release: {answer:?}");
}

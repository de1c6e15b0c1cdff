//! A renewal extends exactly the grant it names.

use std::sync::Arc;

use tenure::backend::{Backend, Held, LeaseBound, Nonce};
use tenure::model::FencingToken;
use tokio::task::JoinSet;

use super::case::{ROUNDING, not_applicable};
use super::{Case, Subject, Win};

/// A renewal moves the ends and nothing else.
pub async fn a_renewal_extends_and_keeps_token_and_start(subject: &impl Subject) {
    let case = Case::new(subject);
    let (client, there) = (case.client().await, case.client().await);
    let attempt = async || {
        let name = case.name(&format!("m{}", fastrand::u32(..)));
        let mut win = case.win(&client, &case.bid(&name, "a")).await;
        let granted = win.clone();
        let first = granted.answer.owner();
        case.clock().sleep(win.held.terms.ttl() / 2).await;
        win.sent_at = case.clock().now();
        let answer = case.renew(&client, &win.held).await;
        if !granted.is_surely_valid(case.clock().now()) {
            return None;
        }
        assert!(answer.is_won(), "its own grant, in time: {answer:?}");
        let owner = answer.owner();
        assert!(owner.is_owner(&win.held.contender), "the owner stays");
        assert_eq!(owner.token(), Some(win.token()), "the token stays");
        assert_eq!(answer.token(), Some(win.token()), "the token stays");
        if let (Some(before), Some(after)) = (first.acquired_at(), owner.acquired_at()) {
            let apart = before.since(after).max(after.since(before));
            assert!(apart <= ROUNDING, "acquired_at stays, not {apart:?} off");
        }
        if let LeaseBound::Terms = client.profile().bound {
            let end = owner.transition_at().expect("known to its owner");
            let lease = end.since(answer.now());
            assert!(
                lease + ROUNDING >= win.held.terms.lease(),
                "a whole lease from now, not {lease:?}"
            );
        }
        // Past the first end the mutex is still its owner's.
        let late = win.sent_at + win.held.terms.valid_for() * 9 / 10;
        case.clock().sleep_until(late).await;
        let tried = case.try_win(&there, &case.bid(&name, "b")).await;
        if !win.is_surely_valid(case.clock().now()) {
            return None;
        }
        assert!(tried.is_err(), "the renewed lease runs, and {tried:?}");
        Some(())
    };
    case.judged(attempt).await;
}

/// Renews `wrong`, which must be refused and change nothing about `win`.
async fn refused<S: Subject>(case: &Case<'_, S>, client: &S::Backend, wrong: &Held, win: &Win) {
    case.clock().sleep(win.held.terms.ttl() / 8).await;
    let answer = case.renew(client, wrong).await;
    assert!(!answer.is_won(), "{wrong:?} is no grant, and {answer:?}");
    assert!(
        answer.owner().is_owner(&win.held.contender),
        "a refusal names the owner: {answer:?}"
    );
    case.still_owns(client, win, "a refused renewal").await;
}

/// The token must be the grant's.
pub async fn a_renewal_with_another_token_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let win = case.win(&client, &case.bid(&case.name("m"), "a")).await;
    for number in [win.token().store() + 1, win.token().store() - 1] {
        let mut wrong = win.held.clone();
        wrong.token = FencingToken::from_store(number).expect("small enough");
        refused(&case, &client, &wrong, &win).await;
    }
}

/// The id must be the grant's.
pub async fn a_renewal_with_another_id_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let win = case.win(&client, &case.bid(&case.name("m"), "a")).await;
    let mut wrong = win.held.clone();
    wrong.contender = case.id("b");
    refused(&case, &client, &wrong, &win).await;
}

/// The nonce must be the grant's, where the store keeps it.
pub async fn a_renewal_with_another_nonce_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    if !client.profile().nonce {
        let sentence = "a_renewal_with_another_nonce_is_refused";
        return not_applicable(&client.profile(), sentence, "it has no room for a nonce");
    }
    let win = case.win(&client, &case.bid(&case.name("m"), "a")).await;
    let mut wrong = win.held.clone();
    wrong.nonce = Nonce::random();
    refused(&case, &client, &wrong, &win).await;
}

/// After the lease, the same id may own again: not by the old grant.
pub async fn an_old_grant_is_not_renewed_under_the_same_id(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let (name, id) = (case.name("m"), case.id("a"));
    let old = case.win(&here, &case.bid_of(&name, &id)).await;
    case.run_out(here, &old).await;
    let new = case.win(&there, &case.bid_of(&name, &id)).await;
    refused(&case, &there, &old.held, &new).await;
}

/// No question, no answer, no error.
pub async fn an_empty_batch_has_no_answers(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let answers = client.renew(&[]).await;
    assert!(answers.is_empty(), "nothing was asked: {answers:?}");
}

/// Each grant of a batch stands alone, and the answers come in its order.
pub async fn a_batch_answers_each_grant_in_order(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let mut batch = Vec::new();
    // Names against the order of the batch: a store may sort for itself.
    for index in (0..12).rev() {
        let name = case.name(&format!("m{index:02}"));
        let win = case.win(&client, &case.long_bid(&name, "a")).await;
        let mut held = win.held.clone();
        match index % 4 {
            1 => held.token = FencingToken::from_store(held.token.store() + 7).expect("small"),
            2 => case.release(&client, &win.held).await,
            3 if index == 7 => held.name = case.name("unknown"),
            _ => {}
        }
        batch.push((held, index % 4 == 0 || index == 3 || index == 11));
    }
    let question: Vec<Held> = batch.iter().map(|(held, _)| held.clone()).collect();
    let answers = client.renew(&question).await;
    expect(&answers, &batch);
}

/// A batch has no size limit for the caller.
pub async fn a_batch_of_250_is_answered_whole(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = Arc::new(case.lasting_client().await);
    let mut bids = JoinSet::new();
    for index in 0..250 {
        let name = case.name(&format!("m{index:03}"));
        let (client, bid) = (Arc::clone(&client), case.long_bid(&name, "a"));
        bids.spawn(async move {
            let answer = client.acquire(&bid).await.expect("a free name");
            bid.held(answer.token().expect("a free name is won"))
        });
    }
    let wins = bids.join_all().await;
    let batch = wins.iter().enumerate().map(|(index, held)| {
        let mut held = held.clone();
        let good = index % 10 != 3;
        if !good {
            held.contender = case.id("b");
        }
        (held, good)
    });
    let batch: Vec<_> = batch.collect();
    let question: Vec<Held> = batch.iter().map(|(held, _)| held.clone()).collect();
    expect(&client.renew(&question).await, &batch);
    let mut releases = JoinSet::new();
    for held in wins {
        let client = Arc::clone(&client);
        releases.spawn(async move { client.release(&held).await });
    }
    for answer in releases.join_all().await {
        assert!(answer.expect("release").is_won(), "a batch ends no grant");
    }
}

fn expect(answers: &[tenure::Result<tenure::backend::Answer>], batch: &[(Held, bool)]) {
    assert_eq!(answers.len(), batch.len(), "one answer for each grant");
    for (index, (answer, (held, good))) in answers.iter().zip(batch).enumerate() {
        let answer = answer.as_ref().expect("no element may fail");
        assert_eq!(
            answer.is_won(),
            *good,
            "answer {index} does not fit its question {held:?}: {answer:?}"
        );
        if *good {
            assert!(
                answer.owner().is_owner(&held.contender) && answer.token() == Some(held.token),
                "answer {index} is about another grant than {held:?}: {answer:?}"
            );
        }
    }
}

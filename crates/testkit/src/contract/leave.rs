//! Leaving undoes a bid, and only that.

use tenure::backend::Backend;

use super::{Case, Subject, Waiter};

/// A win that is not wanted is undone.
pub async fn leaving_undoes_a_win(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let bid = case.bid(&case.name("m"), "a");
    let win = case.win(&here, &bid).await;
    case.leave(&here, &bid).await;
    case.is_free(&there, &bid.name, "the owner left").await;
    let answer = case.renew(&here, &win.held).await;
    assert!(!answer.is_won(), "what was left is renewed: {answer:?}");
    let next = case.win(&there, &case.bid(&bid.name, "b")).await;
    assert!(next.token() > win.token());
}

/// Under an id that others carry, the nonce tells which; a store without one
/// leaves the orphan to its lease.
pub async fn leaving_under_a_shared_id_needs_a_nonce(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let bid = case.bid_of(&case.name("m"), &case.id("shared"));
    let win = case.win(&here, &bid).await;
    case.leave(&here, &bid).await;
    if here.profile().nonce {
        case.is_free(&there, &bid.name, "the owner left").await;
    } else {
        let why = "without a nonce, whose id is shared cannot be undone";
        case.still_owns(&there, &win, why).await;
    }
}

/// A twin under the same id is another contender.
pub async fn leaving_undoes_only_its_own_bid(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let (name, id) = (case.name("m"), case.id("twin"));
    let win = case.win(&here, &case.bid_of(&name, &id)).await;
    for client in [&here, &there] {
        case.leave(client, &case.bid_of(&name, &id)).await;
        case.leave(client, &case.bid(&name, "other")).await;
        case.still_owns(client, &win, "another bid's leaving").await;
    }
}

/// A bid that has nothing leaves nothing behind.
pub async fn leaving_with_nothing_is_harmless(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let bid = case.bid(&case.name("m"), "a");
    case.leave(&client, &bid).await;
    let next = case.win(&client, &case.bid(&bid.name, "b")).await;
    case.leave(&client, &bid).await;
    case.still_owns(&client, &next, "a stranger's leaving")
        .await;
}

/// Leaving again undoes no other.
pub async fn leaving_twice_is_harmless(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let bid = case.bid(&case.name("m"), "a");
    case.win(&here, &bid).await;
    case.leave(&here, &bid).await;
    case.leave(&here, &bid).await;
    let next = case.win(&there, &case.bid(&bid.name, "b")).await;
    case.leave(&here, &bid).await;
    case.still_owns(&there, &next, "leaving again").await;
}

/// A waiter that left is not waited for.
pub async fn leaving_undoes_a_place_in_the_queue(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    // It still listens, so only its leaving can take it out of the way.
    let gone = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    let mut next = Waiter::stand(&case, &there, case.bid(&name, "c")).await;
    case.leave(&there, &gone.bid).await;
    if there.profile().ordered {
        let why = "the other one still waits";
        let again = case.lose(&there, &next.bid, why).await;
        let rank = again.place().map(|place| place.rank);
        assert_eq!(rank, Some(0), "nobody stands before it any more");
    }
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    next.win_by_hints(&case, &there, limit, "the one before it left")
        .await;
}

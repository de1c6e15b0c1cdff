//! Leaving undoes a bid, and only that.

use tenure::backend::Backend;

use super::{Ground, Subject, Waiter};

/// A win that nobody wants is undone.
pub async fn leaving_undoes_a_win(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let bid = ground.bid(&ground.name("m"), "a");
    let win = ground.win(&here, &bid).await;
    ground.leave(&here, &bid).await;
    ground.is_free(&there, &bid.name, "the owner left").await;
    let answer = ground.renew(&here, &win.held).await;
    assert!(!answer.is_won(), "what was left is renewed: {answer:?}");
    let next = ground.win(&there, &ground.bid(&bid.name, "b")).await;
    assert!(next.token() > win.token());
}

/// Under an id that others carry, the nonce tells which; a store without one
/// leaves the orphan to its lease.
pub async fn leaving_under_a_shared_id_needs_a_nonce(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let bid = ground.bid_of(&ground.name("m"), &ground.id("shared"));
    let win = ground.win(&here, &bid).await;
    ground.leave(&here, &bid).await;
    if here.profile().nonce {
        ground.is_free(&there, &bid.name, "the owner left").await;
    } else {
        let why = "without a nonce, whose id is shared cannot be undone";
        ground.still_owns(&there, &win, why).await;
    }
}

/// A twin under the same id is somebody else.
pub async fn leaving_undoes_only_its_own_bid(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let (name, id) = (ground.name("m"), ground.id("twin"));
    let win = ground.win(&here, &ground.bid_of(&name, &id)).await;
    for client in [&here, &there] {
        ground.leave(client, &ground.bid_of(&name, &id)).await;
        ground.leave(client, &ground.bid(&name, "other")).await;
        ground
            .still_owns(client, &win, "another bid's leaving")
            .await;
    }
}

/// A bid that has nothing leaves nothing behind.
pub async fn leaving_with_nothing_is_harmless(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let client = ground.client().await;
    let bid = ground.bid(&ground.name("m"), "a");
    ground.leave(&client, &bid).await;
    let next = ground.win(&client, &ground.bid(&bid.name, "b")).await;
    ground.leave(&client, &bid).await;
    ground
        .still_owns(&client, &next, "a stranger's leaving")
        .await;
}

/// Leaving again undoes nobody else.
pub async fn leaving_twice_is_harmless(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let bid = ground.bid(&ground.name("m"), "a");
    ground.win(&here, &bid).await;
    ground.leave(&here, &bid).await;
    ground.leave(&here, &bid).await;
    let next = ground.win(&there, &ground.bid(&bid.name, "b")).await;
    ground.leave(&here, &bid).await;
    ground.still_owns(&there, &next, "leaving again").await;
}

/// A waiter that left is not waited for.
pub async fn leaving_undoes_a_place_in_the_queue(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.lasting_client().await, ground.lasting_client().await);
    let name = ground.name("m");
    let win = ground.win(&here, &ground.long_bid(&name, "a")).await;
    // It still listens, so only its leaving can take it out of the way.
    let gone = Waiter::stand(&ground, &there, ground.bid(&name, "b")).await;
    let mut next = Waiter::stand(&ground, &there, ground.bid(&name, "c")).await;
    ground.leave(&there, &gone.bid).await;
    if there.profile().ordered {
        let why = "the other one still waits";
        let again = ground.lose(&there, &next.bid, why).await;
        let rank = again.place().map(|place| place.rank);
        assert_eq!(rank, Some(0), "nobody stands before it any more");
    }
    ground.release(&here, &win.held).await;
    let limit = ground.wake_up(&there);
    next.win_by_hints(&ground, &there, limit, "the one before it left")
        .await;
}

//! Tokens rise with every grant.

use tenure::backend::Backend;

use super::ground::shows;
use super::{Ground, Part, Subject};
use crate::Whole as _;

/// Over releases, whichever client asks.
pub async fn tokens_rise_over_releases_and_clients(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let clients = [
        ground.client().await,
        ground.client().await,
        ground.client().await,
    ];
    let (name, id) = (ground.name("m"), ground.id("same"));
    let mut last = None;
    for round in 0..12 {
        let client = &clients[round % clients.len()];
        let win = ground.win(client, &ground.bid_of(&name, &id)).await;
        assert_eq!(win.token().hand_over(), 0, "a grant's first token");
        assert!(
            last < Some(win.token()),
            "{:?} is not larger than {last:?}",
            win.token()
        );
        last = Some(win.token());
        ground.release(client, &win.held).await;
    }
}

/// Over a lease that ran out.
pub async fn tokens_rise_over_an_expiry(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    let (name, id) = (ground.name("m"), ground.id("same"));
    let first = ground.win(&here, &ground.bid_of(&name, &id)).await;
    ground.run_out(here, &first).await;
    let second = ground.win(&there, &ground.bid_of(&name, &id)).await;
    assert!(second.token() > first.token(), "{second:?} after {first:?}");
}

/// Over a revocation and over a bid that left.
pub async fn tokens_rise_over_revocation_and_leaving(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let client = ground.client().await;
    let name = ground.name("m");
    let first = ground.win(&client, &ground.bid(&name, "a")).await;
    if ground.has_none(
        &client,
        Part::Administration,
        "tokens rise over a revocation",
    ) {
        ground.release(&client, &first.held).await;
    } else {
        client.revoke(&name, None).await.expect("revoke");
    }
    let bid = ground.bid(&name, "a");
    let second = ground.win(&client, &bid).await;
    assert!(second.token() > first.token(), "{second:?} after {first:?}");
    ground.leave(&client, &bid).await;
    let third = ground.win(&client, &ground.bid(&name, "a")).await;
    assert!(third.token() > second.token(), "{third:?} after {second:?}");
}

/// A tenure has one store token from its grant to its end.
pub async fn renewals_keep_the_token(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let client = ground.lasting_client().await;
    let win = ground
        .win(&client, &ground.long_bid(&ground.name("m"), "a"))
        .await;
    for _ in 0..5 {
        let answer = ground.renew(&client, &win.held).await;
        assert_eq!(answer.token(), Some(win.token()), "a renewal is no grant");
    }
    let (owner, _) = ground.owner(&client, &win.held.name).await;
    assert!(
        shows(&client.profile(), &owner, &win),
        "a renewal is no grant"
    );
    ground.release(&client, &win.held).await;
}

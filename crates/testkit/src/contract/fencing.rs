//! Tokens rise with every grant.

use tenure::backend::Backend;

use super::case::shows;
use super::{Case, Part, Subject};
use crate::Whole as _;

/// Over releases, whichever client asks.
pub async fn tokens_rise_over_releases_and_clients(subject: &impl Subject) {
    let case = Case::new(subject);
    let clients = [
        case.client().await,
        case.client().await,
        case.client().await,
    ];
    let (name, id) = (case.name("m"), case.id("same"));
    let mut last = None;
    for round in 0..12 {
        let client = &clients[round % clients.len()];
        let win = case.win(client, &case.bid_of(&name, &id)).await;
        assert_eq!(win.token().hand_over(), 0, "a grant's first token");
        assert!(
            last < Some(win.token()),
            "{:?} is not larger than {last:?}",
            win.token()
        );
        last = Some(win.token());
        case.release(client, &win.held).await;
    }
}

/// Over a lease that ran out.
pub async fn tokens_rise_over_an_expiry(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let (name, id) = (case.name("m"), case.id("same"));
    let first = case.win(&here, &case.bid_of(&name, &id)).await;
    case.run_out(here, &first).await;
    let second = case.win(&there, &case.bid_of(&name, &id)).await;
    assert!(second.token() > first.token(), "{second:?} after {first:?}");
}

/// Over a revocation and over a bid that left.
pub async fn tokens_rise_over_revocation_and_leaving(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let name = case.name("m");
    let first = case.win(&client, &case.bid(&name, "a")).await;
    if case.has_none(
        &client,
        Part::Administration,
        "tokens rise over a revocation",
    ) {
        case.release(&client, &first.held).await;
    } else {
        client.revoke(&name, None).await.expect("revoke");
    }
    let bid = case.bid(&name, "a");
    let second = case.win(&client, &bid).await;
    assert!(second.token() > first.token(), "{second:?} after {first:?}");
    case.leave(&client, &bid).await;
    let third = case.win(&client, &case.bid(&name, "a")).await;
    assert!(third.token() > second.token(), "{third:?} after {second:?}");
}

/// A tenure has one store token from its grant to its end.
pub async fn renewals_keep_the_token(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let win = case
        .win(&client, &case.long_bid(&case.name("m"), "a"))
        .await;
    for _ in 0..5 {
        let answer = case.renew(&client, &win.held).await;
        assert_eq!(answer.token(), Some(win.token()), "a renewal is no grant");
    }
    let (owner, _) = case.owner(&client, &win.held.name).await;
    assert!(
        shows(&client.profile(), &owner, &win),
        "a renewal is no grant"
    );
    case.release(&client, &win.held).await;
}

//! One owner at a time.

use std::sync::Arc;

use tenure::backend::Backend;
use tokio::task::JoinSet;

use super::case::shows;
use super::{Case, Subject};

/// While a grant's lease runs, another bid is refused and told who owns.
pub async fn a_second_bid_is_refused_and_told_who_owns(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.bid(&name, "a")).await;
    for client in [&here, &there] {
        let why = "somebody owns";
        let answer = case.lose(client, &case.bid(&name, "b"), why).await;
        let owner = answer.owner();
        assert!(
            owner.is_owner(&win.held.contender) && shows(&client.profile(), owner, &win),
            "a refusal names the owner and its token, not {owner:?}"
        );
    }
    case.still_owns(&there, &win, "a refused bid").await;
}

/// However many ask at once for a name that was never used before.
pub async fn of_many_bids_at_once_exactly_one_wins(subject: &impl Subject) {
    const CLIENTS: usize = 4;
    const BIDS: usize = 32;
    let case = Case::new(subject);
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(Arc::new(case.client().await));
    }
    for round in 0..4 {
        let name = case.name(&format!("fresh-{round}"));
        let mut bids = JoinSet::new();
        for index in 0..BIDS {
            let client = Arc::clone(&clients[index % CLIENTS]);
            let bid = case.bid(&name, "contender");
            bids.spawn(async move { client.acquire(&bid).await });
        }
        let answers = bids.join_all().await;
        let failed: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
        assert!(
            failed.is_empty(),
            "no bid may fail on a fresh name: {failed:?}"
        );
        let won = answers.iter().flatten().filter(|answer| answer.is_won());
        let won = won.count();
        assert_eq!(won, 1, "of {BIDS} bids at once exactly one wins");
    }
}

/// An id is no key to the mutex: only the bid that won holds it.
pub async fn a_bid_under_the_owners_id_is_refused(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    let (name, id) = (case.name("m"), case.id("twin"));
    let win = case.win(&here, &case.bid_of(&name, &id)).await;
    for client in [&here, &there] {
        let twin = case.bid_of(&name, &id);
        case.lose(client, &twin, "the owner's id, another bid")
            .await;
    }
    case.still_owns(&there, &win, "a twin's bid").await;
}

/// Whatever they ask and however often, of all bids under one id that others
/// may share at most one is told that it owns: a process cannot know who else
/// carries its id.
pub async fn of_bids_under_a_shared_id_one_owns(subject: &impl Subject) {
    let case = Case::new(subject);
    let clients = [case.client().await, case.client().await];
    let (name, id) = (case.name("m"), case.id("twin"));
    let bids: Vec<_> = (0..4).map(|_| case.bid_of(&name, &id)).collect();
    let mut owners = std::collections::BTreeSet::new();
    for round in 0..3 {
        for (number, bid) in bids.iter().enumerate() {
            let client = &clients[(number + round) % 2];
            if client.acquire(bid).await.expect("acquire").is_won() {
                owners.insert(number);
            }
        }
        assert_eq!(owners.len(), 1, "of four bids under one id, {owners:?} own");
    }
    // Nor does one of them undo what another has.
    for (number, bid) in bids.iter().enumerate() {
        if !owners.contains(&number) {
            case.leave(&clients[0], bid).await;
        }
    }
    let rival = case.bid(&name, "rival");
    case.lose(&clients[1], &rival, "one of the twins owns")
        .await;
}

/// After a lost answer the bid finds its grant again, with its token; without
/// room for a nonce, only under an id of its own.
pub async fn asking_again_answers_the_same_grant(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let unique = case.bid(&case.name("unique"), "a");
    let shared = case.bid_of(&case.name("shared"), &case.id("a"));
    for bid in [unique, shared] {
        let win = case.win(&client, &bid).await;
        case.clock().sleep(bid.terms.ttl() / 8).await;
        if client.profile().nonce || bid.unique_id {
            let again = case.win(&client, &bid).await;
            assert_eq!(again.token(), win.token(), "asking again is no new grant");
        } else {
            let why = "without a nonce a shared id cannot be told from its twin";
            case.lose(&client, &bid, why).await;
        }
        case.still_owns(&client, &win, "asking again").await;
    }
}

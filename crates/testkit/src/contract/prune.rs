//! Removing what is not used, while tokens rise.

use std::time::Duration;

use tenure::ErrorKind;
use tenure::backend::{Backend, Claim, ClaimAnswer, Prune};
use tenure::model::{FencingToken, MutexName, StoreTime};

use super::{Case, Part, Subject, Waiter};
use crate::Whole as _;

/// Removes all that may be removed.
async fn prune(client: &impl Backend) {
    // The smallest that a store can tell from now.
    let mut wanted = Prune::unused_for(Duration::from_millis(1));
    let mut tries = 0;
    loop {
        match client.prune(&wanted).await {
            // Others may be in its way for a while, on a store that tests share.
            Err(error) if error.kind() == ErrorKind::Timeout && tries < 20 => tries += 1,
            Ok(pruned) if pruned.bookmark.is_none() => return,
            Ok(pruned) => wanted.bookmark = pruned.bookmark,
            Err(error) => panic!("prune failed: {error:?}"),
        }
    }
}

/// A mutex that was removed is granted again under a larger token.
pub async fn tokens_rise_over_a_pruning(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    if case.has_none(&client, Part::Inventory, "tokens_rise_over_a_pruning") {
        return;
    }
    let name = case.name("m");
    let mut last: Option<FencingToken> = None;
    for round in 0..6 {
        let win = case.win(&client, &case.bid(&name, "a")).await;
        assert!(last < Some(win.token()), "{:?} after {last:?}", win.token());
        last = Some(win.token());
        case.release(&client, &win.held).await;
        // At least once long enough that a store of whole seconds sees it.
        let pause = if round == 0 { 2_500 } else { 5 };
        case.clock().sleep(Duration::from_millis(pause)).await;
        prune(&client).await;
    }
}

/// No owner loses what it owns.
pub async fn what_is_owned_survives_a_pruning(subject: &impl Subject) {
    let case = Case::new(subject);
    let (client, other) = (case.lasting_client().await, case.client().await);
    if case.has_none(&client, Part::Inventory, "what_is_owned_survives_a_pruning") {
        return;
    }
    let win = case
        .win(&client, &case.long_bid(&case.name("m"), "a"))
        .await;
    case.clock().sleep(Duration::from_millis(20)).await;
    prune(&other).await;
    case.still_owns(&client, &win, "what was unused was removed")
        .await;
    let answer = case.renew(&client, &win.held).await;
    assert!(answer.is_won(), "it is renewed as before: {answer:?}");
    case.release(&client, &win.held).await;
}

/// No waiter loses its place.
pub async fn who_waits_survives_a_pruning(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if case.has_none(&here, Part::Inventory, "who_waits_survives_a_pruning") {
        return;
    }
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let mut waiter = Waiter::stand(&case, &there, case.long_bid(&name, "b")).await;
    case.clock().sleep(Duration::from_millis(20)).await;
    prune(&here).await;
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    let next = waiter.win_by_hints(&case, &there, limit, "its turn").await;
    assert!(next.token() > win.token(), "{next:?} after {win:?}");
}

/// Unless it is asked for, no schedule forgets anything, and it goes on.
pub async fn a_pruning_leaves_ledgers_alone(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let sentence = "a_pruning_leaves_ledgers_alone";
    if case.has_none(&client, Part::Ledger, sentence)
        || case.has_none(&client, Part::Inventory, sentence)
    {
        return;
    }
    let name = case.name("m");
    for tick in 1..=3 {
        let win = case.win(&client, &case.long_bid(&name, "a")).await;
        let at = StoreTime::from_millis(tick);
        let claim = Claim::new("plan", StoreTime::from_millis(1), tick, at);
        let answer = client.claim_tick(&win.held, &claim).await;
        let answer = answer.unwrap_or_else(|error| panic!("claim failed: {error:?}"));
        assert_eq!(answer, ClaimAnswer::Claimed, "tick {tick} after a pruning");
        case.release(&client, &win.held).await;
        case.clock().sleep(Duration::from_millis(20)).await;
        prune(&client).await;
        let ledger = client.read_ledger(&name).await.expect("the ledger");
        assert_eq!(
            ledger.map(|entry| entry.last_tick),
            Some(tick),
            "it is kept"
        );
    }
}

/// Eight who take and free again and again, while all that is free is removed:
/// tokens rise throughout, and never do two own.
pub async fn takers_and_prunings_do_not_meet(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    if case.has_none(&client, Part::Inventory, "takers_and_prunings_do_not_meet") {
        return;
    }
    let names = [case.name("m"), case.name("n")];
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(case.lasting_client().await);
    }
    let last = std::sync::Mutex::new([None::<FencingToken>; 2]);
    // On a store that never waits, the takers are done before the next one.
    prune(&client).await;
    let takers = clients.iter().enumerate().map(async |(who, client)| {
        for round in 0..12 {
            let at = (who + round) % 2;
            take_and_free(&case, client, &names[at], &last, at).await;
        }
    });
    let mut takers: Vec<_> = takers.map(Box::pin).collect();
    let all = std::future::poll_fn(|cx| {
        takers.retain_mut(|taker| taker.as_mut().poll(cx).is_pending());
        match takers.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    });
    let mut all = std::pin::pin!(all);
    loop {
        let mut pruning = std::pin::pin!(async {
            prune(&client).await;
            case.clock().sleep(Duration::from_millis(2)).await;
        });
        let done = std::future::poll_fn(|cx| {
            if all.as_mut().poll(cx).is_ready() {
                return std::task::Poll::Ready(true);
            }
            pruning.as_mut().poll(cx).map(|()| false)
        });
        if done.await {
            break;
        }
    }
}

async fn take_and_free<S: Subject>(
    case: &Case<'_, S>,
    client: &S::Backend,
    name: &MutexName,
    last: &std::sync::Mutex<[Option<FencingToken>; 2]>,
    at: usize,
) {
    let bid = case.long_bid(name, "a");
    let limit = case.patience() * 12;
    let win = case.win_within(client, &bid, limit, "others free it").await;
    {
        let mut last = last.lock().expect("nobody panics with it");
        assert!(
            last[at] < Some(win.token()),
            "{:?} after {:?}: a pruning reset the tokens",
            win.token(),
            last[at]
        );
        last[at] = Some(win.token());
    }
    case.release(client, &win.held).await;
}

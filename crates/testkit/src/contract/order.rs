//! First come, first served, where the store keeps an order.

use std::time::Duration;

use tenure::backend::{Backend, Interest, LeaseBound};

use super::case::not_applicable;
use super::{Case, Subject, Waiter};

/// Whether `client` keeps an order; says so when it does not.
fn is_ordered(client: &impl Backend, sentence: &str) -> bool {
    let profile = client.profile();
    if !profile.ordered {
        not_applicable(&profile, sentence, "any waiter may win");
    }
    profile.ordered
}

/// Twenty waiters of four clients are served in the order in which they came.
pub async fn waiters_are_served_in_the_order_of_arrival(subject: &impl Subject) {
    const WAITERS: usize = 20;
    let case = Case::new(subject);
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(case.lasting_client().await);
    }
    if !is_ordered(&clients[0], "waiters_are_served_in_the_order_of_arrival") {
        return;
    }
    let name = case.name("m");
    let mut owner = case.win(&clients[0], &case.long_bid(&name, "a")).await;
    let mut waiters = Vec::new();
    for index in 0..WAITERS {
        let bid = case.long_bid(&name, &format!("w{index:02}"));
        let waiter = Waiter::stand(&case, &clients[index % 4], bid).await;
        let rank = waiter.rank.expect("a refused bid has a place");
        assert_eq!(rank as usize, index, "its place is behind all before it");
        waiters.push(waiter);
    }
    let mut last = 0;
    for (index, mut waiter) in waiters.into_iter().enumerate() {
        case.release(&clients[last], &owner.held).await;
        let client = &clients[index % 4];
        let why = format!("waiter {index} is next");
        let limit = case.wake_up(client);
        owner = waiter.win_by_hints(&case, client, limit, &why).await;
        last = index % 4;
    }
    case.release(&clients[last], &owner.held).await;
}

/// Between the release and the told waiter's take, no other slips in.
pub async fn nobody_overtakes_the_waiter_that_was_told(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if !is_ordered(&here, "nobody_overtakes_the_waiter_that_was_told") {
        return;
    }
    let attempt = async || {
        let name = case.name(&format!("m{}", fastrand::u32(..)));
        let win = case.win(&here, &case.long_bid(&name, "a")).await;
        let mut first = Waiter::stand(&case, &there, case.long_bid(&name, "b")).await;
        let second = Waiter::stand(&case, &there, case.long_bid(&name, "c")).await;
        let released = case.clock().now();
        case.release(&here, &win.held).await;
        let mut queueing = case.long_bid(&name, "e");
        queueing.queue = true;
        for newcomer in [case.long_bid(&name, "d"), queueing, second.bid.clone()] {
            let tried = case.try_win(&here, &newcomer).await;
            if case.clock().now().since(released) > Duration::from_millis(100) {
                // The place is kept for a while only; this was too slow to tell.
                return None;
            }
            let who = newcomer.contender;
            assert!(tried.is_err(), "{who:?} overtook the waiter that was told");
        }
        let limit = case.wake_up(&there);
        let win = first
            .win_by_hints(&case, &there, limit, "it is first")
            .await;
        case.release(&there, &win.held).await;
        Some(())
    };
    case.judged(attempt).await;
}

/// A waiter that no longer listens is passed over.
pub async fn a_waiter_that_listens_no_more_is_skipped(subject: &impl Subject) {
    let sentence = "a_waiter_that_listens_no_more_is_skipped";
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if !is_ordered(&here, sentence) {
        return;
    }
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "a place lives as long as its session";
        return not_applicable(&here.profile(), sentence, why);
    }
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let deaf = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    let mut next = Waiter::stand(&case, &there, case.bid(&name, "c")).await;
    drop(deaf.hints);
    case.settle().await;
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    next.win_by_hints(&case, &there, limit, "the first is deaf")
        .await;
}

/// A waiter that was passed over comes back to the place it had.
pub async fn a_waiter_that_queues_again_keeps_its_place(subject: &impl Subject) {
    let sentence = "a_waiter_that_queues_again_keeps_its_place";
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    if !is_ordered(&here, sentence) {
        return;
    }
    if let LeaseBound::Session(_) = here.profile().bound {
        let why = "a place lives as long as its session";
        return not_applicable(&here.profile(), sentence, why);
    }
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let mut early = Waiter::stand(&case, &there, case.long_bid(&name, "b")).await;
    let mut next = Waiter::stand(&case, &there, case.long_bid(&name, "c")).await;
    let mut late = Waiter::stand(&case, &there, case.long_bid(&name, "d")).await;
    early.hints = tenure::backend::Hints::silent();
    case.settle().await;
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    let why = "the one before it was deaf";
    let owner = next.win_by_hints(&case, &there, limit, why).await;
    early.hints = there.changes(&Interest::in_turn(&early.bid));
    case.settle().await;
    let again = case.lose(&there, &early.bid, "somebody owns").await;
    let rank = again.place().map(|place| place.rank);
    assert_eq!(rank, Some(0), "its old score brings back its old place");
    let behind = case.lose(&there, &late.bid, "somebody owns").await;
    let rank = behind.place().map(|place| place.rank);
    assert_eq!(rank, Some(1), "who came later stands behind it");
    case.release(&there, &owner.held).await;
    let owner = early
        .win_by_hints(&case, &there, limit, "it is first")
        .await;
    case.release(&there, &owner.held).await;
    late.win_by_hints(&case, &there, limit, "it is last").await;
}

/// A bid that does not want to wait is in no waiter's way.
pub async fn a_bid_that_does_not_queue_takes_no_place(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    for _ in 0..3 {
        case.lose(&there, &case.bid(&name, "b"), "somebody owns")
            .await;
    }
    let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "c")).await;
    let expected = there.profile().ordered.then_some(0);
    assert_eq!(waiter.rank, expected, "the place of the only waiter");
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    let why = "nobody stands before it";
    waiter.win_by_hints(&case, &there, limit, why).await;
}

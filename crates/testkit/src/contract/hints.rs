//! Hints wake, and do not storm.

use std::time::Duration;

use tenure::backend::{Backend, Hint, Hints, Interest, Wakeup};

use super::waiter::hints_within;
use super::{Case, Subject, Waiter};

async fn told<S: Subject>(case: &Case<'_, S>, client: &S::Backend, hints: &mut Hints, of: &str) {
    let limit = case.wake_up(client);
    let end = case.clock().now() + limit;
    match case.clock().limit(end, hints.next()).await {
        Some(Some(_)) => {}
        Some(None) => panic!("the stream ended though the backend is open"),
        None => panic!("nothing was heard of {of} within {limit:?}"),
    }
}

/// A waiter that was refused and listens hears of the release, and wins.
pub async fn a_waiter_is_told_after_a_release(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    let why = "the owner released";
    waiter.win_by_hints(&case, &there, limit, why).await;
}

/// Where the store pushes in order, the head is told that it is its turn.
pub async fn the_head_of_a_queue_is_told_its_turn(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let profile = there.profile();
    if !profile.ordered || profile.wakeup != Wakeup::Push {
        let sentence = "the_head_of_a_queue_is_told_its_turn";
        let why = "nobody is at the head, or nobody is pushed";
        return super::case::not_applicable(&profile, sentence, why);
    }
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    case.release(&here, &win.held).await;
    let end = case.clock().now() + case.wake_up(&there);
    loop {
        match case.clock().limit(end, waiter.hints.next()).await {
            Some(Some(Hint::Turn)) => return,
            Some(Some(_)) => {}
            other => panic!("the head of the queue heard no turn: {other:?}"),
        }
    }
}

/// An observer hears of a new owner and of its going.
pub async fn an_observer_is_told_of_every_change_of_owner(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let profile = here.profile();
    if !profile.observable {
        let sentence = "an_observer_is_told_of_every_change_of_owner";
        let why = "grants are not told to observers";
        return super::case::not_applicable(&profile, sentence, why);
    }
    let name = case.name("m");
    let mut hints = there.changes(&Interest::in_owner(&name));
    case.settle().await;
    hints_within(&case, &mut hints, case.quiet(&there)).await;
    for _ in 0..3 {
        let win = case.win(&here, &case.long_bid(&name, "a")).await;
        told(&case, &there, &mut hints, "the acquisition").await;
        hints_within(&case, &mut hints, case.quiet(&there)).await;
        case.release(&here, &win.held).await;
        told(&case, &there, &mut hints, "the release").await;
        hints_within(&case, &mut hints, case.quiet(&there)).await;
    }
}

/// A candidate that waits and observes hears of its turn as well.
pub async fn a_candidate_is_told_after_a_release(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    waiter.hints = there.changes(&Interest::in_turn(&waiter.bid).and_owner());
    case.settle().await;
    case.release(&here, &win.held).await;
    let limit = case.wake_up(&there);
    waiter
        .win_by_hints(&case, &there, limit, "the owner released")
        .await;
}

/// Streams that were dropped are in no listener's way.
///
/// A single hint may get lost, that is no broken promise; so one release of
/// three has to be heard. Who is told then wins.
pub async fn a_dropped_stream_is_in_nobodys_way(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let limit = case.wake_up(&there);
    for trial in 1..=3 {
        let name = case.name(&format!("m{trial}"));
        let win = case.win(&here, &case.long_bid(&name, "a")).await;
        let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
        for _ in 0..50 {
            drop(there.changes(&Interest::in_turn(&waiter.bid)));
            drop(there.changes(&Interest::in_owner(&name)));
        }
        case.settle().await;
        case.release(&here, &win.held).await;
        let told = case.clock().now() + limit;
        if case
            .clock()
            .limit(told, waiter.hints.next())
            .await
            .is_some()
        {
            // No other is there, and the release is over.
            case.win(&there, &waiter.bid).await;
            return;
        }
        assert!(trial < 3, "a waiter was not told of three releases");
    }
}

/// A waiter hears nothing of renewals, of refusals, or of other names.
pub async fn hints_do_not_storm(subject: &impl Subject) {
    /// Room for a reconnection, not for a hint per event.
    const FEW: usize = 4;
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let (name, other) = (case.name("m"), case.name("other"));
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let mut waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    let mut observer = there.changes(&Interest::in_owner(&name));
    case.settle().await;
    let (mut heard, mut seen) = (Vec::new(), Vec::new());
    for round in 0..=25 {
        assert!(case.renew(&here, &win.held).await.is_won());
        let rival = case.bid(&name, "c");
        case.lose(&here, &rival, "somebody owns").await;
        let elsewhere = case.win(&here, &case.bid(&other, "a")).await;
        case.release(&here, &elsewhere.held).await;
        // Taken as they come: a stream may drop what is not fetched.
        let pause = if round < 25 {
            Duration::from_millis(2)
        } else {
            case.quiet(&there) * 2
        };
        heard.extend(waiter.heard(&case, pause).await);
        seen.extend(hints_within(&case, &mut observer, pause).await);
    }
    assert!(
        heard.len() <= FEW,
        "nothing changed, and it heard {heard:?}"
    );
    assert!(seen.len() <= FEW, "nothing changed, and it saw {seen:?}");
    case.release(&here, &win.held).await;
}

/// The streams of a closed backend end.
pub async fn hints_end_at_close(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.lasting_client().await, case.lasting_client().await);
    let name = case.name("m");
    let win = case.win(&here, &case.long_bid(&name, "a")).await;
    let waiter = Waiter::stand(&case, &there, case.bid(&name, "b")).await;
    let observer = there.changes(&Interest::in_owner(&name));
    there.close().await.expect("close");
    for mut hints in [waiter.hints, observer] {
        let end = case.clock().now() + case.patience();
        let drained = async { while hints.next().await.is_some() {} };
        let ended = case.clock().limit(end, drained).await;
        assert!(ended.is_some(), "the backend is closed, its stream goes on");
    }
    case.release(&here, &win.held).await;
}

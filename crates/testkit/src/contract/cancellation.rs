//! Every call can be dropped at any await.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tenure::backend::Backend;

use super::{Case, Subject};

/// Polls `work` at most `times` times, giving others a chance in between.
async fn polled<T>(work: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut work = pin!(work);
    for _ in 0..times {
        let polled = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// An acquire that was dropped half way can be left, and is in no contender's way.
pub async fn a_dropped_acquire_can_be_left(subject: &impl Subject) {
    let case = Case::new(subject);
    let (here, there) = (case.client().await, case.client().await);
    for polls in 1..=8 {
        let bid = case.bid(&case.name(&format!("m{polls}")), "a");
        drop(polled(here.acquire(&bid), polls).await);
        case.leave(&here, &bid).await;
        // A request still under way may be applied after the leave; its lease
        // is the bound.
        let limit = case.terms(&there).lease() + case.patience();
        let rival = case.bid(&bid.name, "b");
        let win = case
            .win_within(&there, &rival, limit, "its rival left")
            .await;
        case.release(&there, &win.held).await;
    }
}

/// A release that was dropped half way has happened or not, and can be asked
/// for again.
pub async fn a_dropped_release_can_be_asked_for_again(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    for polls in 1..=8 {
        let bid = case.long_bid(&case.name(&format!("m{polls}")), "a");
        let win = case.win(&client, &bid).await;
        drop(polled(client.release(&win.held), polls).await);
        case.try_release(&client, &win.held).await;
        case.is_free(&client, &bid.name, "it was released").await;
    }
}

/// A renewal that was dropped half way harms nothing.
pub async fn a_dropped_renewal_harms_nothing(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.lasting_client().await;
    let win = case
        .win(&client, &case.long_bid(&case.name("m"), "a"))
        .await;
    for polls in 1..=8 {
        drop(polled(client.renew(std::slice::from_ref(&win.held)), polls).await);
        let answer = case.renew(&client, &win.held).await;
        assert!(answer.is_won(), "the next renewal works: {answer:?}");
    }
    case.release(&client, &win.held).await;
}

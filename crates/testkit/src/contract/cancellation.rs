//! Every call can be dropped at any await.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tenure::backend::Backend;

use super::{Ground, Subject};

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

/// An acquire that was dropped half way can be left, and is in nobody's way.
pub async fn a_dropped_acquire_can_be_left(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let (here, there) = (ground.client().await, ground.client().await);
    for polls in 1..=8 {
        let bid = ground.bid(&ground.name(&format!("m{polls}")), "a");
        drop(polled(here.acquire(&bid), polls).await);
        ground.leave(&here, &bid).await;
        // A request still under way may be applied after the leave; its lease
        // is the bound.
        let limit = ground.terms(&there).lease() + ground.patience();
        let rival = ground.bid(&bid.name, "b");
        let win = ground
            .win_within(&there, &rival, limit, "its rival left")
            .await;
        ground.release(&there, &win.held).await;
    }
}

/// A release that was dropped half way has happened or not, and can be asked
/// for again.
pub async fn a_dropped_release_can_be_asked_for_again(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let client = ground.lasting_client().await;
    for polls in 1..=8 {
        let bid = ground.long_bid(&ground.name(&format!("m{polls}")), "a");
        let win = ground.win(&client, &bid).await;
        drop(polled(client.release(&win.held), polls).await);
        ground.try_release(&client, &win.held).await;
        ground.is_free(&client, &bid.name, "it was released").await;
    }
}

/// A renewal that was dropped half way harms nothing.
pub async fn a_dropped_renewal_harms_nothing(subject: &impl Subject) {
    let ground = Ground::new(subject);
    let client = ground.lasting_client().await;
    let win = ground
        .win(&client, &ground.long_bid(&ground.name("m"), "a"))
        .await;
    for polls in 1..=8 {
        drop(polled(client.renew(std::slice::from_ref(&win.held)), polls).await);
        let answer = ground.renew(&client, &win.held).await;
        assert!(answer.is_won(), "the next renewal works: {answer:?}");
    }
    ground.release(&client, &win.held).await;
}

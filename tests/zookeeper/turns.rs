//! How a waiter hears that it may be its turn.

use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::Stream as _;
use tenure::backend::{Answer, AnyBackend, Backend, Bid, Hint, Hints, Interest};
use tokio::runtime::Handle;

use crate::support::{PATIENCE, SERVER, bid, client, name};

/// More than what else a client has to do could hide.
const WAITERS: usize = 32;

/// A place behind the owner, and what is told of it.
async fn waiting(store: &AnyBackend, bid: &Bid) -> Hints {
    let hints = store.changes(&Interest::in_turn(bid));
    assert!(!store.acquire(bid).await.unwrap().is_won());
    hints
}

async fn won(store: &AnyBackend, bid: &Bid) -> Answer {
    let answer = store.acquire(bid).await.unwrap();
    assert!(answer.is_won(), "{answer:?}");
    answer
}

/// Says that it is told, in vain: whatever it is part of must not suffer from it.
struct Angry(mpsc::Sender<()>);

impl Wake for Angry {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
        panic!("as it was told to");
    }
}

#[tokio::test]
async fn who_waits_has_no_task() {
    let (owner, waiter) = (
        client(SERVER.address(), "").await.unwrap(),
        client(SERVER.address(), "").await.unwrap(),
    );
    let names: Vec<_> = (0..WAITERS).map(|_| name("no-task")).collect();
    for name in &names {
        won(&owner, &bid(name, "owner")).await;
    }
    let before = Handle::current().metrics().num_alive_tasks();
    let mut hints = Vec::new();
    for name in &names {
        hints.push(waiting(&waiter, &bid(name, "waiter")).await);
    }
    let after = Handle::current().metrics().num_alive_tasks();
    // The driver may begin one for itself.
    assert!(
        after < before + WAITERS / 4,
        "{before} tasks, and {after} with {WAITERS} waiters"
    );
}

#[tokio::test]
async fn a_waiter_that_panics_when_it_is_told_harms_no_other() {
    let (owner, waiter) = (
        client(SERVER.address(), "").await.unwrap(),
        client(SERVER.address(), "").await.unwrap(),
    );
    let (sick, healthy) = (
        bid(&name("sick"), "waiter"),
        bid(&name("healthy"), "waiter"),
    );
    let mut held = Vec::new();
    for waiting in [&sick, &healthy] {
        let bid = bid(waiting.name.as_str(), "owner");
        let token = won(&owner, &bid).await.token().unwrap();
        held.push(bid.held(token));
    }
    let mut told_sick = waiting(&waiter, &sick).await;
    let mut told_healthy = waiting(&waiter, &healthy).await;
    let (tell, told) = mpsc::channel();
    let angry = Waker::from(Arc::new(Angry(tell)));
    let polled = Pin::new(&mut told_sick).poll_next(&mut Context::from_waker(&angry));
    assert_eq!(polled, Poll::Pending);
    owner.release(&held[0]).await.unwrap();
    let is_told = tokio::task::spawn_blocking(move || told.recv_timeout(PATIENCE).is_ok());
    assert!(is_told.await.unwrap(), "the sick one was not told");

    owner.release(&held[1]).await.unwrap();
    let hint = tokio::time::timeout(PATIENCE, told_healthy.next()).await;
    assert_eq!(hint.unwrap(), Some(Hint::Turn));
    // The session has not ended with it: both still have their places.
    won(&waiter, &healthy).await;
    won(&waiter, &sick).await;
}

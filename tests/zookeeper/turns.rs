//! How a waiter hears that it may be its turn.

use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::Stream as _;
use tenure::backend::{Answer, AnyBackend, Backend, Bid, Hint, Hints, Interest};
use tenure_testkit::servers::Proxy;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::support::{PATIENCE, SERVER, bid, client, name};

/// More than what else a client has to do could hide.
const WAITERS: usize = 16;

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

/// Lets one who panics read `hints`; says when it is told.
fn angry(hints: &mut Hints) -> mpsc::Receiver<()> {
    let (tell, told) = mpsc::channel();
    let waker = Waker::from(Arc::new(Angry(tell)));
    let polled = Pin::new(hints).poll_next(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Pending);
    told
}

async fn is_told(told: mpsc::Receiver<()>) {
    let is_told = tokio::task::spawn_blocking(move || told.recv_timeout(PATIENCE).is_ok());
    assert!(is_told.await.unwrap(), "the sick one was not told");
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
        after < before + WAITERS / 2,
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
    let told = angry(&mut told_sick);
    owner.release(&held[0]).await.unwrap();
    is_told(told).await;

    owner.release(&held[1]).await.unwrap();
    let hint = timeout(PATIENCE, told_healthy.next()).await;
    assert_eq!(hint.unwrap(), Some(Hint::Turn));
    // The session has not ended with it: both still have their places.
    won(&waiter, &healthy).await;
    won(&waiter, &sick).await;
}

#[tokio::test]
async fn a_waiter_that_panics_at_a_reconnect_harms_no_other() {
    let proxy = Proxy::start(SERVER.address()).unwrap();
    let owner = client(SERVER.address(), "").await.unwrap();
    let waiter = client(proxy.address(), "").await.unwrap();
    let mut hints = Vec::new();
    // All are told, one after the other: the sick one is the first of them.
    for what in ["a-sick", "b-healthy"] {
        let name = name(what);
        won(&owner, &bid(&name, "owner")).await;
        hints.push(waiting(&waiter, &bid(&name, "waiter")).await);
    }
    let mut told = Some(angry(&mut hints[0]));
    for _ in 0..2 {
        proxy.cut().unwrap();
        let hint = timeout(PATIENCE, hints[1].next()).await;
        assert_eq!(hint.unwrap(), Some(Hint::Resumed));
        if let Some(told) = told.take() {
            is_told(told).await;
        }
    }
}

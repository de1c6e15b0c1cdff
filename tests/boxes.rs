//! What it costs to forget a store's type: one box for each call, and no second
//! one where an erased store is handed on.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use tenure::backend::{Administration, AnyBackend, Backend, Bid, Inventory, Ledger, Page, Prune};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::memory::Memory;

/// How many allocations `call` makes. The memory store never waits.
fn cost<F: Future>(call: impl Fn() -> F) -> u64 {
    let once = || {
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(_) = pin!(call()).poll(&mut context) else {
            panic!("the memory store does not wait");
        };
    };
    // The first may fill caches.
    once();
    measure(once).count_total
}

fn bid() -> Bid {
    let name = MutexName::new("m").unwrap();
    let id = ContenderId::new("a").unwrap();
    Bid::new(name, id, LeaseTerms::default())
}

#[test]
fn an_erased_call_costs_one_box() {
    let store = Memory::with_clock(Clock::boot());
    let any = AnyBackend::new(store.clone());
    let (bid, page) = (bid(), Page::first(10));
    let token = {
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(won) = pin!(store.acquire(&bid)).poll(&mut context) else {
            panic!("the memory store does not wait");
        };
        won.unwrap().token().unwrap()
    };
    let held = [bid.held(token)];
    let prune = Prune::unused_for(Duration::from_secs(3600));
    let ledger = any.ledger().unwrap();
    let inventory = any.inventory().unwrap();
    let administration = any.administration().unwrap();
    for (call, bare, erased) in [
        (
            "acquire",
            cost(|| store.acquire(&bid)),
            cost(|| any.acquire(&bid)),
        ),
        (
            "renew",
            cost(|| store.renew(&held)),
            cost(|| any.renew(&held)),
        ),
        (
            "owner",
            cost(|| store.owner(&bid.name)),
            cost(|| any.owner(&bid.name)),
        ),
        (
            "read_ledger",
            cost(|| store.read_ledger(&bid.name)),
            cost(|| ledger.read_ledger(&bid.name)),
        ),
        (
            "list",
            cost(|| store.list(&page)),
            cost(|| inventory.list(&page)),
        ),
        (
            "prune",
            cost(|| store.prune(&prune)),
            cost(|| inventory.prune(&prune)),
        ),
        (
            "check",
            cost(|| store.check()),
            cost(|| administration.check()),
        ),
    ] {
        assert_eq!(erased, bare + 1, "{call}: one box beside its own {bare}");
    }
}

#[test]
fn to_find_a_part_costs_nothing() {
    let any = AnyBackend::new(Memory::with_clock(Clock::boot()));
    let found = measure(|| {
        let parts = (any.ledger(), any.inventory(), any.administration());
        assert!(parts.0.is_some() && parts.1.is_some() && parts.2.is_some());
    });
    assert_eq!(found.count_total, 0);
}

/// A coordinator is made over what a URL opened, which is erased already.
#[test]
fn a_store_that_is_handed_on_is_not_boxed_again() {
    let any = AnyBackend::new(Memory::with_clock(Clock::boot()));
    let again = AnyBackend::new(any.clone());
    let bid = bid();
    let once = cost(|| any.acquire(&bid));
    assert_eq!(cost(|| again.acquire(&bid)), once);
}

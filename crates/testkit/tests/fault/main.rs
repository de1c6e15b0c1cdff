//! The fault backend does what it was told, and nothing else.

mod calls;
mod hints;
mod transparent;

use tenure::backend::{Bid, Held};
use tenure::clock::Clock;
use tenure::model::{ContenderId, LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure_testkit::fault::{FaultBackend, Faults};

fn store() -> (Faults, FaultBackend<Memory>) {
    let clock = Clock::tokio();
    let faults = Faults::new(clock.clone());
    let backend = FaultBackend::new(Memory::with_clock(clock), &faults);
    (faults, backend)
}

fn bid(name: &str) -> Bid {
    let name = MutexName::new(name).unwrap();
    Bid::new(name, ContenderId::new("a").unwrap(), LeaseTerms::default())
}

async fn won(store: &FaultBackend<Memory>, bid: &Bid) -> Held {
    use tenure::backend::Backend as _;
    let answer = store.inner().acquire(bid).await.unwrap();
    bid.held(answer.token().unwrap())
}

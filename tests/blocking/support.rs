//! What the tests of this binary share.

use std::time::{Duration, Instant};

use tenure::blocking::Coordinator;
use tenure::clock::Clock;
use tenure::model::LeaseTerms;
use tenure::stores::memory::Memory;
use tenure_testkit::fault::{FaultBackend, Faults};

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn terms() -> LeaseTerms {
    LeaseTerms::new(millis(600), millis(900)).unwrap()
}

/// Terms that outlive a test: only a release can free the lock in time.
pub(crate) fn long_terms() -> LeaseTerms {
    LeaseTerms::new(LONG * 2, LONG).unwrap()
}

pub(crate) fn coordinator(store: &Memory, terms: LeaseTerms) -> Coordinator {
    Coordinator::with_backend(store.another_client(), terms).unwrap()
}

/// A process whose store can fail.
pub(crate) fn faulty(store: &Memory) -> (Coordinator, Faults) {
    let faults = Faults::new(Clock::boot());
    let backend = FaultBackend::new(store.another_client(), &faults);
    (Coordinator::with_backend(backend, terms()).unwrap(), faults)
}

pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONG, "it never came true");
        std::thread::sleep(millis(2));
    }
}

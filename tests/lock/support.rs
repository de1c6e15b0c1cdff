//! What the tests of this binary share.

use std::time::Duration;

use tenure::Coordinator;
use tenure::clock::Clock;
use tenure::model::LeaseTerms;
use tenure::stores::memory::Memory;
use tenure_testkit::fault::{FaultBackend, Faults};

/// A memory store on virtual time, and coordinators over it.
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) store: Memory,
}

pub(crate) fn terms() -> LeaseTerms {
    LeaseTerms::new(Duration::from_secs(10), Duration::from_secs(6)).unwrap()
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Clock::tokio();
        let store = Memory::with_clock(clock.clone());
        Self { clock, store }
    }

    /// A process of its own.
    pub(crate) fn coordinator(&self) -> Coordinator {
        self.with_faults().0
    }

    /// A process of its own whose store can fail.
    pub(crate) fn with_faults(&self) -> (Coordinator, Faults) {
        let faults = Faults::new(self.clock.clone());
        let store = FaultBackend::new(self.store.another_client(), &faults);
        let builder = Coordinator::builder()
            .clock(self.clock.clone())
            .terms(terms());
        (builder.with_backend(store).unwrap(), faults)
    }
}

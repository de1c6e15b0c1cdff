//! Without faults it is the backend below.

use tenure::Result;
use tenure::clock::Clock;
use tenure::stores::memory::Memory;
use tenure_testkit::contract::Subject;
use tenure_testkit::fault::{FaultBackend, Faults};

struct Transparent(Memory, Clock);

impl Transparent {
    fn new() -> Self {
        let clock = Clock::tokio();
        Self(Memory::with_clock(clock.clone()), clock)
    }
}

impl Subject for Transparent {
    type Backend = FaultBackend<Memory>;

    async fn client(&self) -> Result<Self::Backend> {
        let faults = Faults::new(self.clock());
        Ok(FaultBackend::new(self.0.another_client(), &faults))
    }

    fn clock(&self) -> Clock {
        self.1.clone()
    }
}

tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] Transparent::new() }

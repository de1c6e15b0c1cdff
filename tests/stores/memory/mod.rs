//! The memory store, on tokio's paused clock: leases cost no time.

mod contract;
mod own;

use tenure::Result;
use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure::stores::memory::Memory;
use tenure_testkit::contract::Subject;

/// The store as it is.
struct Bare {
    store: Memory,
    clock: Clock,
}

impl Bare {
    fn new() -> Self {
        let clock = Clock::tokio();
        Self {
            store: Memory::with_clock(clock.clone()),
            clock,
        }
    }
}

impl Subject for Bare {
    type Backend = Memory;

    async fn client(&self) -> Result<Memory> {
        Ok(self.store.another_client())
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

/// The same store, its type forgotten, as a coordinator uses it.
struct Wrapped(Bare);

impl Wrapped {
    fn new() -> Self {
        Self(Bare::new())
    }
}

impl Subject for Wrapped {
    type Backend = AnyBackend;

    async fn client(&self) -> Result<Self::Backend> {
        Ok(AnyBackend::new(self.0.client().await?))
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }
}

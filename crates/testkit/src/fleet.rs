//! [`Fleet`]: the processes of a fleet in one test, on virtual time.

use tenure::backend::Administration as _;
use tenure::clock::Clock;
use tenure::model::{LeaseTerms, MutexName};
use tenure::stores::memory::Memory;
use tenure::{Coordinator, Result};

use crate::fault::{Call, Fault, FaultBackend, Faults};

/// Several processes over one store, in a runtime whose clock is paused
/// (`#[tokio::test(start_paused = true)]`): hours of leases, renewals and
/// outages pass at once, however busy the machine is.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> tenure::Result<()> {
/// use tenure_testkit::Fleet;
///
/// let fleet = Fleet::new();
/// let (here, there) = (fleet.process()?, fleet.process()?);
/// let guard = here.coordinator().lock("m")?.acquire().await?;
/// here.cut_off(); // its lease cannot be renewed any more
/// let next = there.coordinator().lock("m")?.acquire().await?;
/// assert!(guard.is_lost(), "it knew before the next one owned");
/// assert!(next.token()? > guard.lost().await.token.unwrap());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Fleet {
    store: Memory,
    clock: Clock,
    terms: LeaseTerms,
}

impl Fleet {
    /// With an empty store, on the time of the runtime it is used in.
    #[must_use]
    pub fn new() -> Self {
        let clock = Clock::tokio();
        Self {
            store: Memory::with_clock(clock.clone()),
            clock,
            terms: LeaseTerms::default(),
        }
    }

    /// With these lease terms for every process.
    #[must_use]
    pub fn with_terms(mut self, terms: LeaseTerms) -> Self {
        self.terms = terms;
        self
    }

    /// One more process: a coordinator, with a way to the store of its own.
    ///
    /// # Errors
    /// Outside of a runtime.
    pub fn process(&self) -> Result<Process> {
        let faults = Faults::new(self.clock.clone());
        let backend = FaultBackend::new(self.store.another_client(), &faults);
        let builder = Coordinator::builder()
            .clock(self.clock.clone())
            .terms(self.terms);
        Ok(Process {
            coordinator: builder.with_backend(backend)?,
            faults,
        })
    }

    /// Takes the mutex away from its owner, as an operator would.
    ///
    /// # Errors
    /// For what is no name.
    ///
    /// # Panics
    /// When it is free: the test means another one.
    pub async fn revoke(&self, name: impl AsRef<str>) -> Result<()> {
        let name = MutexName::new(name)?;
        let answer = self.store.revoke(&name, None).await?;
        assert!(answer.is_won(), "nobody owns {name:?}");
        Ok(())
    }

    /// The clock that all of it goes by.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new()
    }
}

/// One process of a [`Fleet`].
#[derive(Clone, Debug)]
pub struct Process {
    coordinator: Coordinator,
    faults: Faults,
}

impl Process {
    /// What the code under test is given.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// From now on the store is not reached, until [`reconnect`](Self::reconnect);
    /// only wake-ups still come, and lead to nothing.
    pub fn cut_off(&self) {
        for call in [
            Call::Acquire,
            Call::Renew,
            Call::Release,
            Call::Leave,
            Call::Owner,
            Call::List,
            Call::Revoke,
            Call::Prune,
            Call::Check,
            Call::ReadLedger,
            Call::ListLedgers,
            Call::ClaimTick,
            Call::FinishTick,
        ] {
            self.faults.always(call, Fault::Fail);
        }
    }

    /// The store is reached again. Faults that were set by hand end as well.
    pub fn reconnect(&self) {
        self.faults.heal();
    }

    /// What befalls single calls, for tests that need more.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}

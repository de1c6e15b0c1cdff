//! What the tests of this binary share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::backend::Backend;
use tenure::clock::Clock;
use tenure::model::{LeaseTerms, MutexName, MutexOwner, MutexState};
use tenure::service::{Contender, LocalContender};
use tenure::stores::memory::Memory;
use tenure::{Coordinator, CoordinatorBuilder};
use tenure_testkit::fault::{FaultBackend, Faults};

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn name(text: &str) -> MutexName {
    MutexName::new(text).unwrap()
}

/// A memory store on virtual time, and processes over it.
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) store: Memory,
    pub(crate) terms: LeaseTerms,
}

impl World {
    /// Leases of ten and six seconds.
    pub(crate) fn new() -> Self {
        Self::with_terms(LeaseTerms::default())
    }

    pub(crate) fn with_terms(terms: LeaseTerms) -> Self {
        let clock = Clock::tokio();
        let store = Memory::with_clock(clock.clone());
        Self {
            clock,
            store,
            terms,
        }
    }

    /// A process of its own, whose store can fail.
    pub(crate) fn process(&self) -> (Coordinator, Faults) {
        self.process_with(|builder| builder)
    }

    pub(crate) fn process_with(
        &self,
        more: impl FnOnce(CoordinatorBuilder) -> CoordinatorBuilder,
    ) -> (Coordinator, Faults) {
        let faults = Faults::new(self.clock.clone());
        let store = FaultBackend::new(self.store.another_client(), &faults);
        let builder = Coordinator::builder()
            .clock(self.clock.clone())
            .terms(self.terms);
        (more(builder).with_backend(store).unwrap(), faults)
    }

    pub(crate) async fn owner(&self, mutex: &str) -> MutexOwner {
        self.store
            .owner(&name(mutex))
            .await
            .unwrap()
            .owner()
            .clone()
    }

    /// Waits in virtual time until `condition` holds.
    pub(crate) async fn until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let end = self.clock.now() + secs(3600);
        while !condition() {
            assert!(self.clock.now() < end, "an hour has passed without: {what}");
            self.pass(millis(5)).await;
        }
    }

    /// Lets virtual time pass also while a callback blocks its thread, during
    /// which the runtime does not advance it by itself.
    pub(crate) async fn pass(&self, length: Duration) {
        let end = self.clock.now() + length;
        while self.clock.now() < end {
            tokio::time::advance(millis(5).min(end.since(self.clock.now()))).await;
            // Blocking threads run in real time: let them have some.
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            std::thread::yield_now();
        }
    }
}

/// What a contender was told, in order.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<&'static str>>>);

impl Diary {
    pub(crate) fn write(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }

    pub(crate) fn read(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }

    /// A contender that writes down what it is told.
    pub(crate) fn contender(&self, mutex: &str) -> LocalContender {
        let (acquired, released) = (self.clone(), self.clone());
        LocalContender::new(mutex)
            .unwrap()
            .on_acquired(move |_| acquired.write("acquired"))
            .on_released(move |_| released.write("released"))
    }
}

/// A contender that keeps every state it hears.
pub(crate) struct Listener {
    inner: LocalContender,
    pub(crate) heard: Mutex<Vec<MutexState>>,
}

impl Listener {
    pub(crate) fn new(mutex: &str) -> Self {
        let inner = LocalContender::new(mutex).unwrap();
        Self {
            inner,
            heard: Mutex::default(),
        }
    }

    pub(crate) fn named(mutex: &str, id: &str) -> Self {
        let inner = LocalContender::new(mutex).unwrap().with_id(id).unwrap();
        Self {
            inner,
            heard: Mutex::default(),
        }
    }
}

impl Contender for Listener {
    fn mutex(&self) -> &MutexName {
        self.inner.mutex()
    }
    fn contender_id(&self) -> &tenure::model::ContenderId {
        self.inner.contender_id()
    }
    fn on_acquired(&self, _: &MutexState) {}
    fn on_released(&self, _: &MutexState) {}
    fn notify_owner(&self, state: &MutexState) {
        self.heard.lock().unwrap().push(state.clone());
    }
}

//! [`Subject`]: a store under test.

use std::time::Duration;

use tenure::Result;
use tenure::backend::Backend;
use tenure::clock::Clock;
use tenure::model::LeaseTerms;

/// What a store may be without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Backend::ledger`].
    Ledger,
    /// [`Backend::inventory`].
    Inventory,
    /// [`Backend::administration`].
    Administration,
}

/// What the suite must know about a store to test it.
pub trait Subject {
    /// The backend under test.
    type Backend: Backend;

    /// A new client of the store, as another process would have: connections
    /// and session of its own, the same data.
    fn client(&self) -> impl Future<Output = Result<Self::Backend>>;

    /// A client for tests of many calls, whose leases must not end meanwhile.
    /// Where leases hang on a session: one with a long session.
    fn lasting_client(&self) -> impl Future<Output = Result<Self::Backend>> {
        self.client()
    }

    /// What the store is meant to be without. One that it lacks and does not
    /// name here fails the suite: a wrapper that forgets to pass a part on
    /// would not be seen.
    fn lacks(&self) -> &[Part] {
        &[]
    }

    /// The clock to wait with: the one that the store's leases follow.
    fn clock(&self) -> Clock;

    /// The terms of the bids. Short, because the tests wait for leases to end;
    /// long enough that a handful of calls fits into the transition. Not used
    /// where leases hang on a session.
    fn terms(&self) -> LeaseTerms {
        LeaseTerms::new(Duration::from_millis(1200), Duration::from_millis(800))
            .expect("both are long enough")
    }

    /// How much later than promised a thing may be seen before it counts as
    /// broken: the scale of every wait. Generous costs nothing while tests
    /// pass.
    fn patience(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Whether contenders have ids that no other has, and say so. A store that goes
    /// other ways by them is tested both ways.
    fn unique_ids(&self) -> bool {
        true
    }

    /// Returns when what was begun in the background has surely reached the
    /// store: a subscription, the drop of a stream.
    fn settle(&self) -> impl Future<Output = ()> {
        let clock = self.clock();
        async move { clock.sleep(Duration::from_millis(100)).await }
    }

    /// The process of `client` dies: no release, no farewell.
    fn abandon(&self, client: Self::Backend) -> impl Future<Output = ()> {
        drop(client);
        std::future::ready(())
    }
}

impl<S: Subject> Subject for &S {
    type Backend = S::Backend;

    fn client(&self) -> impl Future<Output = Result<Self::Backend>> {
        (**self).client()
    }
    fn lasting_client(&self) -> impl Future<Output = Result<Self::Backend>> {
        (**self).lasting_client()
    }
    fn lacks(&self) -> &[Part] {
        (**self).lacks()
    }
    fn clock(&self) -> Clock {
        (**self).clock()
    }
    fn terms(&self) -> LeaseTerms {
        (**self).terms()
    }
    fn patience(&self) -> Duration {
        (**self).patience()
    }
    fn unique_ids(&self) -> bool {
        (**self).unique_ids()
    }
    fn settle(&self) -> impl Future<Output = ()> {
        (**self).settle()
    }
    fn abandon(&self, client: Self::Backend) -> impl Future<Output = ()> {
        (**self).abandon(client)
    }
}

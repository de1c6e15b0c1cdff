//! What may be moved, shared, pinned and copied: part of the interface, though
//! it is written down nowhere.

#![allow(clippy::assertions_on_constants)] // constants are what is asserted

use std::time::Duration;

use tenure::lock::{Fence, HandOver, ReentrantOptions, StaleToken};
use tenure::queue::{Competitor, CompetitorQueue, Place};
use tenure::service::{ContendService, LocalContender, RetrievalService, Retriever};
use tenure::{
    Campaign, CampaignEvent, CombinationBuilder, CombinationGuard, CombinationLock, Coordinator,
    CoordinatorBuilder, Elector, Error, Holder, Leadership, LeaseLost, Lock, LockGuard,
    LockOptions, Observer, ReentrantGuard, ReentrantLock, Tenure, Trouble, Troubles, backend,
    clock, model, stores,
};

fn is_plain<T: Send + Sync + Unpin + 'static>() {}

fn is_send<T: Send>(_: &T) {}

#[derive(Debug)]
struct Walker;

impl Competitor for Walker {
    fn holder_id(&self) -> &str {
        "walker"
    }
}

struct Onlooker(model::MutexName);

impl Retriever for Onlooker {
    fn mutex(&self) -> &model::MutexName {
        &self.0
    }

    fn notify_owner(&self, _: &model::MutexState) {}
}

#[test]
fn every_public_type_can_be_moved_shared_and_kept() {
    is_plain::<Coordinator>();
    is_plain::<CoordinatorBuilder>();
    is_plain::<Tenure>();
    is_plain::<(Error, LeaseLost)>();
    is_plain::<(Lock, LockGuard, LockOptions, HandOver)>();
    is_plain::<(ReentrantLock, ReentrantGuard, ReentrantOptions, Holder)>();
    is_plain::<(CombinationLock, CombinationGuard, CombinationBuilder)>();
    is_plain::<(Fence, StaleToken)>();
    is_plain::<CompetitorQueue<Walker, u32>>();
    is_plain::<Place<Walker, u32>>();
    is_plain::<(Elector, Leadership, CampaignEvent, Campaign, Observer)>();
    is_plain::<(Trouble, Troubles)>();
    is_plain::<ContendService<LocalContender>>();
    is_plain::<RetrievalService<Onlooker>>();
    is_plain::<(clock::Clock, clock::Moment)>();
    is_plain::<(model::MutexName, model::ContenderId, model::FencingToken)>();
    is_plain::<(model::Owner, tenure::Revocation)>();
    is_plain::<(model::MutexOwner, model::MutexState, model::LeaseTerms)>();
    is_plain::<(backend::AnyBackend, backend::Bid, backend::Held)>();
    is_plain::<(backend::Answer, backend::Profile, backend::Interest)>();
    is_plain::<stores::memory::Memory>();
}

/// Awaited in a task of a multi-threaded runtime: all of them must be `Send`.
#[tokio::test(start_paused = true)]
async fn every_public_future_can_be_moved_between_threads() {
    let builder = Coordinator::builder().clock(clock::Clock::tokio());
    is_send(&Coordinator::connect("memory:"));
    is_send(&builder.clone().connect("memory:"));
    let coordinator = builder.connect("memory:").await.unwrap();

    let lock = coordinator.lock("m").unwrap();
    is_send(&lock.acquire());
    is_send(&lock.acquire_within(Duration::ZERO));
    is_send(&lock.try_acquire());
    is_send(&lock.owner());
    let guard = lock.acquire().await.unwrap();
    is_send(&guard.lost());
    is_send(&guard.protect(async {}));
    is_send(&guard.tenure().lost());
    is_send(&guard.tenure().protect(async {}));
    is_send(&guard.release());

    let holder = Holder::new("a");
    let lock = coordinator.reentrant_lock("r").unwrap().held_by(&holder);
    is_send(&lock.acquire());
    is_send(&lock.try_acquire());
    is_send(&lock.acquire_within(Duration::ZERO));
    is_send(&lock.release_kept());
    is_send(&lock.owner());
    is_send(&holder.scope(async {}));
    let guard = lock.acquire().await.unwrap();
    is_send(&guard.lost());
    is_send(&guard.protect(async {}));
    is_send(&guard.release());

    let elector = coordinator.elector("m").unwrap();
    is_send(&elector.lead(|_| async {}));
    is_send(&elector.campaign().unwrap().next());
    is_send(&elector.observe().unwrap().next());

    let contender = LocalContender::new("m").unwrap();
    is_send(&coordinator.contend_service(contender).unwrap().stop());
    let onlooker = Onlooker(lock.name().clone());
    is_send(&coordinator.retrieval_service(onlooker).unwrap().stop());

    let queue = CompetitorQueue::<Walker>::new();
    is_send(&queue.join(Walker).head());
    is_send(&coordinator.close());
}

/// Whether a type is `Clone`: the inherent constant, there only if the bound
/// holds, hides that of the trait.
struct Probe<T>(std::marker::PhantomData<T>);

trait Otherwise {
    const CLONES: bool = false;
}

impl<T> Otherwise for Probe<T> {}

impl<T: Clone> Probe<T> {
    const CLONES: bool = true;
}

macro_rules! clones {
    ($t:ty) => {
        <Probe<$t>>::CLONES
    };
}

#[test]
fn what_ends_something_by_its_drop_cannot_be_cloned() {
    let guards = [
        clones!(LockGuard),
        clones!(ReentrantGuard),
        clones!(Leadership),
        clones!(Campaign),
        clones!(Observer),
        clones!(Place<Walker>),
        clones!(ContendService<LocalContender>),
        clones!(RetrievalService<Onlooker>),
    ];
    assert_eq!(guards, [false; 8]);
}

#[test]
fn what_only_names_something_can_be_cloned() {
    let names = [
        clones!(Coordinator),
        clones!(Lock),
        clones!(Elector),
        clones!(Tenure),
        clones!(Error),
    ];
    assert_eq!(names, [true; 5]);
}

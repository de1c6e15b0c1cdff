//! Our side of a fleet: a lock, or a reentrant one.

use std::time::Duration;

use tenure::lock::{Lock, LockGuard, ReentrantGuard, ReentrantLock, ReentrantOptions};
use tenure::model::LeaseTerms;
use tenure::{Coordinator, Holder};

use crate::turns::{Turn, now};

/// The terms of both sides.
pub(crate) const TTL: Duration = Duration::from_secs(6);
pub(crate) const TRANSITION: Duration = Duration::from_secs(4);
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// Which of our locks shares with the JVM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Reentrant,
}

pub(crate) enum Ours {
    Plain(Lock),
    Reentrant(ReentrantLock),
}

pub(crate) enum Guard {
    Plain(Box<LockGuard>),
    Reentrant(ReentrantGuard),
}

impl Ours {
    /// With a connection of its own, as another process would have it.
    pub(crate) async fn open(kind: Kind, url: &str, name: &str) -> Self {
        let terms = LeaseTerms::new(TTL, TRANSITION).unwrap();
        let coordinator = Coordinator::builder().terms(terms).connect(url);
        let coordinator = coordinator.await.unwrap();
        match kind {
            Kind::Plain => Self::Plain(coordinator.lock(name).unwrap()),
            Kind::Reentrant => {
                let options = ReentrantOptions::default()
                    .with_expiry(LEASE)
                    .with_shared_fence();
                let lock = coordinator.reentrant_lock_with(name, options).unwrap();
                Self::Reentrant(lock.held_by(&Holder::new("ours")))
            }
        }
    }

    pub(crate) async fn take(&self) -> Guard {
        match self {
            Self::Plain(lock) => Guard::Plain(Box::new(lock.acquire().await.unwrap())),
            Self::Reentrant(lock) => Guard::Reentrant(lock.acquire().await.unwrap()),
        }
    }

    pub(crate) async fn try_take(&self) -> Option<Guard> {
        match self {
            Self::Plain(lock) => {
                let guard = lock.try_acquire().await.unwrap();
                guard.map(|guard| Guard::Plain(Box::new(guard)))
            }
            Self::Reentrant(lock) => lock.try_acquire().await.unwrap().map(Guard::Reentrant),
        }
    }

    /// Takes, holds and frees for a while.
    pub(crate) async fn churn(&self, time: Duration, hold: Duration) -> Vec<Turn> {
        let end = tokio::time::Instant::now() + time;
        let mut turns = Vec::new();
        while tokio::time::Instant::now() < end {
            let guard = self.take().await;
            let from = now();
            tokio::time::sleep(hold).await;
            let until = now();
            // Read after the end was: it was owned for certain until then.
            let token = guard.token();
            guard.free().await;
            turns.extend(token.map(|token| Turn {
                of_jvm: false,
                from,
                until,
                token,
            }));
        }
        turns
    }
}

impl Guard {
    /// `None` when it was lost.
    pub(crate) fn token(&self) -> Option<u64> {
        let token = match self {
            Self::Plain(guard) => guard.token(),
            Self::Reentrant(guard) => guard.token(),
        };
        token.ok().map(tenure::model::FencingToken::store)
    }

    pub(crate) async fn free(self) {
        // A lost one was freed by time.
        let _ = match self {
            Self::Plain(guard) => guard.release().await,
            Self::Reentrant(guard) => guard.release().await,
        };
    }
}

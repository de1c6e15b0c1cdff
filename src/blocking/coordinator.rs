//! [`Coordinator`], for plain threads.

use super::background::Background;
use super::elector::Elector;
use super::lock::Lock;
use super::reentrant::ReentrantLock;
use super::scheduler::Scheduler;
use super::service::{ContendService, RetrievalService};
use super::troubles::Troubles;
use crate::backend::Backend;
use crate::coordinator::{self, CoordinatorBuilder, Revocation};
use crate::engine::CoordinatorStatus;
use crate::error::Result;
use crate::lock::{LockOptions, ReentrantOptions};
use crate::model::{FencingToken, LeaseTerms, Owner};
use crate::schedule::ScheduleConfig;
use crate::service::{Contender, Retriever};
use crate::stores::StoreOptions;

/// Everything that one process owns and waits for in one store, as
/// [`tenure::Coordinator`](crate::Coordinator). Cheap to clone; all clones
/// share one background thread.
#[derive(Clone, Debug)]
pub struct Coordinator {
    inner: coordinator::Coordinator,
    background: Background,
}

impl Coordinator {
    /// Opens a store: by a URL, or by the typed options of a store; see
    /// [`StoreOptions`].
    ///
    /// # Errors
    /// As [`tenure::Coordinator::connect`](crate::Coordinator::connect).
    pub fn connect(options: impl Into<StoreOptions>) -> Result<Self> {
        Self::connect_with(coordinator::Coordinator::builder(), options)
    }

    /// The same, with more settings.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_with(
        builder: CoordinatorBuilder,
        options: impl Into<StoreOptions>,
    ) -> Result<Self> {
        let options = options.into();
        Self::open(async move { builder.connect(options).await })
    }

    /// A coordinator over a backend of your own.
    ///
    /// # Errors
    /// [`Store`](crate::ErrorKind::Store) when the system gives no thread.
    pub fn with_backend(backend: impl Backend, terms: LeaseTerms) -> Result<Self> {
        Self::from_builder(coordinator::Coordinator::builder().terms(terms), backend)
    }

    /// A coordinator over a backend of your own, with more settings.
    ///
    /// # Errors
    /// [`Store`](crate::ErrorKind::Store) when the system gives no thread.
    pub fn from_builder(builder: CoordinatorBuilder, backend: impl Backend) -> Result<Self> {
        Self::open(async move { builder.with_backend(backend) })
    }

    fn open(
        opening: impl Future<Output = Result<coordinator::Coordinator>> + Send + 'static,
    ) -> Result<Self> {
        let background = Background::start()?;
        let inner = background.wait(opening)?;
        let to_close = inner.clone();
        background.ends_with(move || {
            let coordinator = to_close.clone();
            async move { coordinator.close().await }
        });
        Ok(Self { inner, background })
    }

    /// The lock called `name`. No I/O.
    ///
    /// # Errors
    /// As [`tenure::Coordinator::lock`](crate::Coordinator::lock).
    pub fn lock(&self, name: impl AsRef<str>) -> Result<Lock> {
        let lock = self.inner.lock(name)?;
        Ok(Lock::new(lock, &self.background))
    }

    /// The lock called `name`, with options of its own. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`Invalid`](crate::ErrorKind::Invalid) for options
    /// that contradict each other.
    pub fn lock_with(&self, name: impl AsRef<str>, options: LockOptions) -> Result<Lock> {
        let lock = self.inner.lock_with(name, options)?;
        Ok(Lock::new(lock, &self.background))
    }

    /// The reentrant lock called `name`; each thread holds it for itself. No
    /// I/O.
    ///
    /// # Errors
    /// As [`tenure::Coordinator::reentrant_lock`](crate::Coordinator::reentrant_lock).
    pub fn reentrant_lock(&self, name: impl AsRef<str>) -> Result<ReentrantLock> {
        self.reentrant_lock_with(name, ReentrantOptions::default())
    }

    /// The reentrant lock called `name`, with options of its own. No I/O.
    ///
    /// # Errors
    /// As [`reentrant_lock`](Self::reentrant_lock).
    pub fn reentrant_lock_with(
        &self,
        name: impl AsRef<str>,
        options: ReentrantOptions,
    ) -> Result<ReentrantLock> {
        let lock = self.inner.reentrant_lock_with(name, options)?;
        Ok(ReentrantLock::new(lock, &self.background))
    }

    /// An elector for the office called `name`. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn elector(&self, name: impl AsRef<str>) -> Result<Elector> {
        let elector = self.inner.elector(name)?;
        Ok(Elector::new(elector, &self.background))
    }

    /// A scheduler for the schedule called `name`. No I/O.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn scheduler(&self, name: impl AsRef<str>, config: ScheduleConfig) -> Result<Scheduler> {
        let scheduler = self.inner.scheduler(name, config)?;
        Ok(Scheduler::new(scheduler, &self.background))
    }

    /// A service that contends for `contender`. Not started yet.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
    pub fn contend_service<C: Contender>(&self, contender: C) -> Result<ContendService<C>> {
        let service = self.inner.contend_service(contender)?;
        Ok(ContendService::new(service, &self.background))
    }

    /// A service that observes for `retriever`. Not started yet.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
    pub fn retrieval_service<R: Retriever>(&self, retriever: R) -> Result<RetrievalService<R>> {
        let service = self.inner.retrieval_service(retriever)?;
        Ok(RetrievalService::new(service, &self.background))
    }

    /// Who owns `name`, by the store's present word; `None` when it is free.
    ///
    /// # Errors
    /// As [`tenure::Coordinator::owner`](crate::Coordinator::owner).
    pub fn owner(&self, name: impl AsRef<str>) -> Result<Option<Owner>> {
        let (inner, name) = (self.inner.clone(), name.as_ref().to_owned());
        self.background.wait(async move { inner.owner(name).await })
    }

    /// Frees `name` by force; with a token, only if the grant with that token
    /// still owns it.
    ///
    /// # Errors
    /// As [`tenure::Coordinator::revoke`](crate::Coordinator::revoke).
    pub fn revoke(&self, name: impl AsRef<str>, token: Option<FencingToken>) -> Result<Revocation> {
        let (inner, name) = (self.inner.clone(), name.as_ref().to_owned());
        let revoking = async move { inner.revoke(name, token).await };
        self.background.wait(revoking)
    }

    /// What fails from now on and is tried again, as
    /// [`tenure::Coordinator::troubles`](crate::Coordinator::troubles).
    #[must_use]
    pub fn troubles(&self) -> Troubles {
        Troubles::new(self.inner.troubles(), &self.background)
    }

    /// What this coordinator and its clones hold, wait for and lead at this
    /// moment, as [`tenure::Coordinator::status`](crate::Coordinator::status).
    #[must_use]
    pub fn status(&self) -> CoordinatorStatus {
        self.inner.status()
    }

    /// Ends everything that this coordinator and its clones own and wait for,
    /// and waits until the store has been told.
    ///
    /// # Errors
    /// What closing the store fails with.
    pub fn close(&self) -> Result<()> {
        let inner = self.inner.clone();
        self.background.wait(async move { inner.close().await })
    }
}

//! [`ContendService`] and [`RetrievalService`], for plain threads.

use std::sync::Arc;

use super::background::Background;
use super::tenure::Tenure;
use crate::error::Result;
use crate::model::MutexState;
use crate::service::{self, Contender, Retriever, Status};

/// Contends for the mutex of a [`Contender`] and calls it at every change, as
/// [`service::ContendService`]. Dropping it stops it in the background.
#[derive(Debug)]
pub struct ContendService<C: Contender> {
    inner: Arc<service::ContendService<C>>,
    background: Background,
}

impl<C: Contender> ContendService<C> {
    pub(super) fn new(inner: service::ContendService<C>, background: &Background) -> Self {
        Self {
            inner: Arc::new(inner),
            background: background.clone(),
        }
    }

    /// Starts to contend. Returns at once; the callbacks tell the rest.
    ///
    /// # Errors
    /// As [`service::ContendService::start`].
    pub fn start(&self) -> Result<()> {
        self.inner.start()
    }

    /// Stops: `on_released` runs and returns if it owned, then the store is
    /// told.
    ///
    /// # Errors
    /// As [`service::ContendService::stop`].
    pub fn stop(&self) -> Result<()> {
        let service = Arc::clone(&self.inner);
        self.background.wait(async move { service.stop().await })
    }

    /// The contender.
    #[must_use]
    pub fn contender(&self) -> &C {
        self.inner.contender()
    }

    /// Where in its life the service is.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Whether it is starting or running.
    #[must_use]
    pub fn running(&self) -> bool {
        self.inner.running()
    }

    /// The last transition it saw; [`MutexState::NONE`] at each start.
    #[must_use]
    pub fn state(&self) -> MutexState {
        self.inner.state()
    }

    /// The present tenure, while it lasts.
    #[must_use]
    pub fn tenure(&self) -> Option<Tenure> {
        let tenure = self.inner.tenure()?;
        Some(Tenure::new(tenure, &self.background))
    }

    /// Whether the contender owns the mutex at this moment.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.inner.is_owner()
    }

    /// Whether it owns the mutex and need not fear for its renewal yet.
    #[must_use]
    pub fn is_in_ttl(&self) -> bool {
        self.inner.is_in_ttl()
    }
}

/// Observes the mutex of a [`Retriever`] and calls it at every change, as
/// [`service::RetrievalService`]. Dropping it stops it.
#[derive(Debug)]
pub struct RetrievalService<R: Retriever> {
    inner: Arc<service::RetrievalService<R>>,
    background: Background,
}

impl<R: Retriever> RetrievalService<R> {
    pub(super) fn new(inner: service::RetrievalService<R>, background: &Background) -> Self {
        Self {
            inner: Arc::new(inner),
            background: background.clone(),
        }
    }

    /// Starts to observe. Returns at once.
    ///
    /// # Errors
    /// As [`service::RetrievalService::start`].
    pub fn start(&self) -> Result<()> {
        self.inner.start()
    }

    /// Stops: no callback begins any more, and the one that runs returns.
    ///
    /// # Errors
    /// As [`service::RetrievalService::stop`].
    pub fn stop(&self) -> Result<()> {
        let service = Arc::clone(&self.inner);
        self.background.wait(async move { service.stop().await })
    }

    /// The retriever.
    #[must_use]
    pub fn retriever(&self) -> &R {
        self.inner.retriever()
    }

    /// Where in its life the service is.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Whether it is starting or running.
    #[must_use]
    pub fn running(&self) -> bool {
        self.inner.running()
    }

    /// The last transition it saw; [`MutexState::NONE`] at each start.
    #[must_use]
    pub fn state(&self) -> MutexState {
        self.inner.state()
    }
}

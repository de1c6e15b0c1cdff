//! [`ContendService`] and [`RetrievalService`], for plain threads.

use std::sync::Arc;

use super::background::Background;
use super::tenure::Tenure;
use super::wrap;
use crate::error::Result;
use crate::model::MutexState;
use crate::service::{self, Contender, Retriever, Status};

wrap::service! {
    /// Contends for the mutex of a [`Contender`] and calls it at every change,
    /// as [`service::ContendService`]. Dropping it stops it in the background.
    ContendService<C: Contender>, contender
}

impl<C: Contender> ContendService<C> {
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

wrap::service! {
    /// Observes the mutex of a [`Retriever`] and calls it at every change, as
    /// [`service::RetrievalService`]. Dropping it stops it.
    RetrievalService<R: Retriever>, retriever
}

//! [`Offices`]: what an elector's campaigns hold.

use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::Tenure;

/// The offices that were handed out and may still be held; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Offices(Arc<Mutex<Vec<Tenure>>>);

impl Offices {
    pub(super) fn add(&self, tenure: &Tenure) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|tenure| !tenure.is_lost());
        held.push(tenure.clone());
    }

    /// Whether one of them has not ended at this very moment.
    pub(super) fn is_any_held(&self) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|tenure| !tenure.is_lost());
        !held.is_empty()
    }
}

//! [`Offices`]: what an elector's campaigns hold, and whether there are any.

use std::sync::Arc;

use crate::engine::Tenure;
use crate::sync::Mutex;

/// The offices that were handed out and may still be held; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Offices(Arc<Mutex<Numbered>>);

/// Each with its number.
#[derive(Debug, Default)]
struct Numbered {
    /// Campaigns that live.
    campaigns: usize,
    next: u64,
    tenures: Vec<(u64, Tenure)>,
}

impl Offices {
    pub(super) fn add(&self, tenure: &Tenure) {
        self.forget_lost();
        let mut offices = self.0.lock();
        let number = offices.next;
        offices.next += 1;
        offices.tenures.push((number, tenure.clone()));
    }

    /// The newest of those that have not ended at this very moment.
    pub(super) fn held(&self) -> Option<Tenure> {
        self.forget_lost();
        let newest = self.0.lock().tenures.last().cloned();
        newest.map(|(_, tenure)| tenure)
    }

    pub(super) fn campaign_begins(&self) {
        self.0.lock().campaigns += 1;
    }

    pub(super) fn campaign_ends(&self) {
        self.0.lock().campaigns -= 1;
    }

    pub(super) fn is_any_campaigning(&self) -> bool {
        self.0.lock().campaigns > 0
    }

    /// Asks outside the mutex: the first who sees a deadline pass wakes those
    /// who wait for it, and one of them may ask here.
    fn forget_lost(&self) {
        let mut lost = self.0.lock().tenures.clone();
        lost.retain(|(_, tenure)| tenure.is_lost());
        if !lost.is_empty() {
            let is_lost = |number| lost.iter().any(|(other, _)| *other == number);
            self.0
                .lock()
                .tenures
                .retain(|(number, _)| !is_lost(*number));
        }
    }
}

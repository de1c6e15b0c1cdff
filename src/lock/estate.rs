//! [`Estate`]: a remote grant in the hands of this process.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::queue::Place;
use super::waiting::Waiter;
use crate::clock::Moment;
use crate::engine::{Contention, Finish, Tenure};
use crate::error::LossCause;
use crate::model::LeaseTerms;

/// A contention whose local side ends with this value: dropped, the bid is
/// withdrawn or the grant given back.
#[derive(Debug)]
pub(super) struct Tenant(pub(super) Contention);

impl Drop for Tenant {
    fn drop(&mut self) {
        self.0.quiescer().quiesced();
    }
}

/// Holds a place in line until the contention's last word.
pub(super) type Keep = Arc<Mutex<Option<Place<Waiter, Estate>>>>;

/// What passes from guard to guard of this process.
#[derive(Debug)]
pub(super) struct Estate {
    /// The tenure of the present or last guard.
    pub(super) tenure: Tenure,
    pub(super) terms: LeaseTerms,
    pub(super) granted_at: Moment,
    pub(super) finished: oneshot::Receiver<Finish>,
    pub(super) keep: Keep,
    pub(super) tenant: Tenant,
}

impl Estate {
    /// Gives the grant back and says how that went. The place in line is kept
    /// until the store has answered: the next one could only be refused before.
    pub(super) fn give_back(self, place: Place<Waiter, Self>) -> oneshot::Receiver<Finish> {
        self.tenure.end(LossCause::Released);
        *self.keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        drop(self.tenant);
        self.finished
    }
}

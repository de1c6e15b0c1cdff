//! [`Estate`]: a remote grant in the hands of this process.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::queue::Place;
use super::waiting::Waiter;
use crate::clock::Moment;
use crate::engine::{Contention, Finish, Quiescer, Tenure};
use crate::error::LossCause;
use crate::model::LeaseTerms;

/// A contention whose local side ends with this value: dropped, the bid is
/// withdrawn or the grant given back.
#[derive(Debug)]
pub(super) struct Tenant(pub(super) Contention);

impl Drop for Tenant {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The place in line of whoever holds a grant, within reach of the engine: a
/// guard that is lost bars the others of its process no more than strangers.
#[derive(Debug, Default)]
pub(super) struct Seat(Mutex<Seated>);

#[derive(Debug, Default)]
enum Seated {
    /// The grant is on its way from one guard to the next.
    #[default]
    Nobody,
    Holder(Place<Waiter, Estate>),
    /// The grant is over.
    Closed,
}

impl Seat {
    /// Keeps `place` in line while the grant lasts.
    pub(super) fn keep(&self, place: Place<Waiter, Estate>) {
        let mut seated = self.seated();
        if !matches!(*seated, Seated::Closed) {
            *seated = Seated::Holder(place);
            return;
        }
        // A place is left outside of the lock: the next one is told.
        drop(seated);
        drop(place);
    }

    /// The place, if the grant is not over.
    pub(super) fn take(&self) -> Option<Place<Waiter, Estate>> {
        let mut seated = self.seated();
        match std::mem::take(&mut *seated) {
            Seated::Holder(place) => Some(place),
            Seated::Nobody => None,
            Seated::Closed => {
                *seated = Seated::Closed;
                None
            }
        }
    }

    /// The grant is over: whoever sits there stands up.
    pub(super) fn close(&self) {
        let seated = std::mem::replace(&mut *self.seated(), Seated::Closed);
        drop(seated);
    }

    fn seated(&self) -> std::sync::MutexGuard<'_, Seated> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What passes from guard to guard of this process.
#[derive(Debug)]
pub(super) struct Estate {
    /// The tenure of the present or last guard.
    pub(super) tenure: Tenure,
    pub(super) terms: LeaseTerms,
    pub(super) granted_at: Moment,
    pub(super) finished: oneshot::Receiver<Finish>,
    pub(super) seat: Arc<Seat>,
    pub(super) tenant: Tenant,
    /// Says that the local side of the term has ended.
    pub(super) quiescer: Quiescer,
}

impl Estate {
    /// Gives the grant back and says how that went. The place in line is kept
    /// until the store has answered: the next one could only be refused before.
    pub(super) fn give_back(self, place: Option<Place<Waiter, Self>>) -> oneshot::Receiver<Finish> {
        self.tenure.end(LossCause::Released);
        if let Some(place) = place {
            self.seat.keep(place);
        }
        drop(self.tenant);
        self.finished
    }
}

//! [`Holding`]: the tenure of a contention, as its driver sees to it.

use std::sync::Arc;

use super::event::{Event, GivenBack};
use super::lease::Lease;
use super::roster::DueRenewal;
use super::slot::DriverSlot;
use super::store_clock::ClockReading;
use super::tenure::OwnEnd;
use crate::clock::{Moment, Sight};
use crate::error::LossCause;

/// The present tenure of a contention, or the last one.
pub(super) struct Holding {
    lease: Arc<Lease>,
    tenure_number: u64,
    /// When the renewal is due that has been asked for.
    renewal: Option<Moment>,
    /// The end that its present holder has by a limit.
    limited: Option<Arc<OwnEnd>>,
}

impl Holding {
    #[inline]
    pub(super) fn new(tenure_number: u64, lease: Arc<Lease>) -> Self {
        Self {
            lease,
            tenure_number,
            renewal: None,
            limited: None,
        }
    }

    /// Its present holder may hold it until a limit.
    pub(super) fn limit(&mut self, limited: Arc<OwnEnd>) {
        self.limited = Some(limited);
    }

    /// When to look whether the limit of its holder has passed.
    pub(super) fn limit_at(&self) -> Option<Moment> {
        self.limited.as_ref()?.limit()
    }

    /// Asks for a renewal at `at`, for the contention of `number` in `slot`.
    #[inline]
    pub(super) fn renew_at(
        &mut self,
        at: Moment,
        deadline: Moment,
        max_batch: usize,
        slot: &Arc<DriverSlot>,
        number: u64,
    ) {
        self.stop_renewing(slot, number);
        self.renewal = Some(at);
        let due = DueRenewal {
            lease: Arc::clone(&self.lease),
            deadline,
            max_batch,
            slot: Arc::clone(slot),
        };
        slot.engine().roster().renew_at(at, number, due);
    }

    /// Whether the roster has it renewed before `at`.
    pub(super) fn is_renewed_before(&self, at: Moment) -> bool {
        self.renewal.is_some_and(|renewal| renewal < at)
    }

    #[inline]
    pub(super) fn stop_renewing(&mut self, slot: &DriverSlot, number: u64) {
        if let Some(at) = self.renewal.take() {
            slot.engine().roster().stop_renewing(at, number);
        }
    }

    /// It has been renewed by a request that was sent at `sent`; false when it
    /// was over by then.
    pub(super) fn extend(&self, deadline: Moment, reading: ClockReading, sent: Sight) -> bool {
        self.lease.read_clock(reading);
        self.lease.extend(deadline, sent)
    }

    /// Whether it is over, by the clocks or otherwise, also for its present
    /// holder alone.
    pub(super) fn is_over(&self) -> bool {
        let is_over = |limited: &Arc<OwnEnd>| limited.is_over(&self.lease);
        self.lease.is_over() || self.limited.as_ref().is_some_and(is_over)
    }

    /// The word that it is over.
    pub(super) fn expired(&self) -> Event {
        let tenure_number = self.tenure_number;
        Event::Expired { tenure_number }
    }

    /// The word that its local side has ended.
    pub(super) fn quiesced(&self) -> Event {
        let tenure_number = self.tenure_number;
        Event::Quiesced { tenure_number }
    }

    /// Takes it from a user that does not have it in hand: there is no local
    /// side to end then. Otherwise that is asked to end.
    pub(super) fn take_back_or_ask(&self, cause: LossCause) -> bool {
        let is_taken_back = self.lease.in_hand.take_back();
        // What is lost cannot be asked to end.
        if !is_taken_back && matches!(cause, LossCause::Released | LossCause::Closed) {
            self.lease.ask_to_end(cause);
        }
        is_taken_back
    }

    /// Whether its end has been asked for.
    pub(super) fn is_asked(&self) -> bool {
        self.lease.is_asked()
    }

    /// Ends it for `cause`, and says why it has ended: the view that saw the
    /// end first knows best.
    #[inline]
    pub(super) fn end(&self, cause: LossCause) -> LossCause {
        self.lease.end(cause);
        self.lease.cause.get().unwrap_or(cause)
    }

    #[inline]
    pub(super) fn is_given_back(&self, how: GivenBack) {
        self.lease.is_given_back(how);
    }
}

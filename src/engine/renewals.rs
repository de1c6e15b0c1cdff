//! [`Renewals`]: what is to be renewed and when, in batches.
//!
//! When the earliest renewal is due, everything that is due in a third of a period
//! goes with it; from then on those names share a tick. So what a process holds
//! is renewed in two batches each period at most, whenever it was taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::Event;
use super::in_hand::PickUp;
use super::lease::Lease;
use super::slot::DriverSlot;
use super::wake;
use crate::backend::{AnyBackend, Backend, Bid, Held};
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome};
use crate::telemetry::Meters;

/// A renewal may go this part of its period early, to share a batch. Ticks that
/// stay apart are further apart than that, so a period has one less of them, and
/// each costs a store that renews all of a session at once as much as one name
/// does. With a half, everything would come in one burst, and names that come
/// and go would be renewed nearly twice as often as they need.
const COMPANY: u32 = 3;

/// After so many answers others get their turn.
const AT_A_STRETCH: usize = 128;

/// All renewals that have been asked for.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    /// One for each contention, which has a number.
    by_time: BTreeMap<(Moment, u64), DueRenewal>,
}

/// A grant that is to be renewed.
#[derive(Debug)]
pub(super) struct DueRenewal {
    pub(super) lease: Arc<Lease>,
    pub(super) deadline: Moment,
    pub(super) max_batch: usize,
    /// Who hears what came of it.
    pub(super) slot: Arc<DriverSlot>,
}

impl DueRenewal {
    fn bid(&self) -> &Bid {
        &self.lease.bid
    }

    /// The earliest moment at which it may go along with others.
    fn from(&self, at: Moment) -> Moment {
        // What its user has not picked up has its time to be: it goes alone.
        if !self.lease.in_hand.is_held() {
            return at;
        }
        at - self.bid().terms.renew_after() / COMPANY
    }

    /// Whether it is to be sent: a grant that its user has not picked up is
    /// not renewed.
    fn is_wanted(&self, now: Moment) -> bool {
        let until = match self.lease.in_hand.pick_up_or_return(now) {
            PickUp::Held => return true,
            PickUp::Wait(until) => Some(until),
            PickUp::Gone => None,
        };
        let nonce = self.bid().nonce;
        self.slot.send_to_one(Event::Unclaimed { nonce, until });
        false
    }
}

impl Renewals {
    #[inline]
    pub(super) fn add(&mut self, at: Moment, number: u64, due: DueRenewal) {
        self.by_time.insert((at, number), due);
    }

    /// Withdraws a renewal, unless it is already on its way.
    #[inline]
    pub(super) fn remove(&mut self, at: Moment, number: u64) -> Option<DueRenewal> {
        self.by_time.remove(&(at, number))
    }

    /// When the first one is due.
    pub(super) fn first(&self) -> Option<Moment> {
        self.by_time.first_key_value().map(|((at, _), _)| *at)
    }

    /// Everything that is due, with company, each with the number of its contention.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<(u64, DueRenewal)> {
        // Taking it early is worth it only if something must go anyway.
        if self.first().is_none_or(|at| at > now) {
            return Vec::new();
        }
        let due = self.by_time.iter();
        let due = due.filter(|((at, _), due)| due.from(*at) <= now);
        let due: Vec<_> = due.map(|(key, _)| *key).collect();
        let take = |key: &(Moment, u64)| Some((key.1, self.by_time.remove(key)?));
        due.iter().filter_map(take).collect()
    }
}

/// `due` in batches, without the grants that their users do not have in hand.
pub(super) fn batches(mut due: Vec<DueRenewal>, now: Moment) -> Vec<Vec<DueRenewal>> {
    due.retain(|due| due.is_wanted(now));
    // Those that were cut off in a large batch go in smaller ones.
    due.sort_by_key(|due| std::cmp::Reverse(due.max_batch));
    let mut batches: Vec<Vec<DueRenewal>> = Vec::new();
    for due in due {
        match batches
            .last_mut()
            .filter(|batch| batch.len() < due.max_batch)
        {
            Some(batch) => batch.push(due),
            None => batches.push(vec![due]),
        }
    }
    batches
}

/// Renews `batch`, and tells each what came of it.
pub(super) async fn renew(
    backend: AnyBackend,
    clock: Clock,
    meters: Meters,
    batch: Vec<DueRenewal>,
) {
    let sent = clock.look_before();
    let limit = |due: &DueRenewal| wake::renewal_limit(&due.bid().terms, due.deadline, sent.now);
    let Some(limit) = batch.iter().map(limit).min() else {
        return;
    };
    let held: Vec<Held> = batch.iter().map(|due| due.lease.held()).collect();
    let answers = wake::within(&clock, limit, backend.renew(&held)).await;
    let answers = match answers {
        Ok(answers) if answers.len() == batch.len() => Ok(answers),
        Ok(_) => Err(Error::new(ErrorKind::Store, Outcome::MayHave)
            .with_message("the store did not answer every renewal of a batch")),
        Err(late) => Err(late),
    };
    let took = || clock.now().since(sent.now);
    let failure = match &answers {
        Ok(answers) if answers.iter().all(Result::is_err) => {
            answers.iter().find_map(|answer| answer.as_ref().err())
        }
        Ok(_) => None,
        Err(error) => Some(error),
    };
    meters.called("renew", took, failure);
    let answers = answers.unwrap_or_else(|error| vec![Err(error); batch.len()]);
    let size = batch.len();
    for (told, (due, result)) in batch.into_iter().zip(answers).enumerate() {
        match &result {
            Ok(answer) if answer.is_won() => meters.renewed(true),
            // The store has answered, and another owns: a loss, which is counted as one.
            Ok(_) => {}
            Err(_) => meters.renewed(false),
        }
        // A contention that has ended does not want to know.
        due.slot.send_to_one(Event::Renewed {
            nonce: due.bid().nonce,
            sent,
            batch: size,
            result,
        });
        if told % AT_A_STRETCH == AT_A_STRETCH - 1 {
            tokio::task::yield_now().await;
        }
    }
}

//! All renewals of a coordinator: aligned into ticks, sent in batches.
//!
//! When the earliest renewal is due, everything that is due soon goes with it;
//! from then on those names share a tick. No task runs while nothing is owned.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

use super::event::Event;
use super::in_hand::PickUp;
use super::lease::Lease;
use super::wake;
use crate::backend::{AnyBackend, Backend, Held};
use crate::clock::{Clock, Moment};
use crate::error::{Error, ErrorKind, Outcome};

/// A renewal may go this part of its period early, to share a batch.
const COMPANY: u32 = 8;

#[derive(Debug, Clone)]
pub(super) struct Roster(Arc<RosterParts>);

#[derive(Debug)]
struct RosterParts {
    backend: AnyBackend,
    clock: Clock,
    runtime: Handle,
    renewals: Mutex<DueRenewals>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct DueRenewals {
    by_time: BTreeMap<(Moment, u64), Renewal>,
    next_number: u64,
    is_running: bool,
}

#[derive(Debug)]
struct Renewal {
    held: Held,
    lease: Arc<Lease>,
    deadline: Moment,
    max_batch: usize,
    reply: mpsc::UnboundedSender<Event>,
}

impl Renewal {
    /// The earliest moment at which it may go along with others.
    fn from(&self, at: Moment) -> Moment {
        // What its user has not picked up has its time to be: it goes alone.
        if !self.lease.is_in_hand() {
            return at;
        }
        at - self.held.terms.renew_after() / COMPANY
    }

    /// Whether it is to be sent: a grant that its user has not picked up is
    /// not renewed.
    fn is_wanted(&self, now: Moment) -> bool {
        let until = match self.lease.pick_up_or_return(now) {
            PickUp::Held => return true,
            PickUp::Wait(until) => Some(until),
            PickUp::Gone => None,
        };
        let nonce = self.held.nonce;
        let _ = self.reply.send(Event::Unclaimed { nonce, until });
        false
    }
}

/// A place in the roster; dropped, the renewal is withdrawn unless it is
/// already on its way.
#[derive(Debug)]
pub(super) struct Ticket {
    roster: Roster,
    key: (Moment, u64),
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.roster.renewals().by_time.remove(&self.key);
    }
}

impl Roster {
    pub(super) fn new(backend: AnyBackend, clock: Clock, runtime: Handle) -> Self {
        let (renewals, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(RosterParts {
            backend,
            clock,
            runtime,
            renewals,
            changed,
        }))
    }

    /// Renews `held` at `at`, and answers `reply` with [`Event::Renewed`].
    pub(super) fn enter(
        &self,
        (held, lease): (Held, Arc<Lease>),
        at: Moment,
        deadline: Moment,
        max_batch: usize,
        reply: mpsc::UnboundedSender<Event>,
    ) -> Ticket {
        let mut renewals = self.renewals();
        renewals.next_number += 1;
        let key = (at, renewals.next_number);
        let is_first = renewals
            .by_time
            .first_key_value()
            .is_none_or(|(first, _)| key < *first);
        renewals.by_time.insert(
            key,
            Renewal {
                held,
                lease,
                deadline,
                max_batch,
                reply,
            },
        );
        if !renewals.is_running {
            renewals.is_running = true;
            self.0.runtime.spawn(self.clone().keep());
        } else if is_first {
            self.0.changed.notify_one();
        }
        Ticket {
            roster: self.clone(),
            key,
        }
    }

    async fn keep(self) {
        loop {
            let first = {
                let mut renewals = self.renewals();
                let Some(((at, _), _)) = renewals.by_time.first_key_value() else {
                    renewals.is_running = false;
                    return;
                };
                *at
            };
            tokio::select! {
                biased;
                () = self.0.changed.notified() => continue,
                () = self.0.clock.sleep_until(first) => {}
            }
            for batch in self.take_due() {
                self.0.runtime.spawn(self.clone().send(batch));
            }
        }
    }

    /// Everything that is due, with company, in batches.
    fn take_due(&self) -> Vec<Vec<Renewal>> {
        let now = self.0.clock.now();
        let mut renewals = self.renewals();
        // Taking it early is worth it only if something must go anyway.
        if renewals
            .by_time
            .first_key_value()
            .is_none_or(|((at, _), _)| *at > now)
        {
            return Vec::new();
        }
        let due = renewals.by_time.iter();
        let due = due.filter(|((at, _), renewal)| renewal.from(*at) <= now);
        let due: Vec<_> = due.map(|(key, _)| *key).collect();
        let due = due.iter().filter_map(|key| renewals.by_time.remove(key));
        let mut due: Vec<_> = due.collect();
        drop(renewals);
        due.retain(|renewal| renewal.is_wanted(now));
        // Those that were cut off in a large batch go in smaller ones.
        due.sort_by_key(|renewal| std::cmp::Reverse(renewal.max_batch));
        let mut batches: Vec<Vec<Renewal>> = Vec::new();
        for renewal in due {
            match batches
                .last_mut()
                .filter(|batch| batch.len() < renewal.max_batch)
            {
                Some(batch) => batch.push(renewal),
                None => batches.push(vec![renewal]),
            }
        }
        batches
    }

    async fn send(self, batch: Vec<Renewal>) {
        let clock = &self.0.clock;
        let sent = clock.look_before();
        let sent_at = sent.now;
        let limit = |r: &Renewal| wake::renewal_limit(&r.held.terms, r.deadline, sent_at);
        let Some(limit) = batch.iter().map(limit).min() else {
            return;
        };
        let held: Vec<Held> = batch.iter().map(|renewal| renewal.held.clone()).collect();
        let answers = wake::within(clock, limit, self.0.backend.renew(&held)).await;
        let answers = match answers {
            Ok(answers) if answers.len() == batch.len() => Ok(answers),
            Ok(_) => Err(Error::new(ErrorKind::Store, Outcome::MayHave)
                .with_message("the store did not answer every renewal of a batch")),
            Err(late) => Err(late),
        };
        let answers = answers.unwrap_or_else(|error| vec![Err(error); batch.len()]);
        let size = batch.len();
        for (renewal, result) in batch.into_iter().zip(answers) {
            // A contention that has ended does not want to know.
            let _ = renewal.reply.send(Event::Renewed {
                nonce: renewal.held.nonce,
                sent,
                batch: size,
                result,
            });
        }
    }

    fn renewals(&self) -> MutexGuard<'_, DueRenewals> {
        self.0
            .renewals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

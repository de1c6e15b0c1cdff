//! Owning: renewal, loss, and letting the local side end.

use std::time::Duration;

use super::super::plan::{Effect, Finish, Stop};
use super::super::reading::Reading;
use super::super::wake;
use super::{Freeing, Machine, State};
use crate::backend::{Answer, Bid, Held, Nonce};
use crate::clock::Moment;
use crate::error::{ErrorKind, LossCause, Result};
use crate::model::LeaseTerms;

#[derive(Debug)]
pub(super) struct Owning {
    bid: Bid,
    held: Held,
    /// Some attempt's outcome was never known.
    orphan: bool,
    /// When the local side stops owning.
    pub(super) deadline: Moment,
    /// After this the store certainly has no lease of ours.
    lease_over: Moment,
    failures: u32,
    max_batch: usize,
    /// Stopped: until when the local side may take to end.
    quiesce_until: Option<Moment>,
}

/// The tenure is over; the local side has been told and has not ended yet.
#[derive(Debug)]
pub(super) struct Quieting {
    bid: Bid,
    held: Held,
    orphan: bool,
    lease_over: Moment,
    cause: LossCause,
    /// Until when to wait for it, once stopped.
    pub(super) until: Option<Moment>,
}

impl Owning {
    pub(super) fn new(
        bid: Bid,
        held: Held,
        orphan: bool,
        deadline: Moment,
        lease_over: Moment,
    ) -> Self {
        Self {
            bid,
            held,
            orphan,
            deadline,
            lease_over,
            failures: 0,
            max_batch: usize::MAX,
            quiesce_until: None,
        }
    }

    pub(super) fn wake_at(&self) -> Moment {
        self.quiesce_until
            .map_or(self.deadline, |until| until.min(self.deadline))
    }
}

/// How long a grant or renewal counts from when it was asked for: what the
/// store says remains, at most the lease, less the margin. A grant that is
/// found again after a lost answer has less left than a new one.
pub(super) fn valid_for(terms: &LeaseTerms, answer: &Answer) -> Duration {
    let remains = answer
        .owner()
        .remaining(answer.now())
        .unwrap_or(terms.lease());
    remains.min(terms.lease()).saturating_sub(terms.margin())
}

/// How long after it was asked for a grant or renewal is to be renewed: as the
/// terms say, and sooner where less than a whole lease remains, so that there
/// is always room to retry.
pub(super) fn renew_after(terms: &LeaseTerms, answer: &Answer) -> Duration {
    let remains = valid_for(terms, answer) + terms.margin();
    terms.renew_after().min(remains * 2 / 3)
}

impl Machine {
    /// Whether the present tenure is the one that the bid of `nonce` won.
    pub(super) fn owns(&self, nonce: Nonce) -> bool {
        matches!(&self.state, State::Owning(owning) if owning.held.nonce == nonce)
    }

    pub(super) fn ask_renewal(&mut self, at: Moment) {
        let State::Owning(owning) = &self.state else {
            return;
        };
        self.effects.push(Effect::Renew {
            held: owning.held.clone(),
            at,
            deadline: owning.deadline,
            max_batch: owning.max_batch,
        });
    }

    pub(super) fn renewed(
        &mut self,
        now: Moment,
        sent_at: Moment,
        batch: usize,
        result: Result<Answer>,
    ) {
        let State::Owning(owning) = &mut self.state else {
            return;
        };
        match result {
            Ok(answer) if answer.is_won() => {
                owning.lease_over = now + self.plan.terms.lease();
                owning.deadline = sent_at + valid_for(&self.plan.terms, &answer);
                owning.failures = 0;
                owning.max_batch = usize::MAX;
                let deadline = owning.deadline;
                if now >= deadline {
                    return self.lose(now, LossCause::Deadline);
                }
                let reading = Reading {
                    sent_at,
                    heard_at: now,
                    store: answer.now(),
                };
                self.effects.push(Effect::Extend { deadline, reading });
                self.ask_renewal(sent_at + renew_after(&self.plan.terms, &answer));
            }
            Ok(answer) => {
                let owner = answer.owner().clone();
                self.lose(now, LossCause::Taken);
                self.effects.push(Effect::Observe(owner));
            }
            Err(error) => {
                if error.may_have_happened() {
                    owning.lease_over = now + self.plan.terms.lease();
                }
                if error.kind() == ErrorKind::Timeout {
                    // Perhaps one name of the batch hangs: find out which.
                    owning.max_batch = batch.div_ceil(2).max(1);
                }
                owning.failures = owning.failures.saturating_add(1);
                let left = owning.deadline.since(now);
                let pause = wake::renewal_backoff(owning.failures, self.dice.roll(), left);
                self.ask_renewal(now + pause);
                self.effects.push(Effect::Trouble(error));
            }
        }
    }

    /// The tenure is over without our wish.
    pub(super) fn lose(&mut self, now: Moment, cause: LossCause) {
        let State::Owning(owning) = &self.state else {
            return;
        };
        let told = owning.quiesce_until.is_some();
        let (bid, held, orphan) = (owning.bid.clone(), owning.held.clone(), owning.orphan);
        let asked = self.stop.filter(|stop| *stop != Stop::LastTerm);
        let until = asked.map(|_| now + self.plan.quiesce);
        // A renewal may be under way, and be applied late.
        let lease_over = owning.lease_over.max(now + self.plan.terms.lease());
        self.effects
            .extend([Effect::StopRenewing, Effect::End(cause)]);
        if !told {
            let term = self.term;
            self.effects.push(Effect::Quiesce { term, cause });
        }
        self.state = State::Quieting(Quieting {
            bid,
            held,
            orphan,
            lease_over,
            cause,
            until,
        });
    }

    /// Stopped while owning: the local side ends first, renewal goes on.
    pub(super) fn begin_quiesce(&mut self, now: Moment, stop: Stop) {
        let State::Owning(owning) = &mut self.state else {
            return;
        };
        owning.quiesce_until = Some(now + self.plan.quiesce);
        let (term, cause) = (self.term, stop.cause());
        self.effects.push(Effect::Quiesce { term, cause });
    }

    /// Ends the tenure and releases the grant.
    fn give_back(&mut self, now: Moment, cause: LossCause) {
        let State::Owning(owning) = &self.state else {
            return;
        };
        self.effects
            .extend([Effect::StopRenewing, Effect::End(cause)]);
        let then = self.then(Finish::Released);
        let (held, bid) = (owning.held.clone(), owning.bid.clone());
        let until = owning.lease_over.max(now + self.plan.terms.lease());
        let freeing = Freeing::release(held, bid, owning.orphan, until, then);
        self.free(now, freeing);
    }

    /// The local side has ended: now the store may give it to others.
    pub(super) fn quiesced(&mut self, now: Moment) {
        match &self.state {
            State::Owning(_) => {
                let cause = self.stop.map_or(LossCause::Released, Stop::cause);
                self.give_back(now, cause);
            }
            State::Quieting(quieting) => {
                let finish = Finish::Lost(quieting.cause);
                let (bid, orphan) = (quieting.bid.clone(), quieting.orphan);
                if quieting.cause == LossCause::Taken || now >= quieting.lease_over {
                    if orphan {
                        self.effects.push(Effect::TidyLater(bid));
                    }
                    return self.next_term(now, finish);
                }
                let (held, until) = (quieting.held.clone(), quieting.lease_over);
                let freeing = Freeing::release(held, bid, orphan, until, self.then(finish));
                self.free(now, freeing);
            }
            _ => {}
        }
    }

    /// Nobody has picked it up: it goes back, and nobody bids again before
    /// somebody is there.
    pub(super) fn unclaimed(&mut self, now: Moment) {
        // Whoever came too late for it may have said so before this was heard.
        self.unattended = self.attended < self.term;
        self.give_back(now, LossCause::Unclaimed);
    }

    /// The local side has taken too long: it may still run, so nothing is
    /// released; the lease runs out by itself.
    pub(super) fn quiesce_over(&mut self, now: Moment) {
        let State::Owning(owning) = &self.state else {
            return;
        };
        if owning.quiesce_until.is_some_and(|until| now >= until) {
            let cause = self.stop.map_or(LossCause::Released, Stop::cause);
            self.effects
                .extend([Effect::StopRenewing, Effect::End(cause)]);
            self.finish(Finish::StillRunning);
        }
    }
}

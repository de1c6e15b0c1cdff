//! Owning: renewal, loss, and letting the local side end.

use std::sync::Arc;
use std::time::Duration;

use super::super::event::{Effect, Event, Finish, Stop};
use super::super::store_clock::ClockReading;
use super::super::wake;
use super::freeing::Freeing;
use super::machine::{Course, MachineState};
use super::quieting::Quieting;
use crate::backend::{Answer, Bid, Nonce};
use crate::clock::Moment;
use crate::error::{ErrorKind, LossCause, Result};
use crate::model::{FencingToken, LeaseTerms};

/// What the store gave, and what it may still hold of it.
#[derive(Debug)]
pub(super) struct Grant {
    /// The bid that won it.
    pub(super) bid: Arc<Bid>,
    pub(super) token: FencingToken,
    /// Some attempt's outcome was never known.
    pub(super) orphan: bool,
    /// After this the store certainly has no lease of ours.
    pub(super) lease_over: Moment,
}

#[derive(Debug)]
pub(super) struct Owning {
    grant: Grant,
    /// When the local side stops owning.
    deadline: Moment,
    failures: u32,
    max_batch: usize,
    /// Stopped: until when the local side may take to end.
    quiesce_until: Option<Moment>,
}

/// How long a grant or renewal counts from when it was asked for: what the
/// store says remains, at most the lease, less the margin. A grant that is
/// found again after a lost answer has less left than a new one.
#[inline]
pub(super) fn valid_for(terms: &LeaseTerms, answer: &Answer) -> Duration {
    let remains = answer
        .owner()
        .remaining(answer.now())
        .unwrap_or(terms.lease());
    remains.min(terms.lease()).saturating_sub(terms.margin())
}

/// How long after it was asked for a grant or renewal is to be renewed that is
/// [valid](valid_for) for so long: as the terms say, and sooner where less than a
/// whole lease remains, so that there is always room to retry.
#[inline]
pub(super) fn renew_after(terms: &LeaseTerms, valid_for: Duration) -> Duration {
    let remains = valid_for + terms.margin();
    terms.renew_after().min(remains * 2 / 3)
}

impl Owning {
    #[inline]
    pub(super) fn new(grant: Grant, deadline: Moment) -> Self {
        Self {
            grant,
            deadline,
            failures: 0,
            max_batch: usize::MAX,
            quiesce_until: None,
        }
    }

    pub(super) fn deadline(&self) -> Moment {
        self.deadline
    }

    pub(super) fn wake_at(&self) -> Moment {
        self.quiesce_until
            .map_or(self.deadline, |until| until.min(self.deadline))
    }

    /// Whether it is the tenure that the bid of `nonce` won.
    pub(super) fn is_of(&self, nonce: Nonce) -> bool {
        self.grant.bid.nonce == nonce
    }

    /// Whether its time is over, by the clock or by the word of one who looked.
    pub(super) fn is_over(&self, course: &Course, now: Moment, event: &Event) -> bool {
        now >= self.deadline
            || matches!(event, Event::Expired { tenure_number } if *tenure_number == course.tenure_number)
    }

    pub(super) fn ask_renewal(&self, course: &mut Course, at: Moment) {
        course.want(Effect::Renew {
            at,
            deadline: self.deadline,
            max_batch: self.max_batch,
        });
    }

    pub(super) fn renewed(
        mut self,
        course: &mut Course,
        now: Moment,
        sent_at: Moment,
        batch: usize,
        result: Result<Answer>,
    ) -> MachineState {
        let terms = course.settings.terms;
        match result {
            Ok(answer) if answer.is_won() => {
                self.grant.lease_over = now + terms.lease();
                let valid_for = valid_for(&terms, &answer);
                self.deadline = sent_at + valid_for;
                self.failures = 0;
                self.max_batch = usize::MAX;
                if now >= self.deadline {
                    return self.lose(course, now, LossCause::Deadline);
                }
                course.want(Effect::Extend {
                    deadline: self.deadline,
                    reading: ClockReading {
                        sent_at,
                        heard_at: now,
                        store: answer.now(),
                    },
                });
                self.ask_renewal(course, sent_at + renew_after(&terms, valid_for));
            }
            Ok(answer) => {
                let state = self.lose(course, now, LossCause::Taken);
                course.want(Effect::Observe(answer.owner().clone()));
                return state;
            }
            Err(error) => {
                if error.may_have_happened() {
                    self.grant.lease_over = now + terms.lease();
                }
                if error.kind() == ErrorKind::Timeout {
                    // Perhaps one name of the batch hangs: find out which.
                    self.max_batch = batch.div_ceil(2).max(1);
                }
                self.failures = self.failures.saturating_add(1);
                let left = self.deadline.since(now);
                let pause = wake::renewal_backoff(self.failures, course.random.fraction(), left);
                self.ask_renewal(course, now + pause);
                course.want(Effect::Trouble(error));
            }
        }
        MachineState::Owning(self)
    }

    /// The tenure is over without our wish.
    pub(super) fn lose(
        mut self,
        course: &mut Course,
        now: Moment,
        cause: LossCause,
    ) -> MachineState {
        // A renewal may be under way, and be applied late.
        let latest = now + course.settings.terms.lease();
        self.grant.lease_over = self.grant.lease_over.max(latest);
        course.want(Effect::StopRenewing);
        course.want(Effect::End(cause));
        if self.quiesce_until.is_none() {
            let tenure_number = course.tenure_number;
            course.want(Effect::Quiesce {
                tenure_number,
                cause,
            });
        }
        let asked = course.stop.filter(|stop| *stop != Stop::LastTenure);
        let until = asked.map(|_| now + course.settings.quiesce);
        MachineState::Quieting(Quieting::new(self.grant, cause, until))
    }

    /// The local side ends first; renewal goes on.
    pub(super) fn stopped(mut self, course: &mut Course, now: Moment, stop: Stop) -> MachineState {
        self.quiesce_until = Some(now + course.settings.quiesce);
        let (tenure_number, cause) = (course.tenure_number, stop.cause());
        course.want(Effect::Quiesce {
            tenure_number,
            cause,
        });
        MachineState::Owning(self)
    }

    /// The local side has ended.
    #[inline]
    pub(super) fn quiesced(self, course: &mut Course, now: Moment) -> MachineState {
        let cause = course.stop.map_or(LossCause::Released, Stop::cause);
        self.give_back(course, now, cause)
    }

    /// The holder has not picked it up: it is looked at again `until` then, or
    /// goes back, and there is no other bid before the holder is there.
    pub(super) fn unclaimed(
        self,
        course: &mut Course,
        now: Moment,
        until: Option<Moment>,
    ) -> MachineState {
        if let Some(until) = until {
            self.ask_renewal(course, until);
            return MachineState::Owning(self);
        }
        // A holder that came too late for it may have said so before this was
        // heard.
        course.unattended = course.attended < course.tenure_number;
        self.give_back(course, now, LossCause::Unclaimed)
    }

    /// Ends the tenure and releases the grant.
    #[inline]
    fn give_back(mut self, course: &mut Course, now: Moment, cause: LossCause) -> MachineState {
        course.want(Effect::StopRenewing);
        course.want(Effect::End(cause));
        let latest = now + course.settings.terms.lease();
        self.grant.lease_over = self.grant.lease_over.max(latest);
        let then = course.then(Finish::Released);
        Freeing::release(course, now, self.grant, then)
    }

    /// The local side may have taken too long: it may still run, so nothing is
    /// released; the lease runs out by itself.
    pub(super) fn woken(self, course: &mut Course, now: Moment) -> MachineState {
        if self.quiesce_until.is_none_or(|until| now < until) {
            return MachineState::Owning(self);
        }
        let cause = course.stop.map_or(LossCause::Released, Stop::cause);
        course.want(Effect::StopRenewing);
        course.want(Effect::End(cause));
        course.finish(Finish::StillRunning)
    }
}

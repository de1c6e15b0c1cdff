//! Wanting to own: attempts, refusals, hints, failures.

use std::sync::Arc;
use std::time::Duration;

use super::super::event::{Call, Effect, Finish};
use super::super::settings::Mode;
use super::super::store_clock::ClockReading;
use super::super::wake;
use super::freeing::Freeing;
use super::machine::{Course, MachineState, Then};
use super::owning::{Grant, Owning, renew_after, valid_for};
use crate::backend::{Answer, Bid, Hint, Nonce};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result, Retry};

#[derive(Debug)]
pub(super) struct Bidding {
    bid: Arc<Bid>,
    /// When the attempt under way was sent.
    in_flight: Option<Moment>,
    /// When to look again without a hint.
    look_at: Moment,
    looked_at: Option<Moment>,
    /// A hint came while an attempt was under way, perhaps too late for it.
    hinted: bool,
    /// The same of a broadcast, which hurries less.
    overheard: bool,
    subscribed: bool,
    /// Stands in the store's queue, as last answered.
    queued: bool,
    /// The outcome of some attempt is unknown: it may have won or queued.
    orphan: bool,
    failures: u32,
}

impl Bidding {
    /// A new bid: new nonce, first attempt.
    pub(super) fn begin(course: &mut Course, now: Moment) -> MachineState {
        let nonce = course.random.nonce();
        Self::begin_under(nonce, course, now)
    }

    /// The same under this nonce.
    #[inline]
    pub(super) fn begin_under(nonce: Nonce, course: &mut Course, now: Moment) -> MachineState {
        let settings = &course.settings;
        let nonce = nonce.wanted_for(settings.purpose);
        let (name, contender) = (settings.name.clone(), settings.contender.clone());
        let mut bid = Bid::under(nonce, name, contender, settings.terms);
        bid.unique_id = settings.unique_id;
        bid.shares_fence = settings.shares_fence;
        bid.queue = settings.mode != Mode::Try;
        bid.seen = course.seen;
        let bidding = Self {
            bid: Arc::new(bid),
            in_flight: None,
            look_at: Moment::from_nanos(0),
            looked_at: None,
            hinted: false,
            overheard: false,
            subscribed: false,
            queued: false,
            orphan: std::mem::take(&mut course.left_behind),
            failures: 0,
        };
        bidding.attempt(course, now)
    }

    /// Nothing to wake for while an attempt is under way: its limit is the
    /// driver's.
    pub(super) fn wake_at(&self) -> Option<Moment> {
        self.in_flight.is_none().then_some(self.look_at)
    }

    pub(super) fn woken(self, course: &mut Course, now: Moment) -> MachineState {
        if self.wake_at().is_some_and(|at| now >= at) {
            return self.attempt(course, now);
        }
        MachineState::Bidding(self)
    }

    fn attempt(mut self, course: &mut Course, now: Moment) -> MachineState {
        self.in_flight = Some(now);
        self.looked_at = Some(now);
        self.hinted = false;
        self.overheard = false;
        course.call(Call::Acquire(Arc::clone(&self.bid)));
        MachineState::Bidding(self)
    }

    #[inline]
    pub(super) fn answered(
        mut self,
        course: &mut Course,
        now: Moment,
        result: Result<Answer>,
    ) -> MachineState {
        let Some(sent_at) = self.in_flight.take() else {
            return course.impossible("an answer to a bid", MachineState::Bidding(self));
        };
        match result {
            Ok(answer) if answer.is_won() => self.won(course, now, sent_at, &answer),
            Ok(answer) => self.refused(course, now, &answer),
            Err(error) => self.failed(course, now, error),
        }
    }

    fn won(
        self,
        course: &mut Course,
        now: Moment,
        sent_at: Moment,
        answer: &Answer,
    ) -> MachineState {
        let terms = course.settings.terms;
        let Some(token) = answer.token() else {
            let error = Error::new(ErrorKind::Store, Outcome::Did)
                .with_message("the store granted the mutex without a token");
            return self.failed(course, now, error);
        };
        course.seen = course.seen.max(Some(token));
        if self.subscribed {
            course.want(Effect::Unsubscribe);
        }
        let grant = Grant {
            bid: self.bid,
            token,
            orphan: self.orphan,
            lease_over: now + terms.lease(),
        };
        let valid_for = valid_for(&terms, answer);
        let deadline = sent_at + valid_for;
        if now + terms.margin() >= deadline {
            // Won, and over before we heard of it: give it back and go on.
            let then = if course.settings.mode == Mode::Try {
                Then::Finish(Finish::NotOwner)
            } else {
                Then::bid_at_once()
            };
            return Freeing::release(course, now, grant, then);
        }
        course.tenure_number += 1;
        course.want(Effect::Begin {
            tenure_number: course.tenure_number,
            bid: Arc::clone(&grant.bid),
            token,
            owner: answer.owner().clone(),
            deadline,
            reading: ClockReading {
                sent_at,
                heard_at: now,
                store: answer.now(),
            },
        });
        let owning = Owning::new(grant, deadline);
        owning.ask_renewal(course, sent_at + renew_after(&terms, valid_for));
        MachineState::Owning(owning)
    }

    fn refused(mut self, course: &mut Course, now: Moment, answer: &Answer) -> MachineState {
        self.failures = 0;
        let bid = Arc::make_mut(&mut self.bid);
        bid.seen = bid.seen.max(answer.owner().token());
        course.seen = course.seen.max(bid.seen);
        self.queued = answer.place().is_some();
        if let Some(place) = answer.place() {
            bid.score = Some(place.score.clone());
        }
        course.want(Effect::Observe(answer.owner().clone()));
        if course.settings.mode == Mode::Try {
            return self.undo(course, now, Finish::NotOwner);
        }
        if !self.subscribed {
            // What happened before we listened is found by looking once more.
            self.subscribed = true;
            course.want(Effect::Subscribe);
            return self.attempt(course, now);
        }
        if self.hinted {
            return self.attempt(course, now);
        }
        let fraction = course.random.fraction();
        let pause = wake::after_refusal(&course.settings, &self.bid.contender, answer, fraction);
        self.look_at = now + pause;
        if self.overheard {
            self.look_at = self.look_at.min(self.after_broadcast(now));
        }
        MachineState::Bidding(self)
    }

    fn failed(mut self, course: &mut Course, now: Moment, error: Error) -> MachineState {
        self.orphan |= error.may_have_happened();
        self.failures = self.failures.saturating_add(1);
        let is_hopeless = error.retry() == Retry::Never;
        match course.settings.mode {
            Mode::Try => return self.undo(course, now, Finish::Failed(error)),
            Mode::Once if is_hopeless => return self.undo(course, now, Finish::Failed(error)),
            _ => {}
        }
        let pause = match error.retry() {
            Retry::AtOnce if self.failures <= 3 => Duration::ZERO,
            _ => wake::backoff(self.failures, course.random.fraction()),
        };
        self.look_at = now + pause;
        course.want(Effect::Trouble(error));
        MachineState::Bidding(self)
    }

    pub(super) fn hinted(mut self, course: &mut Course, now: Moment, hint: Hint) -> MachineState {
        let at = match hint {
            Hint::Turn => now,
            Hint::Resumed => now + wake::RESUME_SPREAD.mul_f64(course.random.fraction()),
            _ => self.after_broadcast(now),
        };
        if self.in_flight.is_some() {
            match hint {
                Hint::Changed => self.overheard = true,
                _ => self.hinted = true,
            }
            return MachineState::Bidding(self);
        }
        // A broadcast does not shorten the pause after a failure.
        if (self.failures == 0 || hint != Hint::Changed) && at < self.look_at {
            self.look_at = at;
        }
        if self.look_at <= now {
            return self.attempt(course, now);
        }
        MachineState::Bidding(self)
    }

    /// When a broadcast is looked into: it reaches every candidate, and not all of
    /// them may come at once.
    fn after_broadcast(&self, now: Moment) -> Moment {
        self.looked_at
            .map_or(now, |at| (at + wake::BROADCAST_LOOK).max(now))
    }

    /// Stopped while wanting.
    pub(super) fn withdrawn(mut self, course: &mut Course, now: Moment) -> MachineState {
        if self.in_flight.take().is_some() {
            self.orphan = true;
            course.want(Effect::DropCall);
        }
        if self.subscribed {
            course.want(Effect::Unsubscribe);
        }
        self.undo(course, now, Finish::NotOwner)
    }

    /// Undoes what the bid may have left in the store, if anything, and ends.
    fn undo(self, course: &mut Course, now: Moment, finish: Finish) -> MachineState {
        if !self.orphan && !self.queued {
            return course.finish(finish);
        }
        Freeing::leave(course, now, self.bid, self.orphan, Then::Finish(finish))
    }
}

//! Giving back, stubbornly: until the store confirms or the lease is over.

use std::sync::Arc;

use super::super::event::{Call, Effect, Finish, GivenBack};
use super::super::wake;
use super::machine::{Course, MachineState, Then};
use super::owning::Grant;
use crate::backend::{Answer, Bid};
use crate::clock::Moment;
use crate::error::{Error, LossCause, Result, Retry};
use crate::model::FencingToken;

#[derive(Debug)]
pub(super) struct Freeing {
    bid: Arc<Bid>,
    /// Of the grant to release; without one the bid is undone.
    token: Option<FencingToken>,
    orphan: bool,
    /// After this nothing of ours is left in the store.
    until: Moment,
    in_flight: bool,
    next_try: Moment,
    failures: u32,
    /// A try whose answer was lost may have done it.
    maybe_done: bool,
    then: Then,
}

impl Freeing {
    /// Gives `grant` back.
    pub(super) fn release(
        course: &mut Course,
        now: Moment,
        grant: Grant,
        then: Then,
    ) -> MachineState {
        let Grant {
            bid,
            token,
            orphan,
            lease_over,
        } = grant;
        Self::new(bid, Some(token), orphan, lease_over, then).call(course, now)
    }

    /// Undoes what `bid` may have won or queued.
    pub(super) fn leave(
        course: &mut Course,
        now: Moment,
        bid: Arc<Bid>,
        orphan: bool,
        then: Then,
    ) -> MachineState {
        let until = now + course.settings.terms.lease();
        Self::new(bid, None, orphan, until, then).call(course, now)
    }

    fn new(
        bid: Arc<Bid>,
        token: Option<FencingToken>,
        orphan: bool,
        until: Moment,
        then: Then,
    ) -> Self {
        Self {
            bid,
            token,
            orphan,
            until,
            in_flight: false,
            next_try: until,
            failures: 0,
            maybe_done: false,
            then,
        }
    }

    /// Whether what it undoes has failed for good.
    fn is_hopeless(&self) -> bool {
        matches!(self.then, Then::Finish(Finish::Failed(_)))
    }

    pub(super) fn wake_at(&self) -> Moment {
        if self.in_flight {
            self.until
        } else {
            self.next_try.min(self.until)
        }
    }

    fn call(mut self, course: &mut Course, now: Moment) -> MachineState {
        self.in_flight = true;
        self.next_try = now;
        course.call(match self.token {
            Some(token) => Call::Release {
                bid: Arc::clone(&self.bid),
                token,
                is_last: matches!(self.then, Then::Finish(_)),
            },
            None => Call::Leave(Arc::clone(&self.bid)),
        });
        MachineState::Freeing(self)
    }

    pub(super) fn woken(mut self, course: &mut Course, now: Moment) -> MachineState {
        if now >= self.until {
            if self.in_flight {
                course.want(Effect::DropCall);
            }
            // A place in a store's queue may last for longer than a lease, and
            // the store may not even have been told to undo it.
            self.orphan |= self.token.is_none();
            return self.done(course, now, Some(Finish::Unconfirmed));
        }
        if !self.in_flight && now >= self.next_try {
            return self.call(course, now);
        }
        MachineState::Freeing(self)
    }

    #[inline]
    pub(super) fn released(
        mut self,
        course: &mut Course,
        now: Moment,
        result: Result<Answer>,
    ) -> MachineState {
        self.in_flight = false;
        match result {
            Ok(answer) if answer.is_won() || self.maybe_done => self.done(course, now, None),
            // The grant had gone before we gave it back.
            Ok(_) => self.done(course, now, Some(Finish::Lost(LossCause::Taken))),
            Err(error) => self.failed(course, now, error),
        }
    }

    pub(super) fn left(
        mut self,
        course: &mut Course,
        now: Moment,
        result: Result<()>,
    ) -> MachineState {
        self.in_flight = false;
        match result {
            Ok(()) => self.done(course, now, None),
            // The user waits for the bad word, and for nothing better.
            Err(error) if error.retry() == Retry::Never && self.is_hopeless() => {
                self.done(course, now, None)
            }
            Err(error) => self.failed(course, now, error),
        }
    }

    fn failed(mut self, course: &mut Course, now: Moment, error: Error) -> MachineState {
        self.maybe_done |= error.may_have_happened();
        self.failures = self.failures.saturating_add(1);
        self.next_try = now + wake::backoff(self.failures, course.random.fraction());
        course.want(Effect::Trouble(error));
        MachineState::Freeing(self)
    }

    /// Given back, or not to be had any more; `worse` replaces the good end of
    /// a release.
    #[inline]
    fn done(self, course: &mut Course, now: Moment, worse: Option<Finish>) -> MachineState {
        if self.orphan {
            course.tidy_later(self.bid, &self.then);
        }
        if self.token.is_some() {
            course.want(Effect::GivenBack(match worse {
                None => GivenBack::Confirmed,
                Some(Finish::Lost(cause)) => GivenBack::Lost(cause),
                Some(_) => GivenBack::Unconfirmed,
            }));
        }
        let then = match (self.then, worse) {
            (Then::Finish(Finish::Released), Some(worse)) => Then::Finish(worse),
            (then, _) => then,
        };
        course.go_on(now, then)
    }
}

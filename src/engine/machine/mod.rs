//! The contention of one contender for one mutex, as a pure state machine:
//! state and event in, state and effects out. No clock, no I/O, no waiting.
//!
//! ```text
//!            ┌─────────────── the next tenure ───────────────┐
//!            ▼                                               │
//! Resting ▶ Bidding ──won──▶ Owning ──lost──▶ Quieting ──▶ Freeing ▶ Finished
//!              └───────────── stopped ───────────────────────┘
//! ```
//!
//! Each state is a value that owns its transitions: an event consumes it and
//! gives the next one. What stays the same from state to state is in
//! [`Course`].
//!
//! The moment handed to [`Machine::on`] is read before its effects are carried
//! out, so it is also the `sent_at` of every call that starts there: leases
//! are counted from it, never from an answer.

mod bidding;
mod course;
mod freeing;
mod owning;
mod quieting;

use bidding::Bidding;
use course::{Course, Then};
use freeing::Freeing;
use owning::{Grant, Owning};
use quieting::Quieting;

use super::event::{Effect, Event, Finish, Stop};
use super::random::Random;
use super::settings::ContentionSettings;
use crate::clock::Moment;
use crate::error::LossCause;

#[derive(Debug)]
pub(crate) struct Machine {
    state: State,
    course: Course,
}

#[derive(Debug)]
enum State {
    /// Before a bid.
    Resting {
        until: Moment,
    },
    /// The holder would not notice if it won.
    Idle,
    /// Wants to own.
    Bidding(Bidding),
    /// Owns.
    Owning(Owning),
    /// Owns no more; the local side is ending.
    Quieting(Quieting),
    /// Gives back what the store may still hold.
    Freeing(Freeing),
    Finished,
}

impl Machine {
    /// A machine and what it wants first.
    pub(crate) fn start(
        settings: ContentionSettings,
        random: Random,
        now: Moment,
    ) -> (Self, Vec<Effect>) {
        let rest = settings.initial_delay;
        let mut course = Course::new(settings, random);
        let state = course.go_on(now, Then::Bid { rest });
        let effects = course.take_effects();
        (Self { state, course }, effects)
    }

    /// Takes an event at `now`.
    pub(crate) fn on(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        let state = std::mem::replace(&mut self.state, State::Finished);
        self.state = state.on(&mut self.course, now, event);
        self.course.take_effects()
    }

    /// When it wants [`Event::Timer`].
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        match &self.state {
            State::Resting { until } => Some(*until),
            State::Bidding(bidding) => bidding.wake_at(),
            State::Owning(owning) => Some(owning.wake_at()),
            State::Quieting(quieting) => quieting.wake_at(),
            State::Freeing(freeing) => Some(freeing.wake_at()),
            State::Idle | State::Finished => None,
        }
    }

    /// Whether it owns, by its own account.
    pub(crate) fn is_owner(&self) -> bool {
        matches!(self.state, State::Owning(_))
    }

    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.state, State::Finished)
    }
}

impl State {
    fn on(self, course: &mut Course, now: Moment, event: Event) -> Self {
        // A deadline that has passed comes before whatever else happened.
        let state = match self {
            Self::Owning(owning) if owning.is_over(course, now, &event) => {
                owning.lose(course, now, LossCause::Deadline)
            }
            other => other,
        };
        match event {
            Event::Timer => state.timer(course, now),
            Event::Stop(stop) => state.stopped(course, now, stop),
            Event::Abandoned => state
                .stopped(course, now, Stop::Wanted)
                .quiesced(course, now),
            Event::Acquired(result) => match state {
                Self::Bidding(bidding) => bidding.answered(course, now, result),
                other => course.impossible("an answer to a bid", other),
            },
            Event::Released(result) => match state {
                Self::Freeing(freeing) => freeing.released(course, now, result),
                other => course.impossible("an answer to a release", other),
            },
            Event::Left(result) => match state {
                Self::Freeing(freeing) => freeing.left(course, now, result),
                other => course.impossible("an answer to a leave", other),
            },
            Event::Attended { tenure_number } => state.attended(course, now, tenure_number),
            // What follows may come late: it was on its way when the tenure or
            // the bid ended that it was for.
            Event::Hint(hint) => match state {
                Self::Bidding(bidding) => bidding.hinted(course, now, hint),
                other => other,
            },
            Event::Renewed {
                nonce,
                sent,
                batch,
                result,
            } => match state {
                Self::Owning(owning) if owning.is_of(nonce) => {
                    owning.renewed(course, now, sent.now, batch, result)
                }
                other => other,
            },
            Event::Unclaimed { nonce, until } => match state {
                Self::Owning(owning) if owning.is_of(nonce) => owning.unclaimed(course, now, until),
                other => other,
            },
            Event::Quiesced { tenure_number } if tenure_number == course.tenure_number => {
                state.quiesced(course, now)
            }
            Event::Quiesced { .. } | Event::Expired { .. } => state,
        }
    }

    /// The moment may be earlier than the one that was asked for: an event
    /// that came before the timer has moved it.
    fn timer(self, course: &mut Course, now: Moment) -> Self {
        match self {
            Self::Resting { until } if now >= until => Bidding::begin(course, now),
            Self::Bidding(bidding) => bidding.woken(course, now),
            Self::Owning(owning) => owning.woken(course, now),
            Self::Quieting(quieting) => quieting.woken(course, now),
            Self::Freeing(freeing) => freeing.woken(course, now),
            other => other,
        }
    }

    fn stopped(self, course: &mut Course, now: Moment, stop: Stop) -> Self {
        if !course.is_stopped_by(stop) {
            return self;
        }
        match self {
            Self::Owning(_) | Self::Quieting(_) if stop == Stop::LastTenure => self,
            Self::Resting { .. } | Self::Idle => course.finish(Finish::NotOwner),
            Self::Bidding(bidding) => bidding.withdrawn(course, now),
            Self::Owning(owning) => owning.stopped(course, now, stop),
            Self::Quieting(quieting) => quieting.stopped(course, now),
            // Nothing new begins after it.
            Self::Freeing(_) | Self::Finished => self,
        }
    }

    /// The local side has ended: now the store may give it to others.
    fn quiesced(self, course: &mut Course, now: Moment) -> Self {
        match self {
            Self::Owning(owning) => owning.quiesced(course, now),
            Self::Quieting(quieting) => quieting.quiesced(course, now),
            // Of a tenure that went back before its holder came for it.
            other => other,
        }
    }

    /// The user is there again to pick up what is won.
    fn attended(self, course: &mut Course, now: Moment, tenure_number: u64) -> Self {
        course.attended = course.attended.max(tenure_number);
        course.unattended = false;
        match self {
            Self::Idle => Bidding::begin(course, now),
            other => other,
        }
    }
}

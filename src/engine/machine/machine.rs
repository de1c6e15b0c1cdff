//! [`Machine`]: the state of a contention, and what stays the same from state to
//! state.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use super::super::event::{Call, Effect, Event, Finish, Stop};
use super::super::random::Random;
use super::super::settings::{ContentionSettings, Mode};
use super::bidding::Bidding;
use super::freeing::Freeing;
use super::owning::Owning;
use super::quieting::Quieting;
use crate::backend::{Bid, Nonce};
use crate::clock::Moment;
use crate::error::LossCause;
use crate::model::FencingToken;

thread_local! {
    /// An empty list that effects were carried out of: with it an event costs
    /// no allocation.
    static SPARE: Cell<Vec<Effect>> = const { Cell::new(Vec::new()) };
}

/// Keeps `effects`, which have been carried out, for what is wanted next.
#[inline]
pub(crate) fn keep_for_the_next(mut effects: Vec<Effect>) {
    effects.clear();
    // A thread that ends has no next.
    let _ = SPARE.try_with(|spare| spare.set(effects));
}

#[derive(Debug)]
pub(crate) struct Machine {
    state: MachineState,
    course: Course,
}

#[derive(Debug)]
pub(super) enum MachineState {
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
    /// A machine and what it wants first. A first bid that is made at once has
    /// `nonce`, if there is one.
    #[inline]
    pub(crate) fn start(
        settings: ContentionSettings,
        random: Random,
        nonce: Option<Nonce>,
        now: Moment,
    ) -> (Self, Vec<Effect>) {
        let rest = settings.initial_delay;
        let mut course = Course::new(settings, random);
        let state = if rest.is_zero() {
            let nonce = course.random.nonce_or(nonce);
            Bidding::begin_under(nonce, &mut course, now)
        } else {
            course.go_on(now, Then::Bid { rest })
        };
        let effects = course.take_effects();
        (Self { state, course }, effects)
    }

    /// Takes an event at `now`.
    #[inline]
    pub(crate) fn on(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        let state = std::mem::replace(&mut self.state, MachineState::Finished);
        self.state = state.on(&mut self.course, now, event);
        self.course.take_effects()
    }

    /// When it wants [`Event::Timer`].
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        match &self.state {
            MachineState::Resting { until } => Some(*until),
            MachineState::Bidding(bidding) => bidding.wake_at(),
            MachineState::Owning(owning) => Some(owning.wake_at()),
            MachineState::Quieting(quieting) => quieting.wake_at(),
            MachineState::Freeing(freeing) => Some(freeing.wake_at()),
            MachineState::Idle | MachineState::Finished => None,
        }
    }

    /// The moment at which it owns no more, unless it is renewed.
    pub(crate) fn owns_until(&self) -> Option<Moment> {
        match &self.state {
            MachineState::Owning(owning) => Some(owning.deadline()),
            _ => None,
        }
    }

    /// Whether it owns, by its own account.
    pub(crate) fn is_owner(&self) -> bool {
        matches!(self.state, MachineState::Owning(_))
    }

    /// Whether it owns by the bid of this nonce. What is told of another is about a
    /// tenure that has ended, and must not pass for news of this one.
    pub(crate) fn owns_by(&self, nonce: Nonce) -> bool {
        matches!(&self.state, MachineState::Owning(owning) if owning.is_of(nonce))
    }

    /// Whether its tenure is over and the local side has not ended.
    pub(crate) fn is_quieting(&self) -> bool {
        matches!(self.state, MachineState::Quieting(_))
    }

    /// Whether it asks nothing of the store until its user says something.
    pub(crate) fn tries_nothing(&self) -> bool {
        matches!(self.state, MachineState::Idle | MachineState::Quieting(_))
    }

    pub(crate) fn settings(&self) -> &ContentionSettings {
        &self.course.settings
    }

    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.state, MachineState::Finished)
    }
}

impl MachineState {
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
            Event::Quiesced { .. } | Event::Expired { .. } | Event::Limited(_) => state,
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

/// The course of one contention: what it is to do, and what has come of it.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) settings: ContentionSettings,
    pub(super) random: Random,
    effects: Vec<Effect>,
    /// Counts the tenures: the end of an earlier one must not end this one.
    pub(super) tenure_number: u64,
    /// Its user wants it to end; nothing new begins.
    pub(super) stop: Option<Stop>,
    /// Its user did not pick up what was won: nothing new begins before it is
    /// there again.
    pub(super) unattended: bool,
    /// The number of the last tenure that its user came for, late.
    pub(super) attended: u64,
    /// The largest token of the mutex that it has seen, in whatever bid. What is
    /// found under its id is its own only if it is newer.
    pub(super) seen: Option<FencingToken>,
    /// A request of an earlier bid may be applied late, and only the end of the
    /// next bid may undo it.
    pub(super) left_behind: bool,
}

/// What follows a tenure, or a bid.
#[derive(Debug)]
pub(super) enum Then {
    /// Stand again, after a rest.
    Bid {
        rest: Duration,
    },
    Finish(Finish),
}

impl Then {
    pub(super) fn bid_at_once() -> Self {
        Self::Bid {
            rest: Duration::ZERO,
        }
    }
}

impl Course {
    #[inline]
    pub(super) fn new(settings: ContentionSettings, random: Random) -> Self {
        Self {
            settings,
            random,
            effects: Vec::new(),
            tenure_number: 0,
            stop: None,
            unattended: false,
            attended: 0,
            seen: None,
            left_behind: false,
        }
    }

    #[inline]
    pub(super) fn want(&mut self, effect: Effect) {
        if self.effects.capacity() == 0 {
            self.effects = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        self.effects.push(effect);
    }

    pub(super) fn call(&mut self, call: Call) {
        let limit = self.settings.terms.call_timeout();
        self.want(Effect::Call(call, limit));
    }

    #[inline]
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether `stop` changes anything: only a last tenure can still be asked to
    /// end.
    pub(super) fn is_stopped_by(&mut self, stop: Stop) -> bool {
        if self.stop.is_some_and(|before| before != Stop::LastTenure) {
            return false;
        }
        self.stop = Some(stop);
        true
    }

    /// What follows a tenure that ended with `finish`.
    pub(super) fn then(&self, finish: Finish) -> Then {
        let again = self.settings.mode == Mode::Always && self.stop.is_none();
        match finish {
            finish if !again => Then::Finish(finish),
            // Given up freely, so that another may have it.
            Finish::Released => Then::Bid {
                rest: self.settings.courtesy,
            },
            _ => Then::bid_at_once(),
        }
    }

    /// A tenure or a bid is over and nothing of it is left.
    pub(super) fn go_on(&mut self, now: Moment, then: Then) -> MachineState {
        match then {
            Then::Finish(finish) => self.finish(finish),
            Then::Bid { .. } if self.stop.is_some() => self.finish(Finish::NotOwner),
            Then::Bid { .. } if self.unattended => MachineState::Idle,
            Then::Bid { rest } if rest.is_zero() => Bidding::begin(self, now),
            Then::Bid { rest } => MachineState::Resting { until: now + rest },
        }
    }

    /// Wants `bid` to be undone once more, later: a request that was given up
    /// may have been applied by then.
    ///
    /// A contender that stands again does so under the same id. To a store that has room
    /// for nothing but the id, the next bid is the same as this one: it is not
    /// told to undo. What was applied late is found by the next bid, or undone
    /// at its end.
    pub(super) fn tidy_later(&mut self, mut bid: Arc<Bid>, then: &Then) {
        let is_last = matches!(then, Then::Finish(_)) || self.stop.is_some();
        if bid.unique_id && !is_last {
            self.left_behind = true;
            Arc::make_mut(&mut bid).unique_id = false;
        }
        self.want(Effect::TidyLater(bid));
    }

    pub(super) fn finish(&mut self, finish: Finish) -> MachineState {
        self.want(Effect::Finish(finish));
        MachineState::Finished
    }

    /// Something came that cannot come in `state`. It changes nothing: the
    /// promises rest on the deadlines. But it is a mistake in this program,
    /// and must be seen.
    pub(super) fn impossible(&self, what: &str, state: MachineState) -> MachineState {
        debug_assert!(false, "{what} came in {state:?}");
        tracing::error!(
            target: "tenure::engine",
            mutex = %self.settings.name,
            contender = %self.settings.contender,
            "{what} came when nothing had been asked: please report this"
        );
        state
    }
}

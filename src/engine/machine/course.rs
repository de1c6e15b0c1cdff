//! What stays the same from state to state.

use std::time::Duration;

use super::super::event::{Call, Effect, Finish, Stop};
use super::super::random::Random;
use super::super::settings::{ContentionSettings, Mode};
use super::{Bidding, State};
use crate::clock::Moment;

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
    pub(super) fn new(settings: ContentionSettings, random: Random) -> Self {
        Self {
            settings,
            random,
            effects: Vec::new(),
            tenure_number: 0,
            stop: None,
            unattended: false,
            attended: 0,
        }
    }

    pub(super) fn want(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn call(&mut self, call: Call) {
        let limit = self.settings.terms.call_timeout();
        self.want(Effect::Call(call, limit));
    }

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
    pub(super) fn go_on(&mut self, now: Moment, then: Then) -> State {
        match then {
            Then::Finish(finish) => self.finish(finish),
            Then::Bid { .. } if self.stop.is_some() => self.finish(Finish::NotOwner),
            Then::Bid { .. } if self.unattended => State::Idle,
            Then::Bid { rest } if rest.is_zero() => Bidding::begin(self, now),
            Then::Bid { rest } => State::Resting { until: now + rest },
        }
    }

    pub(super) fn finish(&mut self, finish: Finish) -> State {
        self.want(Effect::Finish(finish));
        State::Finished
    }

    /// Something came that cannot come in `state`. It changes nothing: the
    /// promises rest on the deadlines. But it is a mistake in this program,
    /// and must be seen.
    pub(super) fn impossible(&self, what: &str, state: State) -> State {
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

//! The contention of one contender for one mutex, as a pure state machine:
//! state and event in, state and effects out. No clock, no I/O, no waiting.
//!
//! ```text
//!            ┌──────────────── the next term ────────────────┐
//!            ▼                                               │
//! Resting ▶ Bidding ──won──▶ Owning ──lost──▶ Quieting ──▶ Freeing ▶ Finished
//!              └───────────── stopped ───────────────────────┘
//! ```
//!
//! The moment handed to [`Machine::on`] is read before its effects are carried
//! out, so it is also the `sent_at` of every call that starts there: leases
//! are counted from it, never from an answer.

mod bidding;
mod freeing;
mod owning;

use bidding::Bidding;
use freeing::{Freeing, Then};
use owning::{Owning, Quieting};

use super::dice::Dice;
use super::plan::{Effect, Event, Finish, Mode, Plan, Stop};
use crate::backend::Bid;
use crate::clock::Moment;

#[derive(Debug)]
pub(crate) struct Machine {
    plan: Plan,
    dice: Dice,
    state: State,
    effects: Vec<Effect>,
    /// Counts the tenures: the end of an earlier one must not end this one.
    term: u64,
    /// Someone wants it to end; nothing new begins.
    stop: Option<Stop>,
    /// Nobody picked up what was won: nothing new begins before somebody is
    /// there again.
    unattended: bool,
    /// The last term that somebody came for, late.
    attended: u64,
}

#[derive(Debug)]
enum State {
    /// Before the first bid.
    Resting {
        until: Moment,
    },
    /// Nobody would notice if it won.
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
    pub(crate) fn start(plan: Plan, dice: Dice, now: Moment) -> (Self, Vec<Effect>) {
        let until = now + plan.initial_delay;
        let state = State::Resting { until };
        let mut machine = Self {
            plan,
            dice,
            state,
            effects: Vec::new(),
            term: 0,
            stop: None,
            unattended: false,
            attended: 0,
        };
        if machine.plan.initial_delay.is_zero() {
            machine.bid(now);
        }
        let effects = std::mem::take(&mut machine.effects);
        (machine, effects)
    }

    /// Takes an event at `now`.
    pub(crate) fn on(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        // A deadline that has passed comes before whatever else happened.
        if let State::Owning(owning) = &self.state
            && (now >= owning.deadline
                || matches!(event, Event::Expired { term } if term == self.term))
        {
            self.lose(now, crate::error::LossCause::Deadline);
        }
        match event {
            Event::Stop(stop) => self.stopped(now, stop),
            Event::Abandoned => {
                self.stopped(now, Stop::Wanted);
                self.quiesced(now);
            }
            Event::Timer => self.timer(now),
            Event::Expired { .. } => {}
            Event::Hint(hint) => self.hinted(now, hint),
            Event::Called(result) => match self.state {
                State::Bidding(_) => self.acquired(now, result),
                State::Freeing(_) => self.freed(now, result),
                // A call that was dropped has nothing to say.
                _ => {}
            },
            // The answer may have outlived the tenure it was for.
            Event::Renewed { nonce, .. } if !self.owns(nonce) => {}
            Event::Renewed {
                sent,
                batch,
                result,
                ..
            } => self.renewed(now, sent.now, batch, result),
            Event::Unclaimed { nonce, until } if self.owns(nonce) => match until {
                Some(until) => self.ask_renewal(until),
                None => self.unclaimed(now),
            },
            Event::Unclaimed { .. } => {}
            Event::Attended { term } => self.attended(term, now),
            Event::Quiesced { term } if term == self.term => self.quiesced(now),
            Event::Quiesced { .. } => {}
        }
        std::mem::take(&mut self.effects)
    }

    /// When it wants [`Event::Timer`].
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        match &self.state {
            State::Resting { until } => Some(*until),
            State::Bidding(bidding) => bidding.wake_at(),
            State::Owning(owning) => Some(owning.wake_at()),
            State::Quieting(quieting) => quieting.until,
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

    fn timer(&mut self, now: Moment) {
        match &self.state {
            State::Resting { until } if now >= *until => self.bid(now),
            State::Bidding(bidding) if bidding.wake_at().is_some_and(|at| now >= at) => {
                self.attempt(now);
            }
            State::Owning(_) => self.quiesce_over(now),
            State::Quieting(quieting) if quieting.until.is_some_and(|at| now >= at) => {
                self.finish(Finish::StillRunning);
            }
            State::Freeing(_) => self.free_again(now),
            _ => {}
        }
    }

    fn stopped(&mut self, now: Moment, stop: Stop) {
        // A last term can still be asked to end.
        if self.stop.is_some_and(|before| before != Stop::LastTerm) {
            return;
        }
        self.stop = Some(stop);
        match &mut self.state {
            State::Owning(_) | State::Quieting(_) if stop == Stop::LastTerm => {}
            State::Resting { .. } | State::Idle => self.finish(Finish::NotOwner),
            State::Bidding(_) => self.withdraw(now),
            State::Owning(_) => self.begin_quiesce(now, stop),
            State::Quieting(quieting) => quieting.until = Some(now + self.plan.quiesce),
            // Nothing new begins after it.
            State::Freeing(_) | State::Finished => {}
        }
    }

    /// Somebody is there again to pick up what is won.
    fn attended(&mut self, term: u64, now: Moment) {
        self.attended = self.attended.max(term);
        self.unattended = false;
        if matches!(self.state, State::Idle) {
            self.bid(now);
        }
    }

    /// A new bid: new nonce, first attempt.
    fn bid(&mut self, now: Moment) {
        let plan = &self.plan;
        let mut bid = Bid::new(plan.name.clone(), plan.contender.clone(), plan.terms)
            .with_nonce(self.dice.nonce());
        bid.unique_id = plan.unique_id;
        bid.shares_fence = plan.shares_fence;
        bid.queue = plan.mode != Mode::Try;
        self.state = State::Bidding(Bidding::new(bid));
        self.attempt(now);
    }

    /// A tenure is over and nothing of it is left: stand again, or end.
    fn next_term(&mut self, now: Moment, finish: Finish) {
        let then = self.then(finish);
        self.go_on(now, then);
    }

    fn go_on(&mut self, now: Moment, then: Then) {
        match then {
            Then::Finish(finish) => self.finish(finish),
            Then::Bid { .. } if self.stop.is_some() => self.finish(Finish::NotOwner),
            Then::Bid { .. } if self.unattended => self.state = State::Idle,
            Then::Bid { rest } if rest.is_zero() => self.bid(now),
            Then::Bid { rest } => self.state = State::Resting { until: now + rest },
        }
    }

    /// What follows a tenure that ended with `finish`.
    fn then(&self, finish: Finish) -> Then {
        let again = self.plan.mode == Mode::Always && self.stop.is_none();
        match finish {
            finish if !again => Then::Finish(finish),
            // Given up freely, so that another may have it.
            Finish::Released => Then::Bid {
                rest: self.plan.courtesy,
            },
            _ => Then::bid_at_once(),
        }
    }

    fn finish(&mut self, finish: Finish) {
        self.state = State::Finished;
        self.effects.push(Effect::Finish(finish));
    }
}

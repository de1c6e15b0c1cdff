//! Giving back, stubbornly: until the store confirms or the lease is over.

use std::time::Duration;

use super::super::plan::{Call, Effect, Finish};
use super::super::wake;
use super::{Machine, State};
use crate::backend::{Answer, Bid, Held};
use crate::clock::Moment;
use crate::error::{Result, Retry};

#[derive(Debug)]
pub(super) struct Freeing {
    /// The grant to release; without one the bid is undone.
    held: Option<Held>,
    bid: Bid,
    orphan: bool,
    /// After this nothing of ours is left in the store.
    until: Moment,
    in_flight: bool,
    next_try: Moment,
    failures: u32,
    /// A try whose answer was lost may have done it.
    maybe_done: bool,
    pub(super) then: Then,
}

/// What follows.
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

impl Freeing {
    pub(super) fn release(held: Held, bid: Bid, orphan: bool, until: Moment, then: Then) -> Self {
        Self {
            held: Some(held),
            ..Self::leave(bid, orphan, until, then)
        }
    }

    pub(super) fn leave(bid: Bid, orphan: bool, until: Moment, then: Then) -> Self {
        Self {
            held: None,
            bid,
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
        self.held.is_none() && matches!(self.then, Then::Finish(Finish::Failed(_)))
    }

    pub(super) fn wake_at(&self) -> Moment {
        if self.in_flight {
            self.until
        } else {
            self.next_try.min(self.until)
        }
    }
}

impl Machine {
    pub(super) fn free(&mut self, now: Moment, freeing: Freeing) {
        self.state = State::Freeing(freeing);
        self.free_call(now);
    }

    fn free_call(&mut self, now: Moment) {
        let State::Freeing(freeing) = &mut self.state else {
            return;
        };
        freeing.in_flight = true;
        freeing.next_try = now;
        let call = match &freeing.held {
            Some(held) => Call::Release(held.clone()),
            None => Call::Leave(freeing.bid.clone()),
        };
        self.effects
            .push(Effect::Call(call, self.plan.terms.call_timeout()));
    }

    /// Woken while giving back.
    pub(super) fn free_again(&mut self, now: Moment) {
        let State::Freeing(freeing) = &mut self.state else {
            return;
        };
        if now >= freeing.until {
            if freeing.in_flight {
                self.effects.push(Effect::DropCall);
            }
            return self.done(now, Some(Finish::Unconfirmed));
        }
        if !freeing.in_flight && now >= freeing.next_try {
            self.free_call(now);
        }
    }

    /// The answer of the store. For a bid that was undone the driver answers
    /// *won*.
    pub(super) fn freed(&mut self, now: Moment, result: Result<Answer>) {
        let State::Freeing(freeing) = &mut self.state else {
            return;
        };
        freeing.in_flight = false;
        match result {
            Ok(answer) if answer.is_won() || freeing.maybe_done => self.done(now, None),
            // The grant had gone before we gave it back.
            Ok(_) => self.done(now, Some(Finish::Lost(crate::error::LossCause::Taken))),
            // Whoever waits for the bad word has nothing better to wait for.
            Err(error) if error.retry() == Retry::Never && freeing.is_hopeless() => {
                self.done(now, None);
            }
            Err(error) => {
                freeing.maybe_done |= error.may_have_happened();
                freeing.failures = freeing.failures.saturating_add(1);
                freeing.next_try = now + wake::backoff(freeing.failures, self.dice.roll());
                self.effects.push(Effect::Trouble(error));
            }
        }
    }

    /// Given back, or not to be had any more; `worse` replaces the good end of
    /// a release.
    fn done(&mut self, now: Moment, worse: Option<Finish>) {
        let State::Freeing(freeing) = std::mem::replace(&mut self.state, State::Finished) else {
            return;
        };
        if freeing.orphan {
            self.effects.push(Effect::TidyLater(freeing.bid));
        }
        let then = match (freeing.then, worse) {
            (Then::Finish(Finish::Released), Some(worse)) => Then::Finish(worse),
            (then, _) => then,
        };
        self.go_on(now, then);
    }
}

//! Wanting to own: attempts, refusals, hints, failures.

use std::time::Duration;

use super::super::plan::{Call, Effect, Finish, Mode};
use super::super::reading::Reading;
use super::super::wake;
use super::{Freeing, Machine, Owning, State, Then};
use crate::backend::{Answer, Bid, Hint};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Outcome, Result, Retry};

#[derive(Debug)]
pub(super) struct Bidding {
    bid: Bid,
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
    pub(super) fn new(bid: Bid) -> Self {
        Self {
            bid,
            in_flight: None,
            look_at: Moment::from_nanos(0),
            looked_at: None,
            hinted: false,
            overheard: false,
            subscribed: false,
            queued: false,
            orphan: false,
            failures: 0,
        }
    }

    /// When a broadcast is looked into: it reaches everybody, so not everybody
    /// may come at once.
    fn after_broadcast(&self, now: Moment) -> Moment {
        self.looked_at
            .map_or(now, |at| (at + wake::BROADCAST_LOOK).max(now))
    }

    /// Nothing to wake for while an attempt is under way: its limit is the
    /// driver's.
    pub(super) fn wake_at(&self) -> Option<Moment> {
        self.in_flight.is_none().then_some(self.look_at)
    }
}

impl Machine {
    pub(super) fn attempt(&mut self, now: Moment) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        bidding.in_flight = Some(now);
        bidding.looked_at = Some(now);
        bidding.hinted = false;
        bidding.overheard = false;
        let call = Call::Acquire(bidding.bid.clone());
        self.effects
            .push(Effect::Call(call, self.plan.terms.call_timeout()));
    }

    pub(super) fn acquired(&mut self, now: Moment, result: Result<Answer>) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        let Some(sent_at) = bidding.in_flight.take() else {
            return;
        };
        match result {
            Ok(answer) if answer.is_won() => self.won(now, sent_at, &answer),
            Ok(answer) => self.refused(now, &answer),
            Err(error) => self.failed(now, error),
        }
    }

    fn won(&mut self, now: Moment, sent_at: Moment, answer: &Answer) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        let terms = self.plan.terms;
        let Some(token) = answer.token() else {
            let error = Error::new(ErrorKind::Store, Outcome::Did)
                .with_message("the store granted the mutex without a token");
            return self.failed(now, error);
        };
        if bidding.subscribed {
            self.effects.push(Effect::Unsubscribe);
        }
        let held = bidding.bid.held(token);
        let deadline = sent_at + super::owning::valid_for(&terms, answer);
        let (bid, orphan) = (bidding.bid.clone(), bidding.orphan);
        if now + terms.margin() >= deadline {
            // Won, and over before we heard of it: give it back and go on.
            let then = if self.plan.mode == Mode::Try {
                Then::Finish(Finish::NotOwner)
            } else {
                Then::bid_at_once()
            };
            let freeing = Freeing::release(held, bid, orphan, now + terms.lease(), then);
            return self.free(now, freeing);
        }
        let owner = answer.owner().clone();
        self.term += 1;
        self.effects.push(Effect::Begin {
            term: self.term,
            held: held.clone(),
            owner,
            deadline,
            reading: Reading {
                sent_at,
                heard_at: now,
                store: answer.now(),
            },
        });
        let renew_at = sent_at + super::owning::renew_after(&terms, answer);
        self.state = State::Owning(Owning::new(
            bid,
            held,
            orphan,
            deadline,
            now + terms.lease(),
        ));
        self.ask_renewal(renew_at);
    }

    fn refused(&mut self, now: Moment, answer: &Answer) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        bidding.failures = 0;
        bidding.bid.seen = bidding.bid.seen.max(answer.owner().token());
        bidding.queued = answer.place().is_some();
        if let Some(place) = answer.place() {
            bidding.bid.score = Some(place.score.clone());
        }
        self.effects.push(Effect::Observe(answer.owner().clone()));
        if self.plan.mode == Mode::Try {
            return self.undo_and_finish(now, Finish::NotOwner);
        }
        if !bidding.subscribed {
            // What happened before we listened is found by looking once more.
            bidding.subscribed = true;
            self.effects.push(Effect::Subscribe);
            return self.attempt(now);
        }
        if bidding.hinted {
            return self.attempt(now);
        }
        let roll = self.dice.roll();
        bidding.look_at =
            now + wake::after_refusal(&self.plan, &bidding.bid.contender, answer, roll);
        if bidding.overheard {
            bidding.look_at = bidding.look_at.min(bidding.after_broadcast(now));
        }
    }

    fn failed(&mut self, now: Moment, error: Error) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        bidding.orphan |= error.may_have_happened();
        bidding.failures = bidding.failures.saturating_add(1);
        let hopeless = error.retry() == Retry::Never;
        match self.plan.mode {
            Mode::Try => return self.undo_and_finish(now, Finish::Failed(error)),
            Mode::Once if hopeless => return self.undo_and_finish(now, Finish::Failed(error)),
            _ => {}
        }
        let pause = match error.retry() {
            Retry::AtOnce if bidding.failures <= 3 => Duration::ZERO,
            _ => wake::backoff(bidding.failures, self.dice.roll()),
        };
        bidding.look_at = now + pause;
        self.effects.push(Effect::Trouble(error));
    }

    pub(super) fn hinted(&mut self, now: Moment, hint: Hint) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        let at = match hint {
            Hint::Turn => now,
            Hint::Resumed => now + wake::RESUME_SPREAD.mul_f64(self.dice.roll()),
            _ => bidding.after_broadcast(now),
        };
        if bidding.in_flight.is_some() {
            match hint {
                Hint::Changed => bidding.overheard = true,
                _ => bidding.hinted = true,
            }
            return;
        }
        // A broadcast does not shorten the pause after a failure.
        if (bidding.failures == 0 || hint != Hint::Changed) && at < bidding.look_at {
            bidding.look_at = at;
        }
        if bidding.look_at <= now {
            self.attempt(now);
        }
    }

    /// Stopped while wanting.
    pub(super) fn withdraw(&mut self, now: Moment) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        if bidding.in_flight.take().is_some() {
            bidding.orphan = true;
            self.effects.push(Effect::DropCall);
        }
        if bidding.subscribed {
            self.effects.push(Effect::Unsubscribe);
        }
        self.undo_and_finish(now, Finish::NotOwner);
    }

    /// Undoes what the bid may have left in the store, if anything.
    fn undo_and_finish(&mut self, now: Moment, finish: Finish) {
        let State::Bidding(bidding) = &mut self.state else {
            return;
        };
        if !bidding.orphan && !bidding.queued {
            return self.finish(finish);
        }
        let (bid, orphan) = (bidding.bid.clone(), bidding.orphan);
        let until = now + self.plan.terms.lease();
        self.free(
            now,
            Freeing::leave(bid, orphan, until, Then::Finish(finish)),
        );
    }
}

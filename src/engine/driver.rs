//! [`Driver`]: carries out what a machine wants.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::call::CallUnderWay;
use super::contention::Quiescer;
use super::event::{Call, Effect, Event, Finish, GivenBack, Notice, Sink, Stop};
use super::holding::Holding;
use super::life::ContentionLife;
use super::machine::{self, Machine};
use super::settings::{Beginning, ContentionSettings};
use super::slot::{DriverSlot, PolledBy};
use super::tenure::Tenure;
use super::trouble::{Doing, TroubleReporter};
use crate::backend::{Backend, Hints, Interest};
use crate::clock::{Clock, Moment, Sight};
use crate::error::LossCause;

/// A machine, and what its effects are carried out with.
pub(super) struct Driver {
    /// Where it sits between two events.
    slot: Arc<DriverSlot>,
    machine: Machine,
    hear_owner: bool,
    sink: Sink,
    /// The one call that is on its way.
    call: Option<CallUnderWay>,
    hints: Option<Hints>,
    /// Its number in the roster.
    number: u64,
    /// When the roster rings for it.
    alarm: Option<Moment>,
    /// Whether the roster sets that alarm with the renewal that comes before it.
    is_left_to_renewal: bool,
    /// Since the first tenure.
    holding: Option<Holding>,
    /// What the clocks showed when the request was sent whose answer counts.
    sent: Sight,
    /// When the present event came.
    now: Moment,
    /// It begins, in the process that connected, and what was sent is what it
    /// begins with: the first call need not look again.
    is_fresh: bool,
    reporter: TroubleReporter,
    life: ContentionLife,
    /// `close` waits until it has ended.
    _runs: TaskTrackerToken,
}

impl Driver {
    /// A driver for `slot`, whose machine begins as `beginning` says.
    #[inline]
    pub(super) fn begin(
        slot: &Arc<DriverSlot>,
        settings: ContentionSettings,
        hear_owner: bool,
        sink: Sink,
        beginning: Beginning,
    ) -> Box<Self> {
        let Beginning {
            sent,
            is_at_home,
            nonce,
        } = beginning;
        let engine = slot.engine();
        let reporter = engine.reporter(&settings.name, Doing::Contending);
        let life = ContentionLife::begin(engine, slot.view());
        let (machine, effects) = Machine::start(settings, engine.random(), nonce, sent.now);
        let mut driver = Box::new(Self {
            slot: Arc::clone(slot),
            machine,
            hear_owner,
            sink,
            call: None,
            hints: None,
            number: engine.roster().enter(slot),
            alarm: None,
            is_left_to_renewal: false,
            holding: None,
            sent,
            now: sent.now,
            is_fresh: is_at_home,
            reporter,
            life,
            _runs: engine.running(),
        });
        if let Some(event) = driver.carry_out_all(effects) {
            driver.on(event);
        }
        driver.is_fresh = false;
        driver
    }

    /// Takes an event, and carries out what the machine wants.
    pub(super) fn on(&mut self, event: Event) {
        self.on_at(event, None);
    }

    /// The same; `now` is of one who has just read the clock.
    #[inline]
    pub(super) fn on_at(&mut self, event: Event, now: Option<Moment>) {
        let mut next = self.take(event, now);
        while let Some(event) = next {
            next = self.take(event, None);
        }
        if self.machine.tries_nothing() {
            self.reporter.rests();
        }
    }

    /// The same for one event, and says what follows from it at once.
    #[inline]
    fn take(&mut self, mut event: Event, now: Option<Moment>) -> Option<Event> {
        match &event {
            Event::Timer => {
                self.is_rung();
                if let Some(expired) = self.look() {
                    event = expired;
                }
            }
            Event::Limited(own_end) => {
                if let Some(holding) = &mut self.holding {
                    holding.limit(Arc::clone(own_end));
                }
                return None;
            }
            Event::Renewed { nonce, sent, .. } if self.machine.owns_by(*nonce) => {
                self.sent = *sent;
            }
            _ => {}
        }
        let closes = matches!(event, Event::Stop(Stop::Closed));
        self.now = now.unwrap_or_else(|| self.clock().now());
        let effects = self.machine.on(self.now, event);
        let next = self.carry_out_all(effects);
        if closes && next.is_none() && self.machine.is_quieting() {
            return self.ends_at_once();
        }
        next
    }

    /// A user that was told of a loss and does not say that it has ended: a guard
    /// that is still in scope. A close waits no longer for that than for a guard
    /// that owns.
    fn ends_at_once(&self) -> Option<Event> {
        let at_once = self.sink.ends_at_once(LossCause::Closed);
        self.holding
            .as_ref()
            .filter(|_| at_once)
            .map(Holding::quiesced)
    }

    /// What has come of the call, or of the hints.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let engine = self.slot.engine();
        // The caller may be on another runtime, or on none: what a store begins
        // must outlive it.
        let _inside = engine.runtime().enter();
        if let Some(call) = &mut self.call
            && let Poll::Ready(event) = call.poll(cx, engine.clock())
        {
            let took = || engine.clock().now().since(self.sent.now);
            let meters = engine.meters();
            meters.called(call.operation(), took, event.failure());
            self.call = None;
            return Poll::Ready(event);
        }
        if let Some(hints) = &mut self.hints {
            match hints.poll_hint(cx) {
                Poll::Ready(Some(hint)) => return Poll::Ready(Event::Hint(hint)),
                Poll::Ready(None) => self.hints = None,
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }

    /// Whether it waits for anything but the clock and its user.
    pub(super) fn is_to_be_polled(&self) -> bool {
        self.call.is_some() || self.hints.is_some()
    }

    /// Whether a call is under way for so long that its caller should have
    /// come, or has had its time.
    pub(super) fn has_old_call(&self) -> bool {
        let now = self.clock().now();
        let is_old = |call: &CallUnderWay| call.is_caller_wanted_by() <= now;
        self.call.as_ref().is_some_and(is_old)
    }

    /// The roster has rung.
    pub(super) fn is_rung(&mut self) {
        self.alarm = None;
        let now = self.clock().now();
        if let Some(call) = &mut self.call {
            call.is_rung(now);
        }
    }

    pub(super) fn is_owner(&self) -> bool {
        self.machine.is_owner()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }

    /// Lets the roster ring when the machine wants it, or when a call has had
    /// its time or its caller does not come.
    #[inline]
    pub(super) fn set_alarm(&mut self, polled_by: PolledBy) {
        // One that has had its time ends when it is polled: who polls has been
        // woken by the first ring, and another would be in vain. A moment that has
        // passed before it was asked for rings at once.
        let call = self.call.as_ref();
        let call = call.and_then(|call| call.rings_at(polled_by));
        let mut wanted = earlier(self.machine.wake_at(), call);
        if let Some(holding) = &self.holding
            && self.machine.is_owner()
        {
            wanted = earlier(wanted, holding.limit_at());
        }
        // What is to be renewed before has its alarm set with that.
        let is_left = wanted.is_some_and(|at| self.is_renewed_before(at));
        if wanted == self.alarm && is_left == self.is_left_to_renewal {
            return;
        }
        self.is_left_to_renewal = is_left;
        let before = std::mem::replace(&mut self.alarm, wanted);
        // The alarm at its end stays: the renewal that set it may be under way.
        let before = before.filter(|at| self.machine.owns_until() != Some(*at));
        let set = wanted.filter(|_| !is_left);
        if before.is_some() || set.is_some() {
            let roster = self.slot.engine().roster();
            roster.set_alarm(self.number, before, set);
        }
    }

    /// Whether it owns until `at`, unless it is renewed, which the roster does
    /// before.
    fn is_renewed_before(&self, at: Moment) -> bool {
        let is_renewed = |holding: &Holding| holding.is_renewed_before(at);
        self.machine.owns_until() == Some(at) && self.holding.as_ref().is_some_and(is_renewed)
    }

    /// Carries out what the machine wants, and says what follows at once.
    fn carry_out_all(&mut self, mut effects: Vec<Effect>) -> Option<Event> {
        let mut next = None;
        for effect in effects.drain(..) {
            // Most say nothing: what they do not say is not moved.
            if let Some(event) = self.carry_out(effect) {
                next = Some(event);
            }
        }
        machine::keep_for_the_next(effects);
        if self.life.is_news() && !self.machine.is_finished() {
            self.slot.tell();
        }
        next
    }

    /// Begins `call`, and gives up the one before; says at once when it fails.
    #[inline]
    fn begin_call(&mut self, call: Call, limit: Duration) -> Option<Event> {
        if !std::mem::take(&mut self.is_fresh) {
            // A lease counts from what the clocks show before it is asked for. What is
            // given back has none: when the event came is exact enough.
            let sent = match call {
                Call::Acquire(_) => self.clock().look_before(),
                Call::Release { .. } | Call::Leave(_) => Sight {
                    now: self.now,
                    ..self.sent
                },
            };
            // What the parent process owns is not a fork's to free.
            if let Err(forked) = self.slot.engine().check_birth_at(sent.now) {
                return Some(call.failed(forked));
            }
            self.sent = sent;
        }
        if matches!(call, Call::Acquire(_)) {
            self.life.bids(self.slot.view());
        }
        let (backend, now) = (self.slot.engine().backend(), self.sent.now);
        let begin = || CallUnderWay::begin(backend, call, limit, now);
        self.call = Some(self.life.inside(begin));
        None
    }

    /// Carries `effect` out, and says what follows from it at once.
    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Call(call, limit) => return self.begin_call(call, limit),
            Effect::DropCall => self.call = None,
            Effect::Renew {
                at,
                deadline,
                max_batch,
            } => {
                if let Some(holding) = &mut self.holding {
                    holding.renew_at(at, deadline, max_batch, &self.slot, self.number);
                }
            }
            Effect::StopRenewing => self.stop_renewing(),
            Effect::Subscribe => {
                let turn = Interest {
                    name: self.machine.settings().name.clone(),
                    waiter: Some(self.machine.settings().contender.clone()),
                    owner: self.hear_owner,
                };
                let engine = self.slot.engine();
                let _inside = engine.runtime().enter();
                self.hints = Some(engine.backend().changes(&turn));
            }
            Effect::Unsubscribe => self.hints = None,
            Effect::Begin {
                tenure_number,
                bid,
                token,
                owner,
                deadline,
                reading,
            } => {
                let engine = self.slot.engine();
                let (birth, clock) = (engine.birth(), engine.clock().clone());
                let heard_at = reading.heard_at;
                let (tenure, lease) =
                    Tenure::begin(birth, (bid, token), clock, deadline, reading, self.sent);
                // As it was when the request was sent.
                lease.is_seen_at_home(self.sent.now);
                self.holding = Some(Holding::new(tenure_number, lease));
                // What is told is heard by foreign code: the lease comes first.
                self.life.owns(self.slot.view(), token, heard_at);
                self.reporter.well();
                let done = Quiescer::new(&self.slot, tenure_number);
                self.sink.tell(Notice::Began(tenure, owner, done));
            }
            Effect::Extend { deadline, reading } => {
                self.reporter.well();
                if let Some(holding) = &self.holding {
                    if !holding.extend(deadline, reading, self.sent) {
                        return Some(holding.expired());
                    }
                    self.life.is_extended(self.slot.view());
                }
            }
            Effect::End(cause) => self.end(cause),
            Effect::Quiesce {
                tenure_number,
                cause,
            } => return self.quiesce(tenure_number, cause),
            Effect::Observe(owner) => {
                self.reporter.well();
                self.life.is_refused(self.slot.view(), owner.owner_id());
                self.sink.tell(Notice::Observed(owner));
            }
            Effect::Trouble(error) => {
                let of = self.machine.settings();
                let error = error.with_mutex(&of.name).with_contender(&of.contender);
                self.reporter.failed(&error);
                self.sink.tell(Notice::Trouble(error));
            }
            Effect::TidyLater(bid) => self.slot.engine().undo_later(bid),
            Effect::GivenBack(how) => self.is_given_back(how),
            Effect::Finish(finish) => {
                let was_lost = matches!(finish, Finish::StillRunning)
                    && !self.holding.as_ref().is_some_and(Holding::is_asked);
                if !was_lost {
                    let name = &self.machine.settings().name;
                    self.slot.engine().note_end(name, &finish);
                }
                self.sink.tell(Notice::Finished(finish));
            }
        }
        None
    }

    fn quiesce(&mut self, tenure_number: u64, cause: LossCause) -> Option<Event> {
        let holding = self.holding.as_ref()?;
        if holding.take_back_or_ask(cause) {
            return Some(holding.quiesced());
        }
        let done = Quiescer::new(&self.slot, tenure_number);
        self.sink.tell(Notice::Quiesce(cause, done));
        if self.sink.ends_at_once(cause) {
            // Not by a word of its own, which an alarm could overtake.
            return Some(holding.quiesced());
        }
        None
    }

    /// Looks at the tenure, which may have ended by the clocks.
    fn look(&self) -> Option<Event> {
        let holding = self.holding.as_ref().filter(|_| self.machine.is_owner());
        holding
            .filter(|holding| holding.is_over())
            .map(Holding::expired)
    }

    #[inline]
    fn end(&mut self, cause: LossCause) {
        if let Some(holding) = &self.holding {
            let cause = holding.end(cause);
            self.life.ends(self.slot.view(), cause, self.now);
        }
    }

    #[inline]
    fn is_given_back(&mut self, how: GivenBack) {
        if how == GivenBack::Confirmed {
            self.reporter.well();
        }
        if let Some(holding) = &self.holding {
            holding.is_given_back(how);
            let (view, goes_on) = (self.slot.view(), !self.machine.is_finished());
            self.life.is_given_back(view, how, self.now, goes_on);
        }
    }

    #[inline]
    fn stop_renewing(&mut self) {
        if let Some(holding) = &mut self.holding {
            holding.stop_renewing(&self.slot, self.number);
        }
    }

    fn clock(&self) -> &Clock {
        self.slot.engine().clock()
    }
}

impl Drop for Driver {
    /// It has ended, or its runtime has: nothing is renewed any more.
    fn drop(&mut self) {
        self.stop_renewing();
        let roster = self.slot.engine().roster();
        roster.forget(self.number, self.alarm);
        self.end(LossCause::Closed);
        self.is_given_back(GivenBack::Unconfirmed);
        self.life.is_over(self.slot.view());
        if !self.machine.is_finished() {
            self.sink.cut_off();
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

fn earlier(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

//! [`Driver`]: carries out what a machine wants.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::call::CallUnderWay;
use super::contention::{Contention, Quiescer};
use super::event::{Call, Effect, Event, Finish, GivenBack, Listener, Notice, Sink, Stop, Tell};
use super::feed::Standing;
use super::lease::Lease;
use super::life::ContentionLife;
use super::machine::{self, Machine};
use super::roster::DueRenewal;
use super::settings::{ContentionSettings, Mode};
use super::slot::{DriverSlot, PolledBy, SlotView};
use super::tenure::Tenure;
use super::trouble::{Doing, TroubleReporter};
use super::{Engine, wake};
use crate::backend::{Backend, Bid, Hints, Interest};
use crate::clock::{Moment, Sight};
use crate::error::{Error, LossCause};
use crate::model::{ContenderId, MutexName, Purpose};

impl Engine {
    /// How a contention behaves under the settings of all.
    pub(crate) fn contention_settings(
        &self,
        purpose: Purpose,
        name: MutexName,
        contender: ContenderId,
        mode: Mode,
    ) -> ContentionSettings {
        let profile = self.backend().profile();
        let settings = self.settings();
        let terms = self.terms();
        ContentionSettings {
            purpose,
            name,
            contender,
            unique_id: false,
            shares_fence: false,
            terms,
            mode,
            jitter: settings.jitter,
            safety_look: profile.safety_look,
            initial_delay: settings.initial_delay,
            courtesy: self.courtesy(),
            quiesce: settings.quiesce,
        }
    }

    /// Starts a contention that tells `sink` what happens, the last word being
    /// [`Notice::Finished`].
    ///
    /// `hear_owner`: whether every change of owner is of interest, or only
    /// the contender's own turn.
    pub(crate) fn contend(
        &self,
        settings: ContentionSettings,
        hear_owner: bool,
        sink: Tell,
    ) -> Contention {
        self.slot(settings, hear_owner, Sink::Tell(sink), PolledBy::Nobody)
    }

    /// The same for a caller that makes the [first
    /// call](Contention::call_here) itself.
    pub(crate) fn contend_here(
        &self,
        settings: ContentionSettings,
        listener: Arc<dyn Listener>,
    ) -> Contention {
        self.slot(settings, false, Sink::Shared(listener), PolledBy::Caller)
    }

    fn slot(
        &self,
        settings: ContentionSettings,
        hear_owner: bool,
        sink: Sink,
        polled_by: PolledBy,
    ) -> Contention {
        let reporter = self.reporter(&settings.name, Doing::Contending);
        let sent = self.clock().look_before();
        let shown = SlotView {
            purpose: settings.purpose,
            mutex: settings.name.clone(),
            contender: settings.contender.clone(),
            standing: Standing::Waiting,
            since: sent.now,
        };
        let slot = DriverSlot::new(self, polled_by == PolledBy::Caller, shown);
        let life = ContentionLife::begin(self, &settings, sent.now);
        let (machine, effects) = Machine::start(settings, self.random(), sent.now);
        let mut driver = Box::new(Driver {
            engine: self.clone(),
            machine,
            hear_owner,
            sink,
            call: None,
            hints: None,
            number: self.roster().enter(&slot),
            alarm: None,
            renewal: None,
            lease: None,
            sent,
            now: sent.now,
            tenure_number: 0,
            reporter,
            life,
            _runs: self.running(),
        });
        if let Some(event) = driver.carry_out_all(effects, &slot) {
            driver.on(event, &slot);
        }
        slot.take(driver, polled_by);
        // The coordinator's `close` has told only those who were there before.
        if self.closing_token().is_cancelled() {
            slot.say(Event::Stop(Stop::Closed));
        }
        Contention::new(slot)
    }
}

/// What follows from an effect at once.
enum Follow {
    Nothing,
    Event(Event),
    /// A call begins, and the one before is given up.
    Call(Call, Duration),
    /// The call is given up.
    NoCall,
}

/// A machine, and what its effects are carried out with.
pub(super) struct Driver {
    engine: Engine,
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
    /// When the renewal is due that has been asked for.
    renewal: Option<Moment>,
    lease: Option<Arc<Lease>>,
    /// What the clocks showed when the request was sent whose answer counts.
    sent: Sight,
    /// When the present event came.
    now: Moment,
    /// The number of the tenure that the lease belongs to.
    tenure_number: u64,
    reporter: TroubleReporter,
    life: ContentionLife,
    /// `close` waits until it has ended.
    _runs: TaskTrackerToken,
}

impl Driver {
    /// Takes an event, and carries out what the machine wants.
    pub(super) fn on(&mut self, event: Event, slot: &Arc<DriverSlot>) {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            let event = match event {
                Event::Timer => {
                    self.is_rung();
                    self.look()
                }
                event => event,
            };
            if let Event::Renewed { sent, .. } = &event {
                self.sent = *sent;
            }
            let closes = matches!(event, Event::Stop(Stop::Closed));
            self.now = self.engine.clock().now();
            let effects = self.machine.on(self.now, event);
            next = self.carry_out_all(effects, slot);
            if closes && next.is_none() && self.machine.is_quieting() {
                next = self.ends_at_once();
            }
        }
        if self.machine.tries_nothing() {
            self.reporter.rests();
        }
    }

    /// A user that was told of a loss and does not say that it has ended: a guard
    /// that is still in scope. A close waits no longer for that than for a guard
    /// that owns.
    fn ends_at_once(&self) -> Option<Event> {
        let tenure_number = self.tenure_number;
        let at_once = self.sink.ends_at_once(LossCause::Closed);
        at_once.then_some(Event::Quiesced { tenure_number })
    }

    /// What has come of the call, or of the hints.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        // The caller may be on another runtime, or on none: what a store begins
        // must outlive it.
        let _inside = self.engine.runtime().enter();
        if let Some(call) = &mut self.call
            && let Poll::Ready(event) = call.poll(cx, self.engine.clock())
        {
            let took = || self.engine.clock().now().since(self.sent.now);
            let meters = self.engine.meters();
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
        let now = self.engine.clock().now();
        let is_old = |call: &CallUnderWay| call.is_caller_wanted_by() <= now;
        self.call.as_ref().is_some_and(is_old)
    }

    /// The roster has rung.
    pub(super) fn is_rung(&mut self) {
        self.alarm = None;
    }

    pub(super) fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }

    /// Lets the roster ring when the machine wants it, or when a call has had
    /// its time or its caller does not come.
    pub(super) fn set_alarm(&mut self, polled_by: PolledBy) {
        let now = self.engine.clock().now();
        // One that has had its time ends when it is polled: who polls has been
        // woken, and ringing again would be in vain.
        let call = self.call.as_ref().map(|call| match polled_by {
            PolledBy::Caller => call.is_caller_wanted_by(),
            PolledBy::Nobody | PolledBy::Task => call.over_at(),
        });
        let call = call.filter(|over_at| now < *over_at);
        let wanted = self.machine.wake_at().into_iter().chain(call).min();
        if wanted != self.alarm {
            let before = std::mem::replace(&mut self.alarm, wanted);
            self.engine.roster().set_alarm(self.number, before, wanted);
        }
    }

    /// Carries out what the machine wants, and says what follows at once.
    fn carry_out_all(&mut self, mut effects: Vec<Effect>, slot: &Arc<DriverSlot>) -> Option<Event> {
        let mut next = None;
        for effect in effects.drain(..) {
            match self.carry_out(effect, slot) {
                Follow::Nothing => {}
                Follow::Event(event) => next = Some(event),
                Follow::Call(call, limit) => {
                    // What the parent process owns is not a fork's to free.
                    if let Err(forked) = self.engine.check_birth() {
                        next = Some(call.failed(forked));
                        continue;
                    }
                    self.sent = self.engine.clock().look_before();
                    let (backend, now) = (self.engine.backend(), self.sent.now);
                    let begin = || CallUnderWay::begin(backend, call, limit, now);
                    self.call = Some(self.life.inside(self.machine.settings(), begin));
                }
                Follow::NoCall => self.call = None,
            }
        }
        machine::keep_for_the_next(effects);
        let news = self.life.news();
        if let Some((standing, since)) = news.filter(|_| !self.machine.is_finished()) {
            slot.show(standing, since);
        }
        next
    }

    /// Carries `effect` out, and says what follows from it at once.
    fn carry_out(&mut self, effect: Effect, slot: &Arc<DriverSlot>) -> Follow {
        match effect {
            Effect::Call(call, limit) => return Follow::Call(call, limit),
            Effect::DropCall => return Follow::NoCall,
            Effect::Renew {
                held,
                at,
                deadline,
                max_batch,
            } => {
                if let Some(lease) = self.lease.clone() {
                    debug_assert_eq!(held, lease.held, "the grant is that of the lease");
                    self.stop_renewing();
                    self.renewal = Some(at);
                    let due = DueRenewal {
                        lease,
                        deadline,
                        max_batch,
                        slot: Arc::clone(slot),
                    };
                    self.engine.roster().renew_at(at, self.number, due);
                }
            }
            Effect::StopRenewing => self.stop_renewing(),
            Effect::Subscribe => {
                let turn = Interest {
                    name: self.machine.settings().name.clone(),
                    waiter: Some(self.machine.settings().contender.clone()),
                    owner: self.hear_owner,
                };
                let _inside = self.engine.runtime().enter();
                self.hints = Some(self.engine.backend().changes(&turn));
            }
            Effect::Unsubscribe => self.hints = None,
            Effect::Begin {
                tenure_number,
                held,
                owner,
                deadline,
                reading,
            } => {
                let (birth, clock) = (self.engine.birth(), self.engine.clock().clone());
                let (token, heard_at) = (held.token, reading.heard_at);
                let (tenure, lease) =
                    Tenure::begin(birth, held, clock, deadline, reading, self.sent);
                self.tenure_number = tenure_number;
                self.lease = Some(lease);
                // What is told is heard by foreign code: the lease comes first.
                self.life.owns(self.machine.settings(), token, heard_at);
                self.reporter.well();
                let done = Quiescer::new(slot, tenure_number);
                self.sink.tell(Notice::Began(tenure, owner, done));
            }
            Effect::Extend { deadline, reading } => {
                self.reporter.well();
                let alive = self.lease.as_ref().is_some_and(|lease| {
                    lease.read_clock(reading);
                    lease.extend(deadline, self.sent)
                });
                if !alive {
                    return Follow::Event(Event::Expired {
                        tenure_number: self.tenure_number,
                    });
                }
                self.life.is_extended(self.machine.settings());
            }
            Effect::End(cause) => self.end(cause),
            Effect::Quiesce {
                tenure_number,
                cause,
            } => return self.quiesce(tenure_number, cause, slot),
            Effect::Observe(owner) => {
                self.reporter.well();
                let of = self.machine.settings();
                self.life.is_refused(of, owner.owner_id());
                self.sink.tell(Notice::Observed(owner));
            }
            Effect::Trouble(error) => {
                let error = self.about(error);
                self.reporter.failed(&error);
                self.sink.tell(Notice::Trouble(error));
            }
            Effect::TidyLater(bid) => self.tidy_later(bid),
            Effect::GivenBack(how) => self.is_given_back(how),
            Effect::Finish(finish) => {
                let was_lost = matches!(finish, Finish::StillRunning)
                    && !self.lease.as_ref().is_some_and(|lease| lease.is_asked());
                if !was_lost {
                    self.engine.note_end(&self.machine.settings().name, &finish);
                }
                self.sink.tell(Notice::Finished(finish));
            }
        }
        Follow::Nothing
    }

    fn quiesce(&mut self, tenure_number: u64, cause: LossCause, slot: &Arc<DriverSlot>) -> Follow {
        let Some(lease) = &self.lease else {
            return Follow::Nothing;
        };
        if lease.take_back() {
            // Its user does not have it in hand: there is no local side to end.
            return Follow::Event(Event::Quiesced { tenure_number });
        }
        // What is lost cannot be asked to end.
        if matches!(cause, LossCause::Released | LossCause::Closed) {
            lease.ask_to_end(cause);
        }
        let done = Quiescer::new(slot, tenure_number);
        self.sink.tell(Notice::Quiesce(cause, done));
        if self.sink.ends_at_once(cause) {
            // Not by a word of its own, which an alarm could overtake.
            return Follow::Event(Event::Quiesced { tenure_number });
        }
        Follow::Nothing
    }

    /// Looks at the tenure, which may have ended by the clocks.
    fn look(&self) -> Event {
        match &self.lease {
            Some(lease) if self.machine.is_owner() && lease.is_over() => Event::Expired {
                tenure_number: self.tenure_number,
            },
            _ => Event::Timer,
        }
    }

    fn end(&mut self, cause: LossCause) {
        if let Some(lease) = &self.lease {
            lease.end(cause);
            // The task that saw the end first knows best why.
            let cause = lease.cause.get().copied().unwrap_or(cause);
            self.life.ends(self.machine.settings(), cause, self.now);
        }
    }

    fn is_given_back(&mut self, how: GivenBack) {
        if how == GivenBack::Confirmed {
            self.reporter.well();
        }
        if let Some(lease) = &self.lease {
            lease.is_given_back(how);
            let of = self.machine.settings();
            self.life.is_given_back(of, how, self.now);
        }
    }

    fn stop_renewing(&mut self) {
        if let Some(at) = self.renewal.take() {
            self.engine.roster().stop_renewing(at, self.number);
        }
    }

    fn about(&self, error: Error) -> Error {
        error
            .with_mutex(&self.machine.settings().name)
            .with_contender(&self.machine.settings().contender)
    }

    /// Undoes `bid` once more after a call's longest time: a request that was
    /// given up may have been applied since.
    fn tidy_later(&self, bid: Bid) {
        let (engine, terms) = (self.engine.clone(), self.machine.settings().terms);
        let mut random = engine.random();
        self.engine.spawn(async move {
            let clock = engine.clock();
            let over = clock.now() + terms.lease();
            let limit = terms.call_timeout();
            clock.sleep(limit).await;
            for failures in 1.. {
                let leaving = engine.backend().leave(&bid);
                let left = engine.call_within("leave", limit, leaving).await;
                if left.is_ok() || clock.now() >= over {
                    return;
                }
                let pause = wake::backoff(failures, random.fraction());
                clock.sleep(pause).await;
            }
        });
    }
}

impl Drop for Driver {
    /// It has ended, or its runtime has: nothing is renewed any more.
    fn drop(&mut self) {
        self.stop_renewing();
        self.engine.roster().forget(self.number, self.alarm);
        self.end(LossCause::Closed);
        self.is_given_back(GivenBack::Unconfirmed);
        self.life.is_over(self.machine.settings());
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

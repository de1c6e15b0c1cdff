//! The task that carries out what a machine wants.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::event::{Call, Effect, Event, Finish, GivenBack, Notice, Stop};
use super::lease::Lease;
use super::machine::Machine;
use super::roster::Ticket;
use super::settings::{ContentionSettings, Mode};
use super::tenure::Tenure;
use super::trouble::{Doing, TroubleReporter};
use super::{Engine, wake};
use crate::backend::{Backend, Bid, Hints, Interest};
use crate::clock::Sight;
use crate::error::{Error, LossCause};
use crate::model::{ContenderId, MutexName};

/// A running contention. Dropping it stops the contention in the background.
#[derive(Debug)]
pub(crate) struct Contention {
    inbox: mpsc::UnboundedSender<Event>,
    /// What is sent when it is dropped.
    at_drop: Option<Event>,
}

impl Contention {
    /// The same; dropped, it begins no further tenure, and the present one goes
    /// on while its holder likes.
    pub(crate) fn sparing_the_tenure(mut self) -> Self {
        self.at_drop = Some(Event::Stop(Stop::LastTenure));
        self
    }

    /// The same; dropped, no local side is left: its bid is withdrawn or its
    /// grant given back at once.
    pub(crate) fn abandoned_when_dropped(mut self) -> Self {
        self.at_drop = Some(Event::Abandoned);
        self
    }
}

impl Drop for Contention {
    fn drop(&mut self) {
        if let Some(event) = self.at_drop.take() {
            let _ = self.inbox.send(event);
        }
    }
}

/// Says that the local side has ended.
#[derive(Clone, Debug)]
pub(crate) struct Quiescer {
    inbox: mpsc::UnboundedSender<Event>,
    tenure_number: u64,
}

impl Quiescer {
    pub(crate) fn quiesced(&self) {
        let _ = self.inbox.send(Event::Quiesced {
            tenure_number: self.tenure_number,
        });
    }

    /// Takes what was won in hand; false when it went back meanwhile, because
    /// the user did not come. Now the user is there, and it is contended for
    /// again.
    pub(crate) fn pick_up(&self, tenure: &Tenure) -> bool {
        let is_ours = tenure.pick_up();
        if !is_ours {
            let _ = self.inbox.send(Event::Attended {
                tenure_number: self.tenure_number,
            });
        }
        is_ours
    }

    /// The tenure is over before its lease is: it is renewed no more.
    pub(crate) fn forfeit(&self) {
        let _ = self.inbox.send(Event::Expired {
            tenure_number: self.tenure_number,
        });
    }
}

/// Where a contention's notices go. Called on the async worker: must be quick
/// and must not panic.
pub(crate) type Sink = Box<dyn FnMut(Notice) + Send>;

impl Engine {
    /// How a contention behaves under the settings of all.
    pub(crate) fn contention_settings(
        &self,
        name: MutexName,
        contender: ContenderId,
        mode: Mode,
    ) -> ContentionSettings {
        let profile = self.backend().profile();
        let settings = self.settings();
        let terms = self.terms();
        ContentionSettings {
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
        sink: Sink,
    ) -> Contention {
        let (inbox, events) = mpsc::unbounded_channel();
        let driver = Driver {
            engine: self.clone(),
            settings: settings.clone(),
            hear_owner,
            sink,
            inbox: inbox.clone(),
            hints: None,
            ticket: None,
            lease: None,
            sent: self.clock().look_before(),
            tenure_number: 0,
            reporter: self.reporter(&settings.name, Doing::Contending),
        };
        self.spawn(driver.run(settings, events));
        Contention {
            inbox,
            at_drop: Some(Event::Stop(Stop::Wanted)),
        }
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

struct Driver {
    engine: Engine,
    settings: ContentionSettings,
    hear_owner: bool,
    sink: Sink,
    inbox: mpsc::UnboundedSender<Event>,
    hints: Option<Hints>,
    /// The renewal that has been asked for.
    ticket: Option<Ticket>,
    lease: Option<Arc<Lease>>,
    /// What the clocks showed when the request was sent whose answer counts.
    sent: Sight,
    /// The number of the tenure that the lease belongs to.
    tenure_number: u64,
    reporter: TroubleReporter,
}

impl Driver {
    async fn run(
        mut self,
        settings: ContentionSettings,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) {
        let engine = self.engine.clone();
        let closing = engine.closing_token().clone();
        let mut stopped = false;
        // The one call that is on its way. It lives in this task, so that it
        // costs no box of its own.
        let mut on_its_way = pin!(None);
        let (mut machine, mut effects) =
            Machine::start(settings, engine.random(), engine.clock().now());
        loop {
            let mut next = None;
            for effect in effects.drain(..) {
                match self.carry_out(effect) {
                    Follow::Nothing => {}
                    Follow::Event(event) => next = Some(event),
                    Follow::Call(call, limit) => {
                        self.sent = engine.clock().look_before();
                        on_its_way.set(Some(answer(engine.clone(), call, limit)));
                    }
                    Follow::NoCall => on_its_way.set(None),
                }
            }
            if machine.is_finished() {
                return;
            }
            let event = if let Some(event) = next {
                event
            } else {
                let wake_at = machine.wake_at();
                tokio::select! {
                    biased;
                    () = closing.cancelled(), if !stopped => {
                        stopped = true;
                        Event::Stop(Stop::Closed)
                    }
                    // Never ends: the driver itself can write to it.
                    Some(event) = events.recv() => event,
                    () = until(&engine, wake_at) => Event::Timer,
                    event = finished(on_its_way.as_mut()) => event,
                    hint = next_hint(&mut self.hints) => Event::Hint(hint),
                    () = engine.clock().wall_set(), if machine.is_owner() => self.look(),
                }
            };
            if let Event::Renewed { sent, .. } = &event {
                self.sent = *sent;
            }
            effects = machine.on(engine.clock().now(), event);
        }
    }

    /// Carries `effect` out, and says what follows from it at once.
    fn carry_out(&mut self, effect: Effect) -> Follow {
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
                    let (roster, reply) = (self.engine.roster(), self.inbox.clone());
                    let renewal = roster.enter((held, lease), at, deadline, max_batch, reply);
                    self.ticket = Some(renewal);
                }
            }
            Effect::StopRenewing => self.ticket = None,
            Effect::Subscribe => {
                let turn = Interest {
                    name: self.settings.name.clone(),
                    waiter: Some(self.settings.contender.clone()),
                    owner: self.hear_owner,
                };
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
                let clock = self.engine.clock().clone();
                let (tenure, lease) = Tenure::begin(held, clock, deadline, reading, self.sent);
                self.tenure_number = tenure_number;
                self.lease = Some(lease);
                self.reporter.well();
                let done = self.quiescer(tenure_number);
                (self.sink)(Notice::Began(tenure, owner, done));
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
            }
            Effect::End(cause) => self.end(cause),
            Effect::Quiesce {
                tenure_number,
                cause,
            } => return self.quiesce(tenure_number, cause),
            Effect::Observe(owner) => {
                self.reporter.well();
                (self.sink)(Notice::Observed(owner));
            }
            Effect::Trouble(error) => {
                let error = self.about(error);
                self.reporter.failed(&error);
                (self.sink)(Notice::Trouble(error));
            }
            Effect::TidyLater(bid) => self.tidy_later(bid),
            Effect::GivenBack(how) => self.is_given_back(how),
            Effect::Finish(finish) => {
                let was_lost = matches!(finish, Finish::StillRunning)
                    && !self.lease.as_ref().is_some_and(|lease| lease.is_asked());
                if !was_lost {
                    self.engine.note_end(&self.settings.name, &finish);
                }
                if matches!(finish, Finish::Released) {
                    self.reporter.well();
                }
                (self.sink)(Notice::Finished(finish));
            }
        }
        Follow::Nothing
    }

    fn quiesce(&mut self, tenure_number: u64, cause: LossCause) -> Follow {
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
        let done = self.quiescer(tenure_number);
        (self.sink)(Notice::Quiesce(cause, done));
        Follow::Nothing
    }

    /// Looks at the tenure, which may have ended by the clocks.
    fn look(&self) -> Event {
        match &self.lease {
            Some(lease) if lease.is_over() => Event::Expired {
                tenure_number: self.tenure_number,
            },
            _ => Event::Timer,
        }
    }

    fn end(&mut self, cause: LossCause) {
        if let Some(lease) = &self.lease {
            lease.end(cause);
        }
    }

    fn is_given_back(&self, how: GivenBack) {
        if let Some(lease) = &self.lease {
            lease.is_given_back(how);
        }
    }

    fn quiescer(&self, tenure_number: u64) -> Quiescer {
        let inbox = self.inbox.clone();
        Quiescer {
            inbox,
            tenure_number,
        }
    }

    fn about(&self, error: Error) -> Error {
        error
            .with_mutex(&self.settings.name)
            .with_contender(&self.settings.contender)
    }

    /// Undoes `bid` once more after a call's longest time: a request that was
    /// given up may have been applied since.
    fn tidy_later(&self, bid: Bid) {
        let (engine, terms) = (self.engine.clone(), self.settings.terms);
        let mut random = engine.random();
        self.engine.spawn(async move {
            let clock = engine.clock();
            let over = clock.now() + terms.lease();
            clock.sleep(terms.call_timeout()).await;
            for failures in 1.. {
                let leaving = engine.backend().leave(&bid);
                let left = engine.call_within(terms.call_timeout(), leaving).await;
                if left.is_ok() || clock.now() >= over {
                    return;
                }
                clock
                    .sleep(wake::backoff(failures, random.fraction()))
                    .await;
            }
        });
    }
}

impl Drop for Driver {
    /// The task has ended, or its runtime has: nothing is renewed any more.
    fn drop(&mut self) {
        self.end(LossCause::Closed);
        self.is_given_back(GivenBack::Unconfirmed);
    }
}

/// What the store answers to `call`.
async fn answer(engine: Engine, call: Call, limit: Duration) -> Event {
    let backend = engine.backend();
    match &call {
        Call::Acquire(bid) => {
            Event::Acquired(engine.call_within(limit, backend.acquire(bid)).await)
        }
        Call::Release(held) => {
            Event::Released(engine.call_within(limit, backend.release(held)).await)
        }
        Call::Leave(bid) => Event::Left(engine.call_within(limit, backend.leave(bid)).await),
    }
}

async fn until(engine: &Engine, at: Option<crate::clock::Moment>) {
    match at {
        Some(at) => engine.clock().sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn finished<F: Future>(mut call: Pin<&mut Option<F>>) -> F::Output {
    let output = match call.as_mut().as_pin_mut() {
        Some(call) => call.await,
        None => std::future::pending().await,
    };
    call.set(None);
    output
}

async fn next_hint(hints: &mut Option<Hints>) -> crate::backend::Hint {
    if let Some(stream) = hints {
        if let Some(hint) = stream.next().await {
            return hint;
        }
        *hints = None;
    }
    std::future::pending().await
}

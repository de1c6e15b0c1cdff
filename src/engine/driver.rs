//! The task that carries out what a machine wants.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::event::{Call, Effect, Event, Finish, GivenBack, Notice, Stop};
use super::lease::Lease;
use super::machine::Machine;
use super::roster::Ticket;
use super::settings::ContentionSettings;
use super::tenure::Tenure;
use super::trouble::{Doing, TroubleReporter};
use super::{Engine, wake};
use crate::backend::{Backend, Bid, Hints, Interest};
use crate::clock::Sight;
use crate::error::{Error, ErrorKind, LossCause, Outcome};

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

type CallFuture = Pin<Box<dyn Future<Output = Event> + Send>>;

impl Engine {
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
            call: None,
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

struct Driver {
    engine: Engine,
    settings: ContentionSettings,
    hear_owner: bool,
    sink: Sink,
    inbox: mpsc::UnboundedSender<Event>,
    call: Option<CallFuture>,
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
        let closing = engine.0.closing.clone();
        let mut stopped = false;
        let (mut machine, mut effects) =
            Machine::start(settings, engine.random(), engine.clock().now());
        loop {
            let mut next = None;
            for effect in effects.drain(..) {
                next = self.carry_out(effect).or(next);
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
                    event = finished(&mut self.call) => event,
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

    /// Carries `effect` out, and says what follows from it at once, if anything
    /// does.
    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Call(call, limit) => {
                self.sent = self.engine.clock().look_before();
                self.call = Some(self.call(call, limit));
            }
            Effect::DropCall => self.call = None,
            Effect::Renew {
                held,
                at,
                deadline,
                max_batch,
            } => {
                let lease = self.lease.clone()?;
                let reply = self.inbox.clone();
                let roster = &self.engine.0.roster;
                self.ticket = Some(roster.enter((held, lease), at, deadline, max_batch, reply));
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
                return (!alive).then_some(Event::Expired {
                    tenure_number: self.tenure_number,
                });
            }
            Effect::End(cause) => self.end(cause),
            Effect::Quiesce {
                tenure_number,
                cause,
            } => {
                let lease = self.lease.as_ref()?;
                if lease.take_back() {
                    // Its user does not have it in hand: there is no local side to
                    // end.
                    return Some(Event::Quiesced { tenure_number });
                }
                // What is lost cannot be asked to end.
                if matches!(cause, LossCause::Released | LossCause::Closed) {
                    lease.ask_to_end(cause);
                }
                let done = self.quiescer(tenure_number);
                (self.sink)(Notice::Quiesce(cause, done));
            }
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
        None
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

    fn call(&self, call: Call, limit: std::time::Duration) -> CallFuture {
        let engine = self.engine.clone();
        let at = engine.clock().now() + limit;
        Box::pin(async move {
            let backend = engine.backend();
            let clock = engine.clock();
            match &call {
                Call::Acquire(bid) => {
                    let answer = clock.limit(at, backend.acquire(bid)).await;
                    Event::Acquired(answer.unwrap_or_else(|| Err(late(limit))))
                }
                Call::Release(held) => {
                    let answer = clock.limit(at, backend.release(held)).await;
                    Event::Released(answer.unwrap_or_else(|| Err(late(limit))))
                }
                Call::Leave(bid) => {
                    let answer = clock.limit(at, backend.leave(bid)).await;
                    Event::Left(answer.unwrap_or_else(|| Err(late(limit))))
                }
            }
        })
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
                let at = clock.now() + terms.call_timeout();
                let left = clock.limit(at, engine.backend().leave(&bid)).await;
                if matches!(left, Some(Ok(()))) || clock.now() >= over {
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

pub(super) fn late(limit: std::time::Duration) -> Error {
    Error::late(ErrorKind::Timeout, "the store", limit, Outcome::MayHave)
}

async fn until(engine: &Engine, at: Option<crate::clock::Moment>) {
    match at {
        Some(at) => engine.clock().sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn finished(call: &mut Option<CallFuture>) -> Event {
    let event = match call {
        Some(call) => call.await,
        None => std::future::pending().await,
    };
    *call = None;
    event
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

//! [`ContentionLife`]: how far a contention has come, told to all who look on.

use super::Engine;
use super::event::GivenBack;
use super::feed::Standing;
use super::settings::ContentionSettings;
use crate::backend::Backend;
use crate::clock::Moment;
use crate::error::LossCause;
use crate::model::{ContenderId, FencingToken, Purpose};
use crate::telemetry::{NameMeters, Spans, Subject, Waits, story};

/// How far a contention has come. The driver says what happens; here it is
/// told, once.
#[derive(Debug)]
pub(super) struct ContentionLife {
    /// The scheme of the store's URLs.
    store: &'static str,
    stage: LifeStage,
    /// When it began to wait, or to own.
    since: Moment,
    /// Whether it has been told that another owns.
    is_refused: bool,
    spans: Spans,
    meters: NameMeters,
    /// Whether its standing is another since it was last asked for.
    is_changed: bool,
    /// Of an office; the waiters of a lock stand in its local queue.
    waits: Option<Waits>,
}

/// What a contention is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LifeStage {
    Waiting,
    Owning(FencingToken),
    /// It owned, and gives back what the store may still hold.
    GivingBack(FencingToken, LossCause),
}

impl ContentionLife {
    pub(super) fn begin(engine: &Engine, of: &ContentionSettings, now: Moment) -> Self {
        let store = engine.backend().profile().scheme;
        let meters = engine.meters().of(of.purpose, &of.name);
        let is_office = of.purpose != Purpose::Lock;
        Self {
            waits: is_office.then(|| Waits::begin(meters.clone())),
            meters,
            store,
            stage: LifeStage::Waiting,
            since: now,
            is_refused: false,
            is_changed: true,
            spans: Spans::begin(&subject(store, of)),
        }
    }

    /// What `call` begins belongs to the present span.
    pub(super) fn inside<T>(&mut self, of: &ContentionSettings, call: impl FnOnce() -> T) -> T {
        if self.stage == LifeStage::Waiting {
            self.spans.waits(&subject(self.store, of));
        }
        self.spans.inside(call)
    }

    /// The store has not given it, because of `owner`, or without one.
    pub(super) fn is_refused(&mut self, of: &ContentionSettings, owner: Option<&ContenderId>) {
        let is_news = !std::mem::replace(&mut self.is_refused, true);
        if is_news && self.stage == LifeStage::Waiting {
            story::waits(&subject(self.store, of), owner);
        }
    }

    pub(super) fn owns(&mut self, of: &ContentionSettings, token: FencingToken, now: Moment) {
        let subject = subject(self.store, of);
        self.spans.owns(&subject, token);
        story::owns(&subject, token, now.since(self.since));
        self.meters.owns();
        if let Some(waits) = self.waits.take() {
            waits.won_after(|| now.since(self.since));
        }
        self.go(LifeStage::Owning(token));
        self.since = now;
    }

    pub(super) fn is_extended(&self, of: &ContentionSettings) {
        if let LifeStage::Owning(token) = self.stage {
            story::extended(&subject(self.store, of), token);
        }
    }

    /// The tenure is over.
    pub(super) fn ends(&mut self, of: &ContentionSettings, cause: LossCause, now: Moment) {
        let LifeStage::Owning(token) = self.stage else {
            return;
        };
        self.go(LifeStage::GivingBack(token, cause));
        let held = now.since(self.since);
        self.meters.owned_for(held);
        if !is_wished(cause) {
            self.spans.ends(cause.word());
            self.meters.lost(cause);
            story::lost(&subject(self.store, of), token, cause, held);
        }
    }

    /// What was owned has been given back, or cannot be any more.
    pub(super) fn is_given_back(&mut self, of: &ContentionSettings, how: GivenBack, now: Moment) {
        let LifeStage::GivingBack(token, cause) = self.stage else {
            return;
        };
        if is_wished(cause) {
            let outcome = match how {
                GivenBack::Confirmed => "confirmed",
                GivenBack::Lost(_) => "lost",
                GivenBack::Unconfirmed => "unconfirmed",
            };
            self.spans.ends(outcome);
            let held = now.since(self.since);
            story::gave_back(&subject(self.store, of), token, outcome, cause, held);
        }
        self.go(LifeStage::Waiting);
        self.since = now;
        self.is_refused = false;
        if of.purpose != Purpose::Lock {
            self.waits = Some(Waits::begin(self.meters.clone()));
        }
    }

    /// Its standing and since when, if that is news.
    pub(super) fn news(&mut self) -> Option<(Standing, Moment)> {
        let is_changed = std::mem::take(&mut self.is_changed);
        is_changed.then(|| (self.standing(), self.since))
    }

    fn standing(&self) -> Standing {
        match self.stage {
            LifeStage::Waiting => Standing::Waiting,
            LifeStage::Owning(token) => Standing::Owning(token),
            LifeStage::GivingBack(token, _) => Standing::Leaving(token),
        }
    }

    fn go(&mut self, stage: LifeStage) {
        self.stage = stage;
        self.is_changed = true;
    }

    /// Its last word has been said, or never will be.
    pub(super) fn is_over(&mut self, of: &ContentionSettings) {
        if self.stage == LifeStage::Waiting && std::mem::take(&mut self.is_refused) {
            story::withdrew(&subject(self.store, of));
        }
        self.spans.ends("stopped");
        self.waits = None;
    }
}

fn subject<'a>(store: &'static str, of: &'a ContentionSettings) -> Subject<'a> {
    Subject {
        purpose: of.purpose,
        store,
        mutex: &of.name,
        contender: &of.contender,
    }
}

/// Whether the end is one that its user asked for, or the close of the coordinator.
fn is_wished(cause: LossCause) -> bool {
    matches!(cause, LossCause::Released | LossCause::Closed)
}

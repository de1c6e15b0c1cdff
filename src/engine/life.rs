//! [`ContentionLife`]: how far a contention has come, told to all who look on.

use super::Engine;
use super::event::GivenBack;
use super::feed::{ContenderStatus, Standing};
use super::settings::ContentionSettings;
use crate::clock::Moment;
use crate::error::LossCause;
use crate::model::{ContenderId, FencingToken, MutexName, Purpose};
use crate::sync::Mutex;
use crate::telemetry::{NameMeters, Spans, Subject, Waits, story};

/// Whose life it is, and how far it has come: within reach of those who look
/// on, also while a thread works with the driver.
#[derive(Debug)]
pub(super) struct ContentionView {
    engine: Engine,
    purpose: Purpose,
    mutex: MutexName,
    contender: ContenderId,
    /// Its standing, and since when it is that. Its life says so, and has the same.
    stage: Mutex<StandingSince>,
}

/// A standing, and since when it is that.
type StandingSince = (Standing, Moment);

impl ContentionView {
    #[inline]
    pub(super) fn new(engine: &Engine, of: &ContentionSettings, now: Moment) -> Self {
        Self {
            engine: engine.clone(),
            purpose: of.purpose,
            mutex: of.name.clone(),
            contender: of.contender.clone(),
            stage: Mutex::new((Standing::Waiting, now)),
        }
    }

    /// What it shares with all others.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn status(&self, now: Moment) -> ContenderStatus {
        let (standing, since) = *self.stage.lock();
        ContenderStatus {
            purpose: self.purpose,
            mutex: self.mutex.clone(),
            contender: self.contender.clone(),
            standing,
            for_how_long: now.since(since),
        }
    }

    /// It is gone.
    pub(super) fn is_over(&self) {
        self.stage.lock().0 = Standing::Over;
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            purpose: self.purpose,
            store: self.engine.scheme(),
            mutex: &self.mutex,
            contender: &self.contender,
        }
    }

    /// Whether it stands for an office; the waiters of a lock stand in its local
    /// queue.
    fn is_office(&self) -> bool {
        !self.purpose.is_lock()
    }
}

/// The life of a contention. The driver says what happens; here it is told, once,
/// and outside of the view's mutex: subscribers and recorders are foreign code.
#[derive(Debug)]
pub(super) struct ContentionLife {
    stage: StandingSince,
    /// Whether it has been told that another owns.
    is_refused: bool,
    /// Whether its standing is another since that was last asked.
    is_changed: bool,
    /// Why the tenure ended that is being given back.
    ended_by: Option<LossCause>,
    spans: Spans,
    meters: NameMeters,
    /// Of an office.
    waits: Option<Waits>,
}

impl ContentionLife {
    #[inline]
    pub(super) fn begin(engine: &Engine, view: &ContentionView) -> Self {
        let meters = engine.meters().of(view.purpose, &view.mutex);
        let waits = || Waits::begin(meters.clone());
        Self {
            stage: *view.stage.lock(),
            is_refused: false,
            is_changed: true,
            ended_by: None,
            spans: Spans::begin(&view.subject()),
            waits: view.is_office().then(waits),
            meters,
        }
    }

    #[inline]
    fn stands(&mut self, view: &ContentionView, stage: StandingSince) {
        self.stage = stage;
        *view.stage.lock() = stage;
    }

    /// It bids, perhaps again.
    #[inline]
    pub(super) fn bids(&mut self, view: &ContentionView) {
        self.spans.waits(&view.subject());
    }

    /// What `call` begins belongs to the present span.
    #[inline]
    pub(super) fn inside<T>(&self, call: impl FnOnce() -> T) -> T {
        self.spans.inside(call)
    }

    /// The store has not given it, because of `owner`, or without one.
    pub(super) fn is_refused(&mut self, view: &ContentionView, owner: Option<&ContenderId>) {
        let is_news = !std::mem::replace(&mut self.is_refused, true);
        if is_news && self.stage.0 == Standing::Waiting {
            story::waits(&view.subject(), owner);
        }
    }

    #[inline]
    pub(super) fn owns(&mut self, view: &ContentionView, token: FencingToken, now: Moment) {
        let (_, since) = self.stage;
        self.is_changed = true;
        self.spans.owns(&view.subject(), token);
        story::owns(&view.subject(), token, now.since(since));
        self.meters.owns();
        // Last: should a listener have panicked, nothing is told of its end either.
        self.stands(view, (Standing::Owning(token), now));
        if let Some(waits) = self.waits.take() {
            waits.won_after(|| now.since(since));
        }
    }

    pub(super) fn is_extended(&self, view: &ContentionView) {
        let (standing, _) = self.stage;
        if let Standing::Owning(token) = standing {
            story::extended(&view.subject(), token);
        }
    }

    /// The tenure is over.
    #[inline]
    pub(super) fn ends(&mut self, view: &ContentionView, cause: LossCause, now: Moment) {
        let (Standing::Owning(token), since) = self.stage else {
            return;
        };
        self.stands(view, (Standing::Leaving(token), since));
        self.is_changed = true;
        self.ended_by = Some(cause);
        let held = now.since(since);
        self.meters.owned_for(held);
        if !is_wished(cause) {
            self.spans.ends(cause.word());
            self.meters.lost(cause);
            story::lost(&view.subject(), token, cause, held);
        }
    }

    /// What was owned has been given back, or cannot be any more. `goes_on`:
    /// it waits again; what has ended is not shown as waiting.
    #[inline]
    pub(super) fn is_given_back(
        &mut self,
        view: &ContentionView,
        how: GivenBack,
        now: Moment,
        goes_on: bool,
    ) {
        let (standing, since) = self.stage;
        let (Standing::Leaving(token), Some(cause)) = (standing, self.ended_by.take()) else {
            return;
        };
        if is_wished(cause) {
            let outcome = match how {
                GivenBack::Confirmed => "confirmed",
                GivenBack::Lost(_) => "lost",
                GivenBack::Unconfirmed => "unconfirmed",
            };
            self.spans.ends(outcome);
            story::gave_back(&view.subject(), token, outcome, cause, now.since(since));
        }
        self.is_refused = false;
        if goes_on {
            self.stands(view, (Standing::Waiting, now));
            self.is_changed = true;
            self.waits = view.is_office().then(|| Waits::begin(self.meters.clone()));
        }
    }

    /// Whether its standing is another since this was last asked.
    pub(super) fn is_news(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Its last word has been said, or never will be.
    pub(super) fn is_over(&mut self, view: &ContentionView) {
        let is_waiting = self.stage.0 == Standing::Waiting;
        if std::mem::take(&mut self.is_refused) && is_waiting {
            story::withdrew(&view.subject());
        }
        self.spans.ends("stopped");
        self.waits = None;
    }
}

/// Whether the end is one that its user asked for, or the close of the coordinator.
fn is_wished(cause: LossCause) -> bool {
    matches!(cause, LossCause::Released | LossCause::Closed)
}

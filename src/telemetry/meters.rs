//! [`Meters`]: the metrics of one coordinator, through the `metrics` facade.
//!
//! What is counted often has its handle made once: a recorder must be installed
//! before the coordinator is made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use super::names::*;
use crate::error::{Error, LossCause};
use crate::model::{MutexName, Purpose};
use crate::sync::Mutex;

/// So many names of each purpose have metrics of their own; all others share
/// those of [`OTHER`]. A program that makes names out of data must not fill a server's
/// memory with them.
const MOST_NAMES: usize = 100;

/// The label of names beyond the limit.
const OTHER: &str = "other";

/// How a run can end, as [`NameMeters::run_ended`] is told.
const OUTCOMES: [&str; 5] = ["done", "failed", "panicked", "timed_out", "cut"];

/// Why a tenure can be lost.
const LOSSES: [LossCause; 5] = [
    LossCause::Deadline,
    LossCause::Taken,
    LossCause::Unclaimed,
    LossCause::ClockJump,
    LossCause::Forked,
];

/// The metrics of one coordinator.
#[derive(Clone)]
pub(crate) struct Meters(Arc<MetersParts>);

struct MetersParts {
    store: &'static str,
    names: Mutex<BTreeMap<Purpose, Names>>,
    calls: Mutex<BTreeMap<&'static str, Histogram>>,
    renewals: Counter,
    renewal_failures: Counter,
    in_trouble: Gauge,
}

#[derive(Default)]
struct Names {
    known: BTreeMap<MutexName, NameMeters>,
    others: Option<NameMeters>,
}

impl Meters {
    /// Whether anything is counted: what only counts is not even looked at
    /// without.
    pub(crate) const IS_ON: bool = true;

    pub(crate) fn new(store: &'static str) -> Self {
        describe();
        // Shown before anything fails. Coordinators of one kind of store share
        // it, so none may set it.
        let in_trouble = gauge!(GAUGE_TROUBLED, "store" => store);
        in_trouble.increment(0.0);
        Self(Arc::new(MetersParts {
            store,
            names: Mutex::default(),
            calls: Mutex::default(),
            renewals: counter!(COUNTER_RENEWALS, "store" => store),
            renewal_failures: counter!(COUNTER_RENEWAL_FAILURES, "store" => store),
            in_trouble,
        }))
    }

    /// Those of `name`, or of all names beyond the limit.
    pub(crate) fn of(&self, purpose: Purpose, name: &MutexName) -> NameMeters {
        let mut names = self.0.names.lock();
        let names = names.entry(purpose).or_default();
        if let Some(meters) = names.known.get(name) {
            return meters.clone();
        }
        if names.known.len() < MOST_NAMES {
            let meters = NameMeters::new(purpose, name.as_str());
            names.known.insert(name.clone(), meters.clone());
            return meters;
        }
        let others = names
            .others
            .get_or_insert_with(|| NameMeters::new(purpose, OTHER));
        others.clone()
    }

    /// `operation` of the store has ended, well or not.
    pub(crate) fn called(
        &self,
        operation: &'static str,
        took: impl FnOnce() -> Duration,
        error: Option<&Error>,
    ) {
        let store = self.0.store;
        // A recorder is foreign code: it is told outside the lock.
        let known = self.0.calls.lock().get(operation).cloned();
        let call = known.unwrap_or_else(|| {
            let call = histogram!(HISTOGRAM_CALL, "store" => store, "operation" => operation);
            self.0.calls.lock().insert(operation, call.clone());
            call
        });
        call.record(took());
        if let Some(error) = error {
            let kind = error.kind().word();
            counter!(COUNTER_CALL_ERRORS, "store" => store, "operation" => operation, "kind" => kind)
                .increment(1);
        }
    }

    /// One lease has been renewed, or not.
    pub(crate) fn renewed(&self, is_well: bool) {
        let counter = match is_well {
            true => &self.0.renewals,
            false => &self.0.renewal_failures,
        };
        counter.increment(1);
    }

    /// Something fails at the store of this coordinator.
    pub(crate) fn is_in_trouble(&self) {
        self.0.in_trouble.increment(1.0);
    }

    /// Nothing fails any more.
    pub(crate) fn is_well(&self) {
        self.0.in_trouble.decrement(1.0);
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").finish_non_exhaustive()
    }
}

/// The metrics of one name.
#[derive(Clone)]
pub(crate) struct NameMeters(Arc<NameMetersParts>);

struct NameMetersParts {
    purpose: Purpose,
    label: String,
    held: Gauge,
    /// Of an office.
    leading: Option<Gauge>,
    waiting: Gauge,
    acquisitions: Counter,
    /// Of a lock.
    hand_overs: Counter,
    wait: Histogram,
    hold: Histogram,
}

impl NameMeters {
    fn new(purpose: Purpose, label: &str) -> Self {
        let labels = [
            ("purpose", purpose.word().to_owned()),
            ("mutex", label.to_owned()),
        ];
        let hand_overs = match purpose.is_lock() {
            true => counter!(COUNTER_HAND_OVERS, "mutex" => label.to_owned()),
            false => Counter::noop(),
        };
        let leading = (!purpose.is_lock()).then(|| gauge!(GAUGE_LEADING, &labels));
        let meters = Self(Arc::new(NameMetersParts {
            purpose,
            label: label.to_owned(),
            held: gauge!(GAUGE_HELD, &labels),
            leading,
            waiting: gauge!(GAUGE_WAITING, &labels),
            hand_overs,
            acquisitions: counter!(COUNTER_ACQUISITIONS, &labels),
            wait: histogram!(HISTOGRAM_WAIT, &labels),
            hold: histogram!(HISTOGRAM_HOLD, &labels),
        }));
        meters.begin_at_zero();
        meters
    }

    /// What is counted seldom is shown before it happens: a server that first sees
    /// a counter at one does not see it rise. Not of locks, of which there are
    /// many.
    fn begin_at_zero(&self) {
        if !self.0.purpose.is_lock() {
            for cause in LOSSES {
                self.losses(cause).increment(0);
            }
        }
        if self.0.purpose == Purpose::Schedule {
            for outcome in OUTCOMES {
                self.runs(outcome).increment(0);
            }
        }
    }

    fn losses(&self, cause: LossCause) -> Counter {
        let (purpose, mutex) = (self.0.purpose.word(), self.0.label.clone());
        counter!(COUNTER_LOSSES, "purpose" => purpose, "mutex" => mutex, "cause" => cause.word())
    }

    fn runs(&self, outcome: &'static str) -> Counter {
        counter!(COUNTER_RUNS, "schedule" => self.0.label.clone(), "outcome" => outcome)
    }

    pub(crate) fn waits(&self) {
        self.0.waiting.increment(1.0);
    }

    pub(crate) fn waits_no_more(&self) {
        self.0.waiting.decrement(1.0);
    }

    pub(crate) fn won_after(&self, waited: impl FnOnce() -> Duration) {
        self.0.acquisitions.increment(1);
        self.0.wait.record(waited());
    }

    pub(crate) fn owns(&self) {
        self.0.held.increment(1.0);
        if let Some(leading) = &self.0.leading {
            leading.increment(1.0);
        }
    }

    pub(crate) fn owned_for(&self, held: Duration) {
        self.0.held.decrement(1.0);
        self.0.hold.record(held);
        if let Some(leading) = &self.0.leading {
            leading.decrement(1.0);
        }
    }

    pub(crate) fn lost(&self, cause: LossCause) {
        self.losses(cause).increment(1);
    }

    pub(crate) fn handed_on(&self) {
        self.0.hand_overs.increment(1);
    }

    /// A run of the schedule begins.
    pub(crate) fn run_begins(&self, late: Duration) {
        histogram!(HISTOGRAM_LATE, "schedule" => self.0.label.clone()).record(late);
    }

    /// A run has ended, at `at` milliseconds since 1970 on the store's clock.
    pub(crate) fn run_ended(&self, outcome: &'static str, took: Duration, at: u64) {
        let schedule = || self.0.label.clone();
        self.runs(outcome).increment(1);
        histogram!(HISTOGRAM_RUN, "schedule" => schedule()).record(took);
        if outcome == "done" {
            self.ended_well(at);
        }
    }

    /// The last run that ended well did so at `at`, here or elsewhere.
    pub(crate) fn ended_well(&self, at: u64) {
        #[expect(clippy::cast_precision_loss)] // Milliseconds are precise enough.
        let at = at as f64 / 1000.0;
        gauge!(GAUGE_LAST_SUCCESS, "schedule" => self.0.label.clone()).set(at);
    }

    pub(crate) fn skipped(&self, ticks: u64) {
        counter!(COUNTER_SKIPPED, "schedule" => self.0.label.clone()).increment(ticks);
    }
}

impl fmt::Debug for NameMeters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameMeters").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use metrics::{HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};

    use super::*;

    /// A recorder that uses the meters while it is told of a value, once.
    #[derive(Clone, Default)]
    struct NestedRecorder(Arc<Mutex<Option<Meters>>>);

    impl HistogramFn for NestedRecorder {
        fn record(&self, _: f64) {
            let meters = self.0.lock().take();
            if let Some(meters) = meters {
                meters.called("owner", || Duration::ZERO, None);
            }
        }
    }

    impl Recorder for NestedRecorder {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
            Counter::noop()
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::from_arc(Arc::new(self.clone()))
        }
    }

    #[test]
    fn a_recorder_may_call_the_store_itself() {
        let recorder = NestedRecorder::default();
        metrics::with_local_recorder(&recorder, || {
            let meters = Meters::new("memory");
            *recorder.0.lock() = Some(meters.clone());
            meters.called("acquire", || Duration::ZERO, None);
            assert_eq!(meters.0.calls.lock().len(), 2);
        });
    }
}

//! [`TestRecorder`]: all metrics of this thread, as a test reads them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata,
    SharedString, Unit,
};

type RecordedValues = Arc<Mutex<BTreeMap<String, f64>>>;

/// Keeps each metric under `name{label="value",…}`: of a histogram, how many
/// values it has had and their sum.
#[derive(Clone, Default)]
pub(crate) struct TestRecorder(RecordedValues);

impl TestRecorder {
    pub(crate) fn get(&self, key: &str) -> f64 {
        // Not with the lock in hand: what is dropped in a panic counts too.
        let values = self.0.lock().unwrap().clone();
        let Some(value) = values.get(key) else {
            panic!("no {key} among {values:#?}");
        };
        *value
    }

    /// How many keys begin with `name`.
    pub(crate) fn count(&self, name: &str) -> usize {
        let values = self.0.lock().unwrap();
        values.keys().filter(|key| key.starts_with(name)).count()
    }
}

struct RecordedMetric {
    values: RecordedValues,
    key: String,
}

impl RecordedMetric {
    fn change(&self, suffix: &str, change: impl FnOnce(&mut f64)) {
        let mut values = self.values.lock().unwrap();
        change(values.entry(format!("{}{suffix}", self.key)).or_default());
    }
}

impl CounterFn for RecordedMetric {
    fn increment(&self, value: u64) {
        self.change("", |counted| *counted += value as f64);
    }

    fn absolute(&self, value: u64) {
        self.change("", |counted| *counted = value as f64);
    }
}

impl GaugeFn for RecordedMetric {
    fn increment(&self, value: f64) {
        self.change("", |shown| *shown += value);
    }

    fn decrement(&self, value: f64) {
        self.change("", |shown| *shown -= value);
    }

    fn set(&self, value: f64) {
        self.change("", |shown| *shown = value);
    }
}

impl HistogramFn for RecordedMetric {
    fn record(&self, value: f64) {
        self.change(" count", |count| *count += 1.0);
        self.change(" sum", |sum| *sum += value);
    }
}

impl TestRecorder {
    fn cell(&self, key: &Key) -> Arc<RecordedMetric> {
        let labels = key.labels();
        let labels = labels.map(|label| format!("{}={:?}", label.key(), label.value()));
        let labels: Vec<_> = labels.collect();
        Arc::new(RecordedMetric {
            values: Arc::clone(&self.0),
            key: format!("{}{{{}}}", key.name(), labels.join(",")),
        })
    }
}

impl metrics::Recorder for TestRecorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let cell = self.cell(key);
        // As an exporter shows it: from its registration on.
        cell.change("", |_| ());
        Counter::from_arc(cell)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.cell(key))
    }
}

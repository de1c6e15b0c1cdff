//! [`Registry`]: what the library counts, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// The upper ends of the buckets, in seconds: from a call in memory to a day.
const BUCKETS: [f64; 16] = [
    0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 3600.0,
    21_600.0, 86_400.0,
];

/// All metrics of this process.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<BTreeMap<String, MetricFamily>>>);

/// All series of one name.
#[derive(Default)]
struct MetricFamily {
    help: String,
    /// By their labels, as they are written.
    series: BTreeMap<String, Series>,
}

enum Series {
    Counter(Arc<WholeNumber>),
    Gauge(Arc<Decimal>),
    Histogram(Arc<Buckets>),
}

#[derive(Default)]
struct WholeNumber(AtomicU64);

/// A number by its bits.
#[derive(Default)]
struct Decimal(AtomicU64);

#[derive(Default)]
struct Buckets {
    counts: [AtomicU64; BUCKETS.len()],
    count: AtomicU64,
    sum: Decimal,
}

impl Registry {
    /// Counts from now on in this process.
    pub(crate) fn install() -> Self {
        let registry = Self::default();
        // Another one is there in tests only.
        let _ = metrics::set_global_recorder(registry.clone());
        registry
    }

    /// All of it, in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in &*self.families() {
            let Some(first) = family.series.values().next() else {
                continue;
            };
            let kind = match first {
                Series::Counter(_) => "counter",
                Series::Gauge(_) => "gauge",
                Series::Histogram(_) => "histogram",
            };
            let _ = writeln!(text, "# HELP {name} {}", family.help);
            let _ = writeln!(text, "# TYPE {name} {kind}");
            for (labels, series) in &family.series {
                series.write(&mut text, name, labels);
            }
        }
        text
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<String, MetricFamily>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, name: &KeyName, help: &SharedString) {
        let mut families = self.families();
        let family = families.entry(name.as_str().to_owned()).or_default();
        family.help = help.replace('\\', "\\\\").replace('\n', "\\n");
    }

    /// The series of `key`, made by `new` if it is the first of it.
    fn series<T>(
        &self,
        key: &Key,
        new: impl FnOnce() -> Series,
        found: impl FnOnce(&Series) -> Option<T>,
    ) -> Option<T> {
        let mut labels: Vec<_> = key
            .labels()
            .map(|label| format!("{}=\"{}\"", label.key(), escaped(label.value())))
            .collect();
        labels.sort();
        let mut families = self.families();
        let family = families.entry(key.name().to_owned()).or_default();
        found(family.series.entry(labels.join(",")).or_insert_with(new))
    }
}

/// A label's value, as the format has it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

impl Series {
    fn write(&self, text: &mut String, name: &str, labels: &str) {
        let in_braces = |labels: &str| match labels {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        };
        let shown = in_braces(labels);
        let _ = match self {
            Self::Counter(number) => {
                writeln!(text, "{name}{shown} {}", number.0.load(Ordering::Relaxed))
            }
            Self::Gauge(number) => writeln!(text, "{name}{shown} {}", number.get()),
            Self::Histogram(buckets) => {
                let comma = if labels.is_empty() { "" } else { "," };
                let mut sum = 0;
                for (end, count) in BUCKETS.iter().zip(&buckets.counts) {
                    sum += count.load(Ordering::Relaxed);
                    let labels = in_braces(&format!("{labels}{comma}le=\"{end}\""));
                    let _ = writeln!(text, "{name}_bucket{labels} {sum}");
                }
                let count = buckets.count.load(Ordering::Relaxed).max(sum);
                let labels = in_braces(&format!("{labels}{comma}le=\"+Inf\""));
                let _ = writeln!(text, "{name}_bucket{labels} {count}");
                let _ = writeln!(text, "{name}_sum{shown} {}", buckets.sum.get());
                writeln!(text, "{name}_count{shown} {count}")
            }
        };
    }
}

impl CounterFn for WholeNumber {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }
}

impl Decimal {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn add(&self, value: f64) {
        let sum = |bits| Some((f64::from_bits(bits) + value).to_bits());
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }
}

impl GaugeFn for Decimal {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

impl HistogramFn for Buckets {
    fn record(&self, value: f64) {
        if let Some(bucket) = BUCKETS.iter().position(|end| value <= *end) {
            self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.add(value);
    }
}

impl Recorder for Registry {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let new = || Series::Counter(Arc::default());
        let found = self.series(key, new, |series| match series {
            Series::Counter(number) => Some(Arc::clone(number)),
            _ => None,
        });
        found.map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let new = || Series::Gauge(Arc::default());
        let found = self.series(key, new, |series| match series {
            Series::Gauge(number) => Some(Arc::clone(number)),
            _ => None,
        });
        found.map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let new = || Series::Histogram(Arc::default());
        let found = self.series(key, new, |series| match series {
            Series::Histogram(buckets) => Some(Arc::clone(buckets)),
            _ => None,
        });
        found.map_or_else(Histogram::noop, Histogram::from_arc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_written_as_prometheus_reads_them() {
        let registry = Registry::default();
        metrics::with_local_recorder(&registry, || {
            metrics::describe_counter!("a_total", "How\nmany.");
            metrics::counter!("a_total", "mutex" => "x\"\\\n", "by" => "me").increment(2);
            metrics::gauge!("b").set(1.5);
            metrics::histogram!("c_seconds", "of" => "it").record(0.02);
            metrics::histogram!("c_seconds", "of" => "it").record(1e9);
        });
        let text = registry.text();
        for line in [
            "# HELP a_total How\\nmany.",
            "# TYPE a_total counter",
            r#"a_total{by="me",mutex="x\"\\\n"} 2"#,
            "# TYPE b gauge",
            "b 1.5",
            "# TYPE c_seconds histogram",
            r#"c_seconds_bucket{of="it",le="0.01"} 0"#,
            r#"c_seconds_bucket{of="it",le="0.05"} 1"#,
            r#"c_seconds_bucket{of="it",le="+Inf"} 2"#,
            r#"c_seconds_sum{of="it"} 1000000000.02"#,
            r#"c_seconds_count{of="it"} 2"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}

//! What schedules log: failures at ERROR, in a span with the worker's name.
//!
//! A binary of its own: whether an event is of interest is remembered for the
//! whole process, and threads of other tests would have their say in it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use tenure::Coordinator;
use tenure::clock::Clock;
use tenure::schedule::ScheduleConfig;
use tenure::stores::memory::Memory;

/// Keeps every event of schedules, with the span it stands in.
#[derive(Clone, Default)]
struct Log {
    lines: Arc<Mutex<Vec<(Level, String)>>>,
    spans: Arc<Mutex<Vec<String>>>,
    entered: Arc<Mutex<Vec<u64>>>,
    next: Arc<AtomicU64>,
}

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tenure::schedule"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.spans.lock().unwrap().push(fields.0);
        Id::from_u64(self.next.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = self.entered.lock().unwrap().last().copied();
        let spans = self.spans.lock().unwrap();
        let span = span.map_or("", |id| spans[id as usize - 1].as_str());
        let line = (*event.metadata().level(), format!("{span}{}", fields.0));
        self.lines.lock().unwrap().push(line);
    }

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.entered.lock().unwrap().pop();
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_as_errors_under_the_name_of_the_worker() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let (clock, seconds) = (Clock::tokio(), Duration::from_secs);
    let store = Memory::with_clock(clock.clone());
    let builder = Coordinator::builder().clock(clock);
    let coordinator = builder.with_backend(store).unwrap();
    let config = ScheduleConfig::rate(Duration::ZERO, seconds(10))
        .and_then(|config| config.with_time_limit(seconds(2)))
        .unwrap();
    let scheduler = coordinator.scheduler("report", config).unwrap();
    let scheduler = scheduler.with_worker("reporter").unwrap();
    let handle = scheduler
        .start(|tick| async move {
            tracing::info!(target: "tenure::schedule", "in the run");
            match tick.number() {
                0 => return Err("no paper"),
                1 => panic!("paper jam"),
                2 => std::future::pending().await,
                _ => {}
            }
            Ok(())
        })
        .unwrap();
    while handle.status().runs < 4 {
        tokio::time::sleep(seconds(1)).await;
    }
    handle.stop().await.unwrap();
    let lines = log.lines.lock().unwrap();
    let errors: Vec<_> = lines.iter().filter(|line| line.0 == Level::ERROR).collect();
    assert_eq!(errors.len(), 3, "{errors:#?}");
    for (tick, words) in ["failed: no paper", "panicked: paper jam", "time limit"]
        .iter()
        .enumerate()
    {
        let text = &errors[tick].1;
        assert!(text.contains(words), "{text}");
        for field in [
            "schedule=report",
            "worker=\"reporter\"",
            &format!("tick={tick} "),
        ] {
            assert!(text.contains(field), "{field} in {text}");
        }
    }
    let inside = |line: &&(Level, String)| line.1.contains("in the run");
    let inside: Vec<_> = lines.iter().filter(inside).collect();
    assert_eq!(inside.len(), 4);
    assert!(
        inside
            .iter()
            .all(|line| line.1.contains("worker=\"reporter\""))
    );
}

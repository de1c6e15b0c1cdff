//! [`Log`]: all that is told, as a test reads it.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

/// Keeps every event and every span of this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<LogParts>>);

#[derive(Default)]
struct LogParts {
    lines: Vec<LoggedEvent>,
    spans: Vec<LoggedSpan>,
    entered: Vec<(Id, &'static Metadata<'static>)>,
    metadata: Vec<&'static Metadata<'static>>,
    /// Which span follows from which.
    follows: Vec<String>,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct LoggedEvent {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) message: String,
    pub(crate) fields: String,
}

/// One span.
#[derive(Clone, Debug)]
pub(crate) struct LoggedSpan {
    pub(crate) name: String,
    pub(crate) parent: Option<String>,
    pub(crate) fields: String,
    pub(crate) is_over: bool,
    handles: u32,
}

impl Log {
    /// A log of what this thread tells from now on.
    pub(crate) fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        (log, guard)
    }

    /// The events of `level` and above.
    pub(crate) fn lines(&self, level: Level) -> Vec<LoggedEvent> {
        let kept = self.0.lock().unwrap();
        let lines = kept.lines.iter().filter(|line| line.level <= level);
        lines.cloned().collect()
    }

    /// The messages of `level` and above that are of one target.
    pub(crate) fn messages(&self, level: Level, target: &str) -> Vec<String> {
        let lines = self.lines(level);
        let lines = lines.into_iter().filter(|line| line.target == target);
        lines.map(|line| line.message).collect()
    }

    pub(crate) fn spans(&self, name: &str) -> Vec<LoggedSpan> {
        let kept = self.0.lock().unwrap();
        let spans = kept.spans.iter().filter(|span| span.name == name);
        spans.cloned().collect()
    }

    pub(crate) fn all_spans(&self) -> Vec<LoggedSpan> {
        self.0.lock().unwrap().spans.clone()
    }

    /// As in `holding from waiting`.
    pub(crate) fn follows(&self) -> Vec<String> {
        self.0.lock().unwrap().follows.clone()
    }
}

#[derive(Default)]
struct FieldText {
    message: String,
    rest: String,
}

impl Visit for FieldText {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.rest, "{name}={value:?} "),
        };
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = FieldText::default();
        span.record(&mut fields);
        let mut kept = self.0.lock().unwrap();
        let parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if span.is_contextual() => kept.entered.last().map(|(id, _)| id.into_u64()),
            None => None,
        };
        let parent = parent.map(|id| kept.spans[id as usize - 1].name.clone());
        kept.spans.push(LoggedSpan {
            name: span.metadata().name().to_owned(),
            parent,
            fields: fields.rest,
            is_over: false,
            handles: 1,
        });
        kept.metadata.push(span.metadata());
        Id::from_u64(kept.spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = FieldText::default();
        values.record(&mut fields);
        let mut kept = self.0.lock().unwrap();
        kept.spans[id.into_u64() as usize - 1].fields += &fields.rest;
    }

    fn record_follows_from(&self, span: &Id, from: &Id) {
        let mut kept = self.0.lock().unwrap();
        let name = |id: &Id| kept.spans[id.into_u64() as usize - 1].name.clone();
        let follows = format!("{} from {}", name(span), name(from));
        kept.follows.push(follows);
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = FieldText::default();
        event.record(&mut fields);
        self.0.lock().unwrap().lines.push(LoggedEvent {
            level: *event.metadata().level(),
            target: event.metadata().target().to_owned(),
            message: fields.message,
            fields: fields.rest,
        });
    }

    fn enter(&self, span: &Id) {
        let mut kept = self.0.lock().unwrap();
        let metadata = kept.metadata[span.into_u64() as usize - 1];
        kept.entered.push((span.clone(), metadata));
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }

    fn current_span(&self) -> Current {
        match self.0.lock().unwrap().entered.last() {
            Some((id, metadata)) => Current::new(id.clone(), metadata),
            None => Current::none(),
        }
    }

    fn clone_span(&self, id: &Id) -> Id {
        let mut kept = self.0.lock().unwrap();
        kept.spans[id.into_u64() as usize - 1].handles += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut kept = self.0.lock().unwrap();
        let span = &mut kept.spans[id.into_u64() as usize - 1];
        span.handles -= 1;
        span.is_over = span.handles == 0;
        span.is_over
    }
}

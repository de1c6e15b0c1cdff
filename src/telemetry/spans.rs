//! [`Spans`]: the spans of waiting and of holding.

use tracing::Span;
use tracing::level_filters::LevelFilter;

use super::Subject;
use crate::model::FencingToken;

/// The span that a contention is in at present, if a subscriber listens: at DEBUG
/// for a lock, at INFO for everything else.
///
/// Those of a lock are children of the span in which it is taken. An office
/// outlasts the task that began to stand for it, and a child keeps its parents open:
/// its spans are roots, and the first follows from the span in which it began.
#[derive(Debug)]
pub(crate) struct Spans(Option<Box<OpenSpan>>);

#[derive(Debug)]
struct OpenSpan {
    /// None for an office.
    parent: Span,
    present: Span,
}

macro_rules! life_span {
    ($of:expr, $parent:expr, $name:literal $(, $field:ident = %$value:expr)*) => {
        if $of.is_quiet() {
            tracing::debug_span!(
                target: "tenure::life", parent: $parent, $name,
                purpose = $of.purpose.word(), mutex = %$of.mutex, contender = %$of.contender,
                store = $of.store, outcome = tracing::field::Empty $(, $field = %$value)*
            )
        } else {
            tracing::info_span!(
                target: "tenure::life", parent: $parent, $name,
                purpose = $of.purpose.word(), mutex = %$of.mutex, contender = %$of.contender,
                store = $of.store, outcome = tracing::field::Empty $(, $field = %$value)*
            )
        }
    };
}

impl Spans {
    /// In no span.
    pub(crate) const NONE: Self = Self(None);

    /// `of` begins to wait.
    pub(crate) fn begin(of: &Subject<'_>) -> Self {
        let needed = if of.is_quiet() {
            LevelFilter::DEBUG
        } else {
            LevelFilter::INFO
        };
        if LevelFilter::current() < needed {
            return Self::NONE;
        }
        let caller = Span::current();
        let parent = match of.is_quiet() {
            true => caller.clone(),
            false => Span::none(),
        };
        let present = life_span!(of, &parent, "waiting");
        if parent.is_none() {
            present.follows_from(&caller);
        }
        Self(Some(Box::new(OpenSpan { parent, present })))
    }

    /// It waits, perhaps again.
    pub(crate) fn waits(&mut self, of: &Subject<'_>) {
        if let Some(spans) = &mut self.0
            && spans.present.is_none()
        {
            spans.present = life_span!(of, &spans.parent, "waiting");
        }
    }

    /// It has stopped waiting: it owns.
    pub(crate) fn owns(&mut self, of: &Subject<'_>, token: FencingToken) {
        if let Some(spans) = &mut self.0 {
            spans.present.record("outcome", "won");
            let holding = life_span!(of, &spans.parent, "holding", token = %token);
            holding.follows_from(&spans.present);
            spans.present = holding;
        }
    }

    /// What it was in has ended with `outcome`.
    pub(crate) fn ends(&mut self, outcome: &'static str) {
        if let Some(spans) = &mut self.0 {
            spans.present.record("outcome", outcome);
            spans.present = Span::none();
        }
    }

    /// What `call` begins belongs to the present span.
    pub(crate) fn inside<T>(&self, call: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(spans) => spans.present.in_scope(call),
            None => call(),
        }
    }
}

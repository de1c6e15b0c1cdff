//! Who owned what when, as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tenure_testkit::history::{Event, What};

use crate::judge::{Terms, Violation, tenures};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 18.0;

/// A row for each worker and mutex, a bar for each tenure, a shade for each fault; violations in
/// red. All of it, or what lies between two moments.
#[must_use]
pub fn svg(
    events: &[Event],
    violations: &[Violation],
    span: Option<(Duration, Duration)>,
) -> String {
    let first = events.first().map_or(Duration::ZERO, |event| event.at);
    let last = events.last().map_or(first, |event| event.at);
    let (from, until) = span.unwrap_or((first, last));
    let length = (until.saturating_sub(from)).as_secs_f64().max(0.001);
    let x = |at: Duration| {
        let part = (at.as_secs_f64() - from.as_secs_f64()) / length;
        LEFT + (WIDTH - LEFT) * part.clamp(0.0, 1.0)
    };
    let is_seen = |start: Duration, end: Duration| start <= until && end >= from;

    let mut rows: BTreeMap<String, Vec<(Duration, Duration, String)>> = BTreeMap::new();
    // Their terms do not matter here: only what was told is shown.
    let terms = Terms {
        lease: Duration::ZERO,
        belief: Duration::ZERO,
        returns: false,
    };
    for (name, of_name) in tenures(events, terms) {
        for tenure in of_name.iter().filter(|it| is_seen(it.from, it.until)) {
            let worker = tenure.process.split('.').next().unwrap_or_default();
            let title = format!("{} {name} {}", tenure.process, tenure.id.token);
            let row = rows.entry(format!("{name} {worker}")).or_default();
            row.push((tenure.from, tenure.until, title));
        }
    }
    let height = ROW * (rows.len() as f64 + 3.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n"
    );
    let seen = faults(events, last).filter(|(_, start, end)| is_seen(*start, *end));
    for (lane, (what, start, end)) in seen.enumerate() {
        let (left, width) = (x(start), (x(end) - x(start)).max(1.0));
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{height}\" \
             fill=\"#f5c26b\" opacity=\"0.35\"><title>{what}</title></rect>"
        );
        let top = 10.0 + 11.0 * (lane % 3) as f64;
        if span.is_some() {
            let _ = writeln!(out, "<text x=\"{left:.1}\" y=\"{top}\">{what}</text>");
        }
    }
    for (at, (label, bars)) in rows.iter().enumerate() {
        let top = ROW * (at as f64 + 2.5);
        let _ = writeln!(out, "<text x=\"2\" y=\"{:.1}\">{label}</text>", top + 11.0);
        for (start, end, title) in bars {
            let (left, width) = (x(*start), (x(*end) - x(*start)).max(0.5));
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"13\" \
                 fill=\"#2f6f9f\"><title>{title}</title></rect>"
            );
        }
    }
    for violation in violations {
        let (start, end) = violation.span;
        let (left, width) = (x(start), (x(end) - x(start)).max(2.0));
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{height}\" \
             fill=\"#d00\" opacity=\"0.5\"><title>{:?}</title></rect>",
            violation.kind
        );
    }
    let seconds = format!("{length:.1} s");
    let _ = writeln!(
        out,
        "<text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{seconds}</text>\n</svg>",
        height - 4.0
    );
    out
}

/// From when to when each fault lasted.
fn faults(events: &[Event], last: Duration) -> impl Iterator<Item = (&str, Duration, Duration)> {
    events.iter().enumerate().filter_map(move |(at, event)| {
        let What::Fault {
            what,
            is_over: false,
        } = &event.what
        else {
            return None;
        };
        let is_end = |later: &&Event| {
            matches!(&later.what, What::Fault { what: other, is_over: true } if other == what)
        };
        let end = events[at..].iter().find(is_end);
        Some((&**what, event.at, end.map_or(last, |end| end.at)))
    })
}

//! All that is known of the row that is selected.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};
use tenure_dashboard::status::Row;

use super::draw::bar;
use super::picture::Picture;
use crate::output::{brief, plain};
use crate::view::Palette;

/// The widest that the bar of a lease is.
const LONGEST_BAR: usize = 40;
const LABEL: usize = 11;

/// The details of `row`, in lines of at most `width`.
pub(super) fn lines(
    picture: &Picture,
    row: &Row,
    width: usize,
    now: Instant,
    palette: Palette,
) -> Vec<Line<'static>> {
    let age = picture.age(now);
    let folded = |label, text: &str| folded(label, text, width, palette);
    let mut lines = folded("name", &plain(&row.name));
    if let Some(kind) = row.kind {
        lines.extend(folded("kind", kind));
    }
    if let Some(fault) = &row.fault {
        lines.extend(folded("damaged", &plain(fault)));
    }
    let owner = row.owner.as_deref().map_or_else(|| "free".into(), plain);
    lines.extend(folded("owner", &owner));
    if let Some(token) = row.token {
        lines.extend(folded("token", &token.to_string()));
    }
    if let Some(held) = row.held_ms {
        let since = row.since.as_deref().map(plain);
        let since = since.map_or_else(String::new, |since| format!(", since {since}"));
        let held = brief(Duration::from_millis(held) + age);
        lines.extend(folded("held for", &(held + &since)));
    }
    if let Some(left) = row.left_ms {
        let left = Duration::from_millis(left).saturating_sub(age);
        let room = width.saturating_sub(LABEL + 20).min(LONGEST_BAR);
        let mut spans = vec![label("lease", palette)];
        spans.extend(bar(left, picture.lease, room, palette));
        let told = format!(" {} of {}", brief(left), brief(picture.lease));
        spans.push(Span::styled(told, palette.text()));
        lines.push(Line::from(spans));
    }
    if let Some(holds) = row.holds {
        lines.extend(folded("held", &format!("{holds} times by its holder")));
    }
    for (label, text) in picture.kinds.details(&row.name) {
        lines.extend(folded(label, &text));
    }
    for (number, waiter) in row.waiters.iter().enumerate() {
        let label = if number == 0 { "waiting" } else { "" };
        lines.extend(folded(label, &format!("{}. {}", number + 1, plain(waiter))));
    }
    lines.extend(history(picture, row, now).flat_map(|(label, text)| folded(label, &text)));
    lines
}

/// What has been seen of it, the latest first.
fn history(
    picture: &Picture,
    row: &Row,
    now: Instant,
) -> impl Iterator<Item = (&'static str, String)> {
    let length = brief(picture.history.length(now));
    let mut changes = picture.history.changes(&row.name).peekable();
    let none = changes.peek().is_none();
    let none = none.then(|| ("history", format!("no change of owner for {length}")));
    let told = changes.enumerate().map(move |(number, change)| {
        let ago = brief(now.saturating_duration_since(change.at));
        let ago = format!("{ago:>7}");
        let label = if number == 0 { "history" } else { "" };
        let text = match (&change.owner, change.token) {
            (None, _) => format!("{ago} ago  free"),
            (Some(owner), None) => format!("{ago} ago  {}", plain(owner)),
            (Some(owner), Some(token)) => format!("{ago} ago  {}, token {token}", plain(owner)),
        };
        (label, text)
    });
    told.chain(none)
}

fn label(text: &str, palette: Palette) -> Span<'static> {
    Span::styled(format!(" {text:<10}"), palette.quiet())
}

/// One detail, in as many lines as it needs.
fn folded(name: &str, text: &str, width: usize, palette: Palette) -> Vec<Line<'static>> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(width.saturating_sub(LABEL).max(1));
    let line = |(index, piece): (usize, &[char])| {
        Line::from(vec![
            label(if index == 0 { name } else { "" }, palette),
            Span::styled(piece.iter().collect::<String>(), palette.text()),
        ])
    };
    pieces.enumerate().map(line).collect()
}

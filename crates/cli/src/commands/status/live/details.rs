//! All that is known of the row that is selected.

use std::time::Duration;

use ratatui::text::{Line, Span};
use tenure_dashboard::status::Row;

use crate::output::{brief, plain};
use crate::view::Palette;

/// The details, as they are `age` after the row was seen, in lines of at most
/// `width`.
pub(super) fn lines(
    row: &Row,
    age: Duration,
    width: usize,
    palette: Palette,
) -> Vec<Line<'static>> {
    let dash = || "-".to_owned();
    let length = |millis: u64| Duration::from_millis(millis);
    let held = row.held_ms.map(|held| brief(length(held) + age));
    let since = row
        .since
        .as_deref()
        .map(|since| format!(", since {}", plain(since)));
    let left = row.left_ms.map(|left| length(left).saturating_sub(age));
    let mut told = vec![
        ("name", plain(&row.name)),
        (
            "owner",
            row.owner.as_deref().map_or_else(|| "free".into(), plain),
        ),
        (
            "token",
            row.token.map_or_else(dash, |token| token.to_string()),
        ),
        (
            "held for",
            held.unwrap_or_else(dash) + since.as_deref().unwrap_or_default(),
        ),
        ("time left", left.map_or_else(dash, brief)),
    ];
    told.extend(row.waiters.iter().map(|waiter| ("waits", plain(waiter))));
    told.extend(row.fault.iter().map(|fault| ("damaged", plain(fault))));
    let told = told.into_iter();
    told.flat_map(|(label, text)| folded(label, &text, width, palette))
        .collect()
}

/// One detail, in as many lines as it needs.
fn folded(label: &'static str, text: &str, width: usize, palette: Palette) -> Vec<Line<'static>> {
    const LABEL: usize = 11;
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(width.saturating_sub(LABEL).max(1));
    let line = |(index, piece): (usize, &[char])| {
        let label = if index == 0 { label } else { "" };
        Line::from(vec![
            Span::styled(format!(" {label:<10}"), palette.quiet()),
            Span::raw(piece.iter().collect::<String>()),
        ])
    };
    pieces.enumerate().map(line).collect()
}

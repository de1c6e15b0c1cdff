//! The picture on a screen, of whatever size.

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use tenure_dashboard::status::Row;

use super::details;
use super::history::{CELL, CELLS, sparkline};
use super::picture::Picture;
use crate::commands::columns::{self, BAR, Column, LIVE, Texts};
use crate::output::{brief, plain};
use crate::view::Palette;

/// How many cells the sparkline of one mutex has.
const SPARKS: usize = 8;
/// The least that is left to the table when details are shown.
const LEAST_ROWS: u16 = 4;

pub(super) fn draw(frame: &mut Frame<'_>, picture: &mut Picture, palette: Palette) {
    let now = Instant::now();
    let area = frame.area();
    let width = usize::from(area.width);
    // What was seen before trouble came may not be so any more.
    let is_old = picture.trouble.is_some();
    let shades = if is_old { palette.greyed() } else { palette };
    let selected = picture.selected();
    let details = match selected.filter(|_| picture.controls.has_details) {
        Some(at) => {
            let row = &picture.rows[picture.shown[at]];
            details::lines(picture, row, width, now, shades)
        }
        None => Vec::new(),
    };
    // The head, the header and the keys; and some rows, however much there is to tell.
    let most = area.height.saturating_sub(2 + 1 + 1 + LEAST_ROWS);
    let wanted = match u16::try_from(details.len()) {
        Ok(0) => 0,
        Ok(lines) => lines.saturating_add(1),
        Err(_) => most,
    };
    let [head, body, below, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(1),
        Constraint::Length(wanted.min(most)),
        Constraint::Length(1),
    ])
    .areas(area);
    let head_lines = vec![
        health(picture, now, width, palette),
        summary(picture, now, width, shades),
    ];
    frame.render_widget(Paragraph::new(head_lines), head);
    // One line is the header's.
    let room = usize::from(body.height.saturating_sub(1));
    let count = picture.shown.len();
    picture.controls.scroll(selected, count, room);
    table(frame, body, picture, selected, now, shades);
    pane(frame, below, details, palette);
    frame.render_widget(Paragraph::new(keys(picture, width, palette)), bottom);
}

/// The store: is it well, how old is this, how long did it take.
fn health(picture: &Picture, now: Instant, width: usize, palette: Palette) -> Line<'static> {
    let age = brief(picture.age(now));
    let state = match (&picture.trouble, picture.at) {
        (Some(trouble), Some(_)) => {
            let told = format!("✗ {}; this is {age} old", plain(trouble));
            vec![Span::styled(told, palette.bad())]
        }
        (Some(trouble), None) => {
            vec![Span::styled(format!("✗ {}", plain(trouble)), palette.bad())]
        }
        (None, Some(_)) => {
            let took = picture.took.map_or_else(String::new, brief);
            vec![
                Span::styled("● well", palette.good()),
                Span::styled(format!("  seen {age} ago"), palette.text()),
                Span::styled(format!("  told in {took}"), palette.text()),
            ]
        }
        (None, None) => vec![Span::styled("asking the store", palette.quiet())],
    };
    let mut spans = vec![
        Span::styled(" tenure top", palette.title()),
        Span::styled(format!("  {}  ", picture.store), palette.quiet()),
    ];
    spans.extend(state);
    fitting(spans, width)
}

/// All mutexes together.
fn summary(picture: &Picture, now: Instant, width: usize, palette: Palette) -> Line<'static> {
    if picture.at.is_none() {
        return Line::default();
    }
    let (owned, waiting) = (picture.owned, picture.waiting);
    let mut told = format!(" {owned} owned, {} free", picture.rows.len() - owned);
    if waiting > 0 {
        told += &format!(", {waiting} waiting");
    }
    let mut spans = vec![Span::styled(told, palette.text())];
    let filter = &picture.controls.order.filter;
    if !filter.is_empty() && !picture.controls.is_typing {
        let told = format!("  only {:?}: {}", plain(filter), picture.shown.len());
        spans.push(Span::styled(told, palette.warning()));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    // As many cells as there is room for, and no longer than it was looked.
    let looked = picture.history.length(now).as_secs() / CELL.as_secs() + 1;
    let looked = usize::try_from(looked).unwrap_or(CELLS);
    let cells = (width.saturating_sub(used + 28)).min(CELLS).min(looked);
    if cells > 0 {
        let pulse = picture.history.pulse_of_all(cells, now);
        let changes: u32 = pulse.iter().sum();
        let length = CELL * u32::try_from(cells).unwrap_or(1);
        let length = brief(length.min(picture.history.length(now)));
        spans.push(Span::raw("  "));
        spans.push(Span::styled(sparkline(&pulse), palette.one_of(0)));
        let told = match changes {
            1 => format!(" 1 change in {length}"),
            _ => format!(" {changes} changes in {length}"),
        };
        spans.push(Span::styled(told, palette.quiet()));
    }
    fitting(spans, width)
}

fn table(
    frame: &mut Frame<'_>,
    area: Rect,
    picture: &Picture,
    selected: Option<usize>,
    now: Instant,
    palette: Palette,
) {
    let (age, order) = (picture.age(now), &picture.controls.order);
    let (first, room) = (picture.controls.first, picture.controls.room);
    // Only what is to be seen is made ready: there may be tens of thousands.
    let shown = picture.shown.iter().enumerate().skip(first).take(room);
    let shown: Vec<(usize, &Row)> = shown.map(|(at, row)| (at, &picture.rows[*row])).collect();
    let texts: Vec<Texts> = shown
        .iter()
        .map(|(_, row)| texts(picture, row, age, now))
        .collect();
    let columns = columns::fit(&texts, LIVE, Some(usize::from(area.width)));
    let rows = shown.iter().zip(&texts).map(|((at, row), texts)| {
        let cells = columns.iter().map(|(column, width)| {
            let cell = texts.cell(*column, *width);
            match column {
                Column::Bar => lease(row, cell, age, picture.lease, palette),
                Column::Owner => Cell::from(cell).style(colour(row, palette)),
                Column::Changes => Cell::from(cell).style(palette.one_of(0)),
                _ => Cell::from(cell),
            }
        });
        let line = Cells::new(cells);
        match selected == Some(*at) {
            true => line.style(palette.selected()),
            false => line.style(palette.text()),
        }
    });
    let titles = columns.iter().map(|(column, _)| {
        let title = column.title();
        let mark = if order.is_descending() { "▼" } else { "▲" };
        match order.by.is_in(*column) {
            true => Cell::from(format!("{title}{mark}")),
            false => Cell::from(title).style(palette.quiet()),
        }
    });
    let header = Cells::new(titles.collect::<Vec<_>>());
    let widths = columns.iter().map(|(_, width)| *width);
    let widths = widths.map(|width| Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX)));
    let table = Table::new(rows, widths);
    frame.render_widget(table.column_spacing(2).header(header), area);
}

/// The details below a line, as many as there is room for.
fn pane(frame: &mut Frame<'_>, area: Rect, mut details: Vec<Line<'static>>, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(1));
    if room == 0 {
        return;
    }
    let more = details.len().saturating_sub(room);
    if more > 0 {
        details.truncate(room - 1);
        let told = format!(" and {} lines more", more + 1);
        details.push(Line::from(Span::styled(told, palette.quiet())));
    }
    let rule = "─".repeat(usize::from(area.width));
    details.insert(0, Line::from(Span::styled(rule, palette.quiet())));
    frame.render_widget(Paragraph::new(details), area);
}

/// What can be typed, and where in the table this is.
fn keys(picture: &Picture, width: usize, palette: Palette) -> Line<'static> {
    let controls = &picture.controls;
    if controls.is_typing {
        let typed = format!(" filter: {}█", plain(&controls.order.filter));
        let found = format!("  {} found", picture.shown.len());
        let hint = "  Enter keeps it, Esc clears it";
        let spans = vec![
            Span::styled(typed, palette.title()),
            Span::styled(found, palette.text()),
            Span::styled(hint, palette.quiet()),
        ];
        return fitting(spans, width);
    }
    let (first, count) = (controls.first, picture.shown.len());
    let last = (first + controls.room).min(count);
    let mut spans = Vec::new();
    if last - first < count {
        let place = format!(" {}-{last} of {count}", first + 1);
        spans.push(Span::styled(place, palette.text()));
    }
    let keys = [
        ("q", "ends"),
        ("↑↓", "select"),
        ("←→", "sort"),
        ("/", "filter"),
        ("Enter", "details"),
        ("r", "turn around"),
    ];
    let mut used: usize = spans.iter().map(Span::width).sum();
    for (key, what) in keys {
        let key = format!("{}{key}", if spans.is_empty() { " " } else { "  " });
        let key = Span::styled(key, palette.title());
        let what = Span::styled(format!(" {what}"), palette.quiet());
        used += key.width() + what.width();
        // A key says nothing without its word.
        if used > width {
            break;
        }
        spans.extend([key, what]);
    }
    Line::from(spans)
}

/// The line, without what there is no room for at its end; only what is long
/// loses its own end.
fn fitting(spans: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut line = Line::default();
    let mut left = width;
    for span in spans {
        let length = span.width();
        if length <= left {
            left -= length;
            line.push_span(span);
            continue;
        }
        if length > width / 2 && left > 0 {
            let begin: String = span.content.chars().take(left - 1).collect();
            line.push_span(Span::styled(begin + "…", span.style));
        }
        break;
    }
    line
}

/// A row as it is `age` after it was seen.
fn texts(picture: &Picture, row: &Row, age: Duration, now: Instant) -> Texts {
    let dash = || "-".to_owned();
    let length = Duration::from_millis;
    let total = picture.history.total(&row.name);
    let pulse = picture.history.pulse(&row.name, SPARKS, now);
    Texts {
        name: plain(&row.name),
        kind: row.kind.unwrap_or("-"),
        owner: match (&row.owner, &row.fault) {
            (_, Some(fault)) => plain(fault),
            (Some(owner), None) => plain(owner),
            (None, None) => "free".into(),
        },
        token: row.token.map_or_else(dash, |token| token.to_string()),
        held: row
            .held_ms
            .map_or_else(dash, |held| brief(length(held) + age)),
        left: row
            .left_ms
            .map_or_else(dash, |left| brief(length(left).saturating_sub(age))),
        waiters: match row.waiters.as_slice() {
            [] => dash(),
            [one] => plain(one),
            [first, rest @ ..] => format!("{} and {} more", plain(first), rest.len()),
        },
        waiter_count: row.waiters.len(),
        changes: match total {
            0 => dash(),
            _ => format!("{} {total}", sparkline(&pulse)),
        },
    }
}

fn colour(row: &Row, palette: Palette) -> Style {
    match (&row.owner, &row.fault) {
        (_, Some(_)) => palette.bad(),
        (Some(_), None) => palette.good(),
        (None, None) => palette.quiet(),
    }
}

/// What is left of a lease, as a bar and as a time.
fn lease(
    row: &Row,
    time: String,
    age: Duration,
    lease: Duration,
    palette: Palette,
) -> Cell<'static> {
    let Some(left) = row.left_ms else {
        return Cell::from("-");
    };
    let left = Duration::from_millis(left).saturating_sub(age);
    let mut spans = bar(left, lease, BAR - 1, palette).to_vec();
    spans.push(Span::raw(format!(" {time}")));
    Cell::from(Line::from(spans))
}

/// A bar whose whole length, `room`, is the lease.
pub(super) fn bar(
    left: Duration,
    lease: Duration,
    room: usize,
    palette: Palette,
) -> [Span<'static>; 2] {
    let part = left.as_secs_f64() / lease.as_secs_f64().max(0.001);
    let part = part.clamp(0.0, 1.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let full = (part * room as f64).round() as usize;
    [
        Span::styled("█".repeat(full), palette.left(part)),
        Span::styled("░".repeat(room - full), palette.quiet()),
    ]
}

#[cfg(test)]
mod tests;

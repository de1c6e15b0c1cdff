//! The view of the demo on a screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::processes::NAMES;
use super::record::{Note, ProcessState, Record, Tone};
use super::{LEASE, PERIOD, TITLE};
use crate::output::brief;
use crate::view::{Palette, Screen};

/// On a screen of fewer lines the log needs them more than the eye needs air.
const ROOMY: u16 = 20;

#[derive(Debug)]
pub(super) struct Live {
    screen: Screen,
    palette: Palette,
}

impl Live {
    /// Takes the screen, if there is one.
    pub(super) fn begin() -> Option<Self> {
        let screen = Screen::is_there().then(|| Screen::take().ok()).flatten()?;
        let palette = Palette::new();
        Some(Self { screen, palette })
    }

    pub(super) fn show(&mut self, record: &Record) {
        let palette = self.palette;
        // A screen that went away ends nothing: a signal does, if any.
        let _ = self.screen.draw(|frame| draw(frame, record, palette));
    }
}

fn draw(frame: &mut Frame<'_>, record: &Record, palette: Palette) {
    let area = frame.area();
    let (is_roomy, width) = (area.height >= ROOMY, usize::from(area.width));
    let at = record.start.elapsed().as_secs_f64();
    let title = vec![
        Span::styled(" tenure demo ", palette.title()),
        Span::styled(format!(" {at:4.1}s  {TITLE}"), palette.quiet()),
    ];
    let processes = (0..record.processes.len()).map(|who| row(record, who, palette));
    // With air between them, if there is room for it.
    let parts = [
        vec![Line::from(title)],
        vec![leader(record, palette), lease(record, palette, width)],
        processes.collect(),
        vec![schedule(record, palette, width), resource(record, palette)],
    ];
    let lines = parts.join(&[Line::default()][..usize::from(is_roomy)]);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let parts = [Constraint::Length(height), Constraint::Min(3)];
    let [head, log] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(lines), head);
    let block = match is_roomy {
        true => Block::bordered().title(" what happens "),
        false => Block::new(),
    };
    let block = block.border_style(palette.quiet());
    let room = usize::from(block.inner(log).height);
    let last = record.notes.len().saturating_sub(room);
    let notes = record.notes[last..].iter();
    let notes: Vec<_> = notes.map(|line| note(line, palette)).collect();
    frame.render_widget(Paragraph::new(notes).block(block), log);
}

/// A line about one thing.
fn about<'a>(label: &str, palette: Palette, spans: impl IntoIterator<Item = Span<'a>>) -> Line<'a> {
    let label = Span::styled(format!(" {label:<10}"), palette.quiet());
    Line::from_iter([label].into_iter().chain(spans))
}

fn leader(record: &Record, palette: Palette) -> Line<'static> {
    let Some((who, token, _)) = record.leader() else {
        return about("leader", palette, [Span::raw("nobody yet")]);
    };
    let (name, state) = (NAMES[who], record.processes[who].state);
    let lease = match record.left().is_zero() {
        true => "its lease is over",
        false => "its lease still runs",
    };
    let text = match state {
        ProcessState::Leading => {
            let name = Span::styled(name, palette.good().patch(palette.title()));
            let token = Span::raw(format!("   token {token}"));
            return about("leader", palette, [name, token]);
        }
        ProcessState::Killed => format!("nobody: {name} is dead, {lease}"),
        ProcessState::Paused => format!("nobody: {name} sleeps, {lease}"),
        _ => format!("nobody: {name} has stepped down"),
    };
    about("leader", palette, [Span::styled(text, palette.bad())])
}

fn lease(record: &Record, palette: Palette, width: usize) -> Line<'static> {
    let left = record.left();
    let part = (left.as_secs_f64() / LEASE.as_secs_f64()).clamp(0.0, 1.0);
    let room = width.saturating_sub(24).min(60);
    #[allow(clippy::cast_precision_loss)]
    let is_left = |at: &usize| (*at as f64 + 0.5) <= part * room as f64;
    let full = (0..room).filter(is_left).count();
    let spans = [
        Span::styled("█".repeat(full), palette.left(part)),
        Span::styled("░".repeat(room - full), palette.quiet()),
        Span::raw(format!(" {} left", brief(left))),
    ];
    about("lease", palette, spans)
}

fn row(record: &Record, who: usize, palette: Palette) -> Line<'static> {
    let process = record.processes[who];
    let (looks, style) = match process.state {
        ProcessState::Waiting => ("○ waiting", Style::new()),
        ProcessState::Leading => ("● leading", palette.good().patch(palette.title())),
        ProcessState::Paused => ("◌ paused", palette.warning()),
        ProcessState::Killed => ("✗ killed", palette.bad()),
        ProcessState::Ended => ("· ended", palette.quiet()),
    };
    let (writes, ticks) = (process.writes, record.ticks());
    let ticks = ticks.filter(|(_, by, _)| *by == who).count();
    let counts = |token| format!("token {token:<3} {writes:>3} writes {ticks:>3} ticks");
    let acts = record.acts.iter().filter(|(by, _)| *by == who);
    let token = acts.map(|(_, act)| act.token).max();
    Line::from(vec![
        Span::styled(format!(" {:<10}", NAMES[who]), palette.one_of(who)),
        Span::styled(format!("{looks:<10}"), style),
        Span::styled(format!(" pid {:<8}", process.pid), palette.quiet()),
        Span::raw(token.map(counts).unwrap_or_default()),
    ])
}

/// The last ticks, each with the initial of who ran it.
fn schedule(record: &Record, palette: Palette, width: usize) -> Line<'static> {
    let ticks = record.ticks();
    let told = |(number, who, _): (u64, usize, u64)| format!("tick {number} by {}  ", NAMES[who]);
    let last = ticks.max().map(told).unwrap_or_default();
    let every = Span::raw(format!("every {}  {last:<18}", brief(PERIOD)));
    let room = width.saturating_sub(45).min(60);
    let first = record.ticks().count().saturating_sub(room);
    let latest = record.ticks().skip(first);
    let initials = latest.map(|(_, who, _)| Span::styled(&NAMES[who][..1], palette.one_of(who)));
    about("schedule", palette, [every].into_iter().chain(initials))
}

fn resource(record: &Record, palette: Palette) -> Line<'static> {
    let (accepted, refused) = (record.accepted(), record.refused);
    let style = match refused {
        0 => Style::new(),
        _ => palette.bad(),
    };
    let accepted = Span::raw(format!("{accepted} writes accepted, "));
    let refused = Span::styled(format!("{refused} refused"), style);
    about("resource", palette, [accepted, refused])
}

fn note(note: &Note, palette: Palette) -> Line<'static> {
    let who = NAMES.iter().position(|name| *name == note.who);
    let style = match note.tone {
        Tone::Plain => Style::new(),
        Tone::Good => palette.good(),
        Tone::Bad => palette.bad(),
    };
    Line::from(vec![
        Span::styled(format!("{:6.2}s  ", note.at.as_secs_f64()), palette.quiet()),
        Span::styled(
            format!("{:<9} ", note.who),
            who.map_or(palette.quiet(), |who| palette.one_of(who)),
        ),
        Span::styled(note.what.clone(), style),
    ])
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Color;

    use std::time::Duration;

    use super::super::contender::{Act, Did};
    use super::*;
    use crate::moment;

    fn record() -> Record {
        let mut record = Record::new([11, 12]);
        record.processes[1].state = ProcessState::Leading;
        let (at, late) = (moment::now(), Duration::ZERO);
        let until = at + 2_000_000_000;
        for number in 0..100 {
            record.note("ada", format!("line {number}"), Tone::Bad);
            let (who, token) = if number > 90 { (1, 42) } else { (0, 41) };
            let did = Did::Tick { number, late };
            let act = Act {
                token,
                at,
                until,
                did,
            };
            record.acts.push((who, act));
        }
        record
    }

    fn drawn(width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let (record, palette) = (record(), Palette::without_colour());
        terminal
            .draw(|frame| draw(frame, &record, palette))
            .unwrap();
        terminal.backend().clone()
    }

    #[test]
    fn the_leader_its_lease_and_the_last_events_are_seen() {
        let text = drawn(100, 30).to_string();
        for part in [
            "ben   token 42",
            "● leading",
            "○ waiting",
            "█",
            "line 99",
            "tick 99 by ben",
            "ab",
        ] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(!text.contains("line 2 "), "old lines make room");
    }

    #[test]
    fn a_small_screen_still_has_a_log() {
        let text = drawn(60, 15).to_string();
        assert!(
            text.contains("line 93") && text.contains("line 99"),
            "{text}"
        );
    }

    #[test]
    fn any_size_will_do() {
        for (width, height) in [(60, 15), (20, 5), (1, 1), (3, 200), (300, 2)] {
            drawn(width, height);
        }
    }

    #[test]
    fn without_colour_there_is_none() {
        let drawn = drawn(100, 30);
        let cells = drawn.buffer().content();
        assert!(
            cells
                .iter()
                .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }
}

//! The view of the demo on a screen.

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::picture::{Note, Picture, Process, ProcessState, Tone};
use super::{LEASE, PERIOD, TITLE};
use crate::output::brief;
use crate::view::{Palette, Screen};

/// Often enough for a bar that moves.
const FRAME: Duration = Duration::from_millis(50);
/// On a screen of fewer lines the log needs them more than the eye needs air.
const ROOMY: u16 = 20;

#[derive(Debug)]
pub(super) struct Live {
    screen: Screen,
    palette: Palette,
    drawn: Option<Instant>,
}

impl Live {
    /// Takes the screen, if there is one.
    pub(super) fn begin() -> Option<Self> {
        let screen = Screen::is_there().then(|| Screen::take().ok()).flatten()?;
        Some(Self {
            screen,
            palette: Palette::new(),
            drawn: None,
        })
    }

    pub(super) fn show(&mut self, picture: &Picture) {
        if self.drawn.is_some_and(|at| at.elapsed() < FRAME) {
            return;
        }
        self.drawn = Some(Instant::now());
        let palette = self.palette;
        // A screen that went away ends nothing: a signal does, if any.
        let _ = self.screen.draw(|frame| draw(frame, picture, palette));
    }
}

fn draw(frame: &mut Frame<'_>, picture: &Picture, palette: Palette) {
    let area = frame.area();
    let is_roomy = area.height >= ROOMY;
    let width = usize::from(area.width);
    let air = || is_roomy.then(Line::default);
    let mut lines = vec![title(picture, palette)];
    lines.extend(air());
    lines.extend([leader(picture, palette), lease(picture, palette, width)]);
    lines.extend(air());
    lines.extend((0..picture.list.len()).map(|who| process(picture, who, palette)));
    lines.extend(air());
    lines.extend([
        schedule(picture, palette, width),
        resource(picture, palette),
    ]);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let [head, log] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(3)]).areas(area);
    frame.render_widget(Paragraph::new(lines), head);
    let block = if is_roomy {
        Block::bordered().title(" what happens ")
    } else {
        Block::new()
    };
    let block = block.border_style(palette.quiet());
    let room = usize::from(block.inner(log).height);
    let last = picture.notes.len().saturating_sub(room);
    let notes = picture.notes[last..].iter();
    let notes: Vec<_> = notes.map(|line| note(line, picture, palette)).collect();
    frame.render_widget(Paragraph::new(notes).block(block), log);
}

fn label(text: &str, palette: Palette) -> Span<'static> {
    Span::styled(format!(" {text:<10}"), palette.quiet())
}

fn title(picture: &Picture, palette: Palette) -> Line<'static> {
    let at = picture.elapsed().as_secs_f64();
    Line::from(vec![
        Span::styled(" tenure demo ", palette.title()),
        Span::styled(format!(" {at:4.1}s  {TITLE}"), palette.quiet()),
    ])
}

fn leader(picture: &Picture, palette: Palette) -> Line<'static> {
    let mut line = vec![label("leader", palette)];
    match picture.last_leader() {
        Some(process) if process.state == ProcessState::Leading => {
            let token = process.token.unwrap_or_default();
            let renewals = process.renewals;
            line.extend([
                Span::styled(process.name, palette.good().patch(palette.title())),
                Span::raw(format!("   token {token}   renewed {renewals} times")),
            ]);
        }
        Some(process) => {
            let name = process.name;
            let lease = if picture.left().is_zero() {
                "its lease is over"
            } else {
                "its lease still runs"
            };
            let text = match process.state {
                ProcessState::Killed => format!("nobody: {name} is dead, {lease}"),
                ProcessState::Paused => format!("nobody: {name} sleeps, {lease}"),
                _ => format!("nobody: {name} has stepped down"),
            };
            line.push(Span::styled(text, palette.bad()));
        }
        None => line.push(Span::raw("nobody yet")),
    }
    Line::from(line)
}

fn lease(picture: &Picture, palette: Palette, width: usize) -> Line<'static> {
    let left = picture.left();
    let part = (left.as_secs_f64() / LEASE.as_secs_f64()).clamp(0.0, 1.0);
    let room = width.saturating_sub(24).min(60);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let full = (part * room as f64).round() as usize;
    Line::from(vec![
        label("lease", palette),
        Span::styled("█".repeat(full), palette.left(part)),
        Span::styled("░".repeat(room - full), palette.quiet()),
        Span::raw(format!(" {} left", brief(left))),
    ])
}

fn process(picture: &Picture, who: usize, palette: Palette) -> Line<'static> {
    let process = &picture.list[who];
    let (mark, state, style) = looks(process, palette);
    let mut counts = String::new();
    if let Some(token) = process.token {
        let Process { writes, ticks, .. } = process;
        counts = format!("token {token:<3} {writes:>3} writes {ticks:>3} ticks");
    }
    Line::from(vec![
        Span::styled(format!(" {:<10}", process.name), palette.one_of(who)),
        Span::styled(format!("{mark} {state:<8}"), style),
        Span::styled(format!(" pid {:<8}", process.pid), palette.quiet()),
        Span::raw(counts),
    ])
}

fn looks(process: &Process, palette: Palette) -> (&'static str, &'static str, Style) {
    match process.state {
        ProcessState::Waiting => ("○", "waiting", Style::new()),
        ProcessState::Leading => ("●", "leading", palette.good().patch(palette.title())),
        ProcessState::Paused => ("◌", "paused", palette.warning()),
        ProcessState::Killed => ("✗", "killed", palette.bad()),
        ProcessState::Ended => ("·", "ended", palette.quiet()),
    }
}

/// The last ticks, each with the initial of who ran it.
fn schedule(picture: &Picture, palette: Palette, width: usize) -> Line<'static> {
    let every = brief(PERIOD);
    let last = picture
        .ticks
        .last_key_value()
        .map_or_else(String::new, |(number, who)| {
            format!("tick {number} by {}  ", picture.list[*who].name)
        });
    let mut line = vec![
        label("schedule", palette),
        Span::raw(format!("every {every}  {last:<18}")),
    ];
    let room = width.saturating_sub(45).min(60);
    let first = picture.ticks.len().saturating_sub(room);
    line.extend(picture.ticks.values().skip(first).map(|who| {
        let initial = &picture.list[*who].name[..1];
        Span::styled(initial, palette.one_of(*who))
    }));
    Line::from(line)
}

fn resource(picture: &Picture, palette: Palette) -> Line<'static> {
    let (accepted, refused) = (picture.accepted(), picture.refused);
    let mut line = vec![
        label("resource", palette),
        Span::raw(format!("{accepted} writes accepted, ")),
    ];
    let style = if refused > 0 {
        palette.bad()
    } else {
        Style::new()
    };
    line.push(Span::styled(format!("{refused} refused"), style));
    Line::from(line)
}

fn note(note: &Note, picture: &Picture, palette: Palette) -> Line<'static> {
    let who = picture
        .list
        .iter()
        .position(|process| process.name == note.who);
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

    use super::*;
    use crate::moment;

    fn picture() -> Picture {
        let mut picture = Picture::new();
        picture.enter("ada", 11);
        picture.enter("ben", 12);
        for number in 0..100 {
            picture.note("ada", &format!("line {number}"), Tone::Bad);
            picture.ticks.insert(number, usize::from(number > 90));
        }
        picture.elected(1, 42, moment::now() + 2_000_000_000);
        picture
    }

    fn drawn(width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let (picture, palette) = (picture(), Palette::without_colour());
        terminal
            .draw(|frame| draw(frame, &picture, palette))
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

//! The view of the demo on a screen.

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::scene::{Note, Player, Scene, State, Tone};
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

    pub(super) fn show(&mut self, scene: &Scene) {
        if self.drawn.is_some_and(|at| at.elapsed() < FRAME) {
            return;
        }
        self.drawn = Some(Instant::now());
        let palette = self.palette;
        // A screen that went away ends nothing: a signal does, if any.
        let _ = self.screen.draw(|frame| draw(frame, scene, palette));
    }
}

fn draw(frame: &mut Frame<'_>, scene: &Scene, palette: Palette) {
    let area = frame.area();
    let is_roomy = area.height >= ROOMY;
    let width = usize::from(area.width);
    let air = || is_roomy.then(Line::default);
    let mut lines = vec![title(scene, palette)];
    lines.extend(air());
    lines.extend([leader(scene, palette), lease(scene, palette, width)]);
    lines.extend(air());
    lines.extend((0..scene.players.len()).map(|who| player(scene, who, palette)));
    lines.extend(air());
    lines.extend([schedule(scene, palette, width), resource(scene, palette)]);
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
    let last = scene.notes.len().saturating_sub(room);
    let notes = scene.notes[last..].iter();
    let notes: Vec<_> = notes.map(|line| note(line, scene, palette)).collect();
    frame.render_widget(Paragraph::new(notes).block(block), log);
}

fn label(text: &str, palette: Palette) -> Span<'static> {
    Span::styled(format!(" {text:<10}"), palette.quiet())
}

fn title(scene: &Scene, palette: Palette) -> Line<'static> {
    let at = scene.elapsed().as_secs_f64();
    Line::from(vec![
        Span::styled(" tenure demo ", palette.title()),
        Span::styled(format!(" {at:4.1}s  {TITLE}"), palette.quiet()),
    ])
}

fn leader(scene: &Scene, palette: Palette) -> Line<'static> {
    let mut line = vec![label("leader", palette)];
    match scene.last_leader() {
        Some(player) if player.state == State::Leading => {
            let token = player.token.unwrap_or_default();
            let renewals = player.renewals;
            line.extend([
                Span::styled(player.name, palette.good().patch(palette.title())),
                Span::raw(format!("   token {token}   renewed {renewals} times")),
            ]);
        }
        Some(player) => {
            let name = player.name;
            let lease = if scene.left().is_zero() {
                "its lease is over"
            } else {
                "its lease still runs"
            };
            let text = match player.state {
                State::Killed => format!("nobody: {name} is dead, {lease}"),
                State::Paused => format!("nobody: {name} sleeps, {lease}"),
                _ => format!("nobody: {name} has stepped down"),
            };
            line.push(Span::styled(text, palette.bad()));
        }
        None => line.push(Span::raw("nobody yet")),
    }
    Line::from(line)
}

fn lease(scene: &Scene, palette: Palette, width: usize) -> Line<'static> {
    let left = scene.left();
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

fn player(scene: &Scene, who: usize, palette: Palette) -> Line<'static> {
    let player = &scene.players[who];
    let (mark, state, style) = looks(player, palette);
    let mut counts = String::new();
    if let Some(token) = player.token {
        let Player { writes, ticks, .. } = player;
        counts = format!("token {token:<3} {writes:>3} writes {ticks:>3} ticks");
    }
    Line::from(vec![
        Span::styled(format!(" {:<10}", player.name), palette.one_of(who)),
        Span::styled(format!("{mark} {state:<8}"), style),
        Span::styled(format!(" pid {:<8}", player.pid), palette.quiet()),
        Span::raw(counts),
    ])
}

fn looks(player: &Player, palette: Palette) -> (&'static str, &'static str, Style) {
    match player.state {
        State::Waiting => ("○", "waiting", Style::new()),
        State::Leading => ("●", "leading", palette.good().patch(palette.title())),
        State::Paused => ("◌", "paused", palette.warning()),
        State::Killed => ("✗", "killed", palette.bad()),
        State::Ended => ("·", "ended", palette.quiet()),
    }
}

/// The last ticks, each with the initial of who ran it.
fn schedule(scene: &Scene, palette: Palette, width: usize) -> Line<'static> {
    let every = brief(PERIOD);
    let last = scene
        .ticks
        .last_key_value()
        .map_or_else(String::new, |(number, who)| {
            format!("tick {number} by {}  ", scene.players[*who].name)
        });
    let mut line = vec![
        label("schedule", palette),
        Span::raw(format!("every {every}  {last:<18}")),
    ];
    let room = width.saturating_sub(45).min(60);
    let first = scene.ticks.len().saturating_sub(room);
    line.extend(scene.ticks.values().skip(first).map(|who| {
        let initial = &scene.players[*who].name[..1];
        Span::styled(initial, palette.one_of(*who))
    }));
    Line::from(line)
}

fn resource(scene: &Scene, palette: Palette) -> Line<'static> {
    let (accepted, refused) = (scene.accepted(), scene.refused);
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

fn note(note: &Note, scene: &Scene, palette: Palette) -> Line<'static> {
    let who = scene
        .players
        .iter()
        .position(|player| player.name == note.who);
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

    fn scene() -> Scene {
        let mut scene = Scene::new();
        scene.enter("ada", 11);
        scene.enter("ben", 12);
        for number in 0..100 {
            scene.note("ada", &format!("line {number}"), Tone::Bad);
            scene.ticks.insert(number, usize::from(number > 90));
        }
        scene.elected(1, 42, moment::now() + 2_000_000_000);
        scene
    }

    fn drawn(width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let (scene, palette) = (scene(), Palette::without_colour());
        terminal.draw(|frame| draw(frame, &scene, palette)).unwrap();
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

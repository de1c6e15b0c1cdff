//! `tenure status --watch`: the table, live on a terminal.

mod details;

use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use tenure::model::MutexName;
use tenure::{Coordinator, Retry};
use tenure_dashboard::looks::{Answer, Looks};
use tenure_dashboard::status::Row;

use super::columns::{self, Column, Texts};
use crate::config::Settings;
use crate::exit::{self, Failure, told};
use crate::output::{Format, Voice, brief, plain};
use crate::signals::Signals;
use crate::store;
use crate::view::{Key, Keys, Palette, Screen};

/// How often the store is asked.
const LOOK: Duration = Duration::from_millis(500);
/// How often the view is drawn: times go on between two looks.
const FRAME: Duration = Duration::from_millis(100);
const BAR: usize = 10;

/// What was seen last, and how looking goes.
#[derive(Debug)]
struct Seen {
    rows: Vec<Row>,
    at: Option<Instant>,
    trouble: Option<String>,
    lease: Duration,
    /// The name of the row whose details are shown.
    selected: Option<String>,
}

impl Seen {
    /// Which row is selected; rows come and go.
    fn selected(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.rows.iter().position(|row| row.name == *selected)
    }

    /// Takes what a look told, or what trouble there is with it. Fails when
    /// looking again cannot help.
    fn hear_of(&mut self, answer: Answer, at: Instant) -> Result<(), Failure> {
        let told = match answer {
            Err(error) if error.retry() == Retry::Never => return Err(error.into()),
            Err(error) => {
                self.trouble = Some(told(&error));
                return Ok(());
            }
            Ok(told) => told,
        };
        self.trouble = match (&told.cut, told.age) {
            (Some(error), _) if error.retry() == Retry::Never => return Err(error.clone().into()),
            (Some(error), _) => Some(format!("not all: {}", self::told(error))),
            // What was seen last stays, with its age.
            (None, Some(_)) => {
                self.trouble = Some("the store takes its time".to_owned());
                return Ok(());
            }
            (None, None) => None,
        };
        (self.rows, self.at) = (told.rows.clone(), Some(at));
        Ok(())
    }

    /// Does what a key asks for.
    fn hear(&mut self, key: Key) {
        let last = self.rows.len().saturating_sub(1);
        let row = match (key, self.selected()) {
            (Key::Enter, Some(_)) | (Key::Quit, _) => None,
            (Key::Down, Some(row)) => Some((row + 1).min(last)),
            (Key::Up, Some(row)) => Some(row.saturating_sub(1)),
            (Key::Last, _) => Some(last),
            (Key::First | Key::Down | Key::Up | Key::Enter, _) => Some(0),
        };
        let row = row.and_then(|row| self.rows.get(row));
        self.selected = row.map(|row| row.name.clone());
    }
}

pub(super) async fn watch(
    names: &[MutexName],
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    if settings.output == Format::Json || !Screen::is_there() {
        return Err(Failure::usage(
            "status --watch needs a terminal: for a program, use tenure watch NAME… --output json",
        ));
    }
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let coordinator = tokio::select! {
        opened = store::open(settings, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    let screen = Screen::take().map_err(|error| Failure::system("take the screen", &error))?;
    let ended = tokio::select! {
        // Without a failure it was asked to quit: an end as it should be.
        shown = show(screen, names, &coordinator) => shown.map(|()| ExitCode::SUCCESS),
        signal = signals.end() => Ok(exit::by_signal(signal.as_raw())),
    };
    let _ = coordinator.close().await;
    ended
}

/// Shows it until the user asks for the end, or looking again cannot help.
async fn show(
    mut screen: Screen,
    names: &[MutexName],
    coordinator: &Coordinator,
) -> Result<(), Failure> {
    let palette = Palette::new();
    let terms = coordinator.terms();
    let mut seen = Seen {
        rows: Vec::new(),
        at: None,
        trouble: None,
        lease: terms.ttl() + terms.transition(),
        selected: None,
    };
    let mut keys = Keys::listen();
    let mut looks = Looks::at(names);
    loop {
        let mut look = pin!(async {
            let told = looks.rows(coordinator).await;
            (told, Instant::now())
        });
        let (told, at) = loop {
            tokio::select! {
                looked = &mut look => break looked,
                () = tokio::time::sleep(FRAME) => {}
                key = keys.next() => match key {
                    Key::Quit => return Ok(()),
                    key => seen.hear(key),
                },
            }
            let _ = screen.draw(|frame| draw(frame, &seen, palette));
        };
        seen.hear_of(told, at)?;
        let next = Instant::now() + LOOK;
        while Instant::now() < next {
            let _ = screen.draw(|frame| draw(frame, &seen, palette));
            tokio::select! {
                () = tokio::time::sleep(FRAME) => {}
                key = keys.next() => match key {
                    Key::Quit => return Ok(()),
                    key => seen.hear(key),
                },
            }
        }
    }
}

fn draw(frame: &mut Frame<'_>, seen: &Seen, palette: Palette) {
    let age = seen.at.map_or(Duration::ZERO, |at| at.elapsed());
    let width = usize::from(frame.area().width);
    let selected = seen.selected();
    let details = selected.map_or_else(Vec::new, |index| {
        details::lines(&seen.rows[index], age, width, palette)
    });
    // A few rows of the table stay, however much there is to tell.
    let most = frame.area().height.saturating_sub(7);
    let height = u16::try_from(details.len()).unwrap_or(most).min(most);
    let [top, body, below, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(1),
        Constraint::Length(height),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title(seen, palette)), top);
    // One line is the header's.
    let room = usize::from(body.height.saturating_sub(1));
    let texts: Vec<Texts> = seen.rows.iter().map(|row| texts(row, age)).collect();
    let columns = columns::fit(&texts, Some(width), BAR + 1);
    // What is selected is to be seen.
    let first = selected.map_or(0, |index| (index + 1).saturating_sub(room));
    let shown = seen.rows.iter().zip(&texts).enumerate();
    let rows = shown.skip(first).take(room).map(|(index, (row, texts))| {
        let cells = columns.iter().map(|(column, width)| match column {
            Column::Bar => bar(row, texts, age, seen.lease, palette),
            Column::Owner => Cell::from(texts.cell(*column, *width)).style(colour(row, palette)),
            _ => Cell::from(texts.cell(*column, *width)),
        });
        let line = Cells::new(cells);
        match selected == Some(index) {
            true => line.style(palette.selected()),
            false => line,
        }
    });
    let titles = columns.iter().map(|(column, _)| column.title());
    let header = Cells::new(titles.map(|title| Cell::from(title).style(palette.quiet())));
    let widths = columns
        .iter()
        .map(|(_, width)| u16::try_from(*width).unwrap_or(u16::MAX));
    let table = Table::new(rows, widths.map(Constraint::Length));
    frame.render_widget(table.column_spacing(2).header(header), body);
    frame.render_widget(Paragraph::new(details), below);
    let hint = match seen.rows.len().saturating_sub(room) {
        0 => " q ends, ↑ ↓ for details".to_owned(),
        more => format!(" and {more} more; q ends, ↑ ↓ for details"),
    };
    frame.render_widget(Paragraph::new(hint).style(palette.quiet()), bottom);
}

fn title(seen: &Seen, palette: Palette) -> Line<'static> {
    let held = seen.rows.iter().filter(|row| row.owner.is_some()).count();
    let free = seen.rows.len() - held;
    let trouble = seen.trouble.as_deref().map(plain);
    let state = match (&trouble, seen.at) {
        (Some(trouble), Some(at)) => Span::styled(
            format!(" {trouble}; this is {} old", brief(at.elapsed())),
            palette.bad(),
        ),
        (Some(trouble), None) => Span::styled(format!(" {trouble}"), palette.bad()),
        (None, Some(_)) => Span::styled(format!(" {held} owned, {free} free"), palette.quiet()),
        (None, None) => Span::styled(" asking the store", palette.quiet()),
    };
    Line::from(vec![
        Span::styled(" tenure status ", palette.title()),
        state,
    ])
}

/// A row as it is `age` after it was seen.
fn texts(row: &Row, age: Duration) -> Texts {
    let dash = || "-".to_owned();
    let length = Duration::from_millis;
    Texts {
        name: plain(&row.name),
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
fn bar(
    row: &Row,
    texts: &Texts,
    age: Duration,
    lease: Duration,
    palette: Palette,
) -> Cell<'static> {
    let Some(left) = row.left_ms else {
        return Cell::from("-");
    };
    let left = Duration::from_millis(left).saturating_sub(age);
    let part = left.as_secs_f64() / lease.as_secs_f64().max(0.001);
    let part = part.clamp(0.0, 1.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let full = (part * BAR as f64).round() as usize;
    Cell::from(Line::from(vec![
        Span::styled("█".repeat(full), palette.left(part)),
        Span::styled("░".repeat(BAR - full), palette.quiet()),
        Span::raw(format!(" {}", texts.left)),
    ]))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn drawn(seen: &Seen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let palette = Palette::without_colour();
        terminal.draw(|frame| draw(frame, seen, palette)).unwrap();
        terminal.backend().to_string()
    }

    async fn seen() -> Seen {
        let coordinator = Coordinator::connect("memory:").await.unwrap();
        let lock = coordinator.lock("held").unwrap();
        let guard = lock.acquire().await.unwrap();
        let names = ["held", "free"].map(|name| MutexName::new(name).unwrap());
        let rows = tenure_dashboard::status::gather(&coordinator, &names)
            .await
            .unwrap();
        drop(guard);
        Seen {
            rows,
            at: Some(Instant::now()),
            trouble: None,
            lease: Duration::from_secs(10),
            selected: None,
        }
    }

    #[tokio::test]
    async fn what_is_selected_stays_so_when_rows_come_and_go() {
        let mut seen = seen().await;
        seen.hear(Key::Enter);
        assert_eq!(seen.selected(), Some(0));
        seen.rows.swap(0, 1);
        assert_eq!(seen.selected(), Some(1), "by its name");
        seen.hear(Key::Down);
        assert_eq!(seen.selected(), Some(1), "there is no other below");
        let gone = seen.rows.pop();
        drawn(&seen, 80, 10);
        assert_eq!(seen.selected(), None);
        seen.rows.extend(gone);
        assert_eq!(seen.selected(), Some(1));
        seen.hear(Key::Up);
        seen.hear(Key::Up);
        assert_eq!(seen.selected(), Some(0));
        seen.hear(Key::Enter);
        assert_eq!(seen.selected(), None);
        seen.rows.clear();
        for key in [Key::Up, Key::Down, Key::Last, Key::Enter] {
            seen.hear(key);
            assert_eq!(seen.selected(), None);
        }
    }

    #[tokio::test]
    async fn what_was_seen_last_stays_when_the_store_does_not_answer() {
        let mut seen = seen().await;
        let text = drawn(&seen, 120, 10);
        assert!(
            text.contains("1 owned, 1 free") && text.contains('█'),
            "{text}"
        );
        seen.trouble = Some("no answer".into());
        let text = drawn(&seen, 120, 10);
        assert!(
            text.contains("no answer; this is ") && text.contains("held"),
            "{text}"
        );
        seen.at = None;
        assert!(
            drawn(&seen, 120, 10).contains("no answer"),
            "it was never seen"
        );
    }

    #[tokio::test]
    async fn a_lease_that_runs_out_between_two_looks_is_empty() {
        let mut seen = seen().await;
        seen.at = Instant::now().checked_sub(Duration::from_secs(3600));
        let text = drawn(&seen, 120, 10);
        assert!(text.contains("░ 0ms") && text.contains("1h"), "{text}");
    }

    #[tokio::test]
    async fn any_size_will_do() {
        let mut seen = seen().await;
        for (width, height) in [(1, 1), (40, 3), (5, 100), (300, 2)] {
            drawn(&seen, width, height);
            seen.hear(Key::Last);
            drawn(&seen, width, height);
        }
    }
}

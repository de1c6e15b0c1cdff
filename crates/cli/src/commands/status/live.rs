//! `tenure status --watch`: the table, live on a terminal.

use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use tenure::model::MutexName;
use tenure::{Coordinator, Error, Retry};
use tenure_dashboard::status::{Row, gather_into};

use crate::config::Settings;
use crate::exit::{self, Failure, told};
use crate::output::{Format, Voice, brief, plain};
use crate::signals::Signals;
use crate::store;
use crate::view::{Palette, Screen, asked_to_quit};

/// How often the store is asked.
const LOOK: Duration = Duration::from_millis(500);
/// The store's time for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
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
        failure = show(screen, names, &coordinator) => Err(failure),
        // An end as it should be.
        () = asked_to_quit() => Ok(ExitCode::SUCCESS),
        signal = signals.end() => Ok(exit::by_signal(signal.as_raw())),
    };
    let _ = coordinator.close().await;
    ended
}

/// Shows it until looking again cannot help.
async fn show(mut screen: Screen, names: &[MutexName], coordinator: &Coordinator) -> Failure {
    let palette = Palette::new();
    let terms = coordinator.terms();
    let mut seen = Seen {
        rows: Vec::new(),
        at: None,
        trouble: None,
        lease: terms.ttl() + terms.transition(),
    };
    loop {
        let mut look = pin!(async {
            let rows = look(names, coordinator).await;
            (rows, Instant::now())
        });
        let (rows, at) = loop {
            tokio::select! {
                looked = &mut look => break looked,
                () = tokio::time::sleep(FRAME) => {}
            }
            let _ = screen.draw(|frame| draw(frame, &seen, palette));
        };
        let rows = match rows {
            (_, Some(Err(error))) if error.retry() == Retry::Never => return error.into(),
            (rows, Some(Err(error))) => (rows, Some(told(&error))),
            (rows, Some(Ok(late))) => (rows, Some(late.to_owned())),
            (rows, None) => (rows, None),
        };
        match rows {
            (rows, None) => (seen.rows, seen.at, seen.trouble) = (rows, Some(at), None),
            (rows, Some(trouble)) if rows.is_empty() => seen.trouble = Some(trouble),
            (rows, Some(trouble)) => {
                let trouble = format!("not all: {trouble}");
                (seen.rows, seen.at, seen.trouble) = (rows, Some(at), Some(trouble));
            }
        }
        let next = Instant::now() + LOOK;
        while Instant::now() < next {
            let _ = screen.draw(|frame| draw(frame, &seen, palette));
            tokio::time::sleep(FRAME).await;
        }
    }
}

/// What the store tells in time, and why that is not all.
async fn look(
    names: &[MutexName],
    coordinator: &Coordinator,
) -> (Vec<Row>, Option<Result<&'static str, Error>>) {
    let mut rows = Vec::new();
    let gathered = gather_into(&mut rows, coordinator, names);
    let trouble = match tokio::time::timeout(PATIENCE, gathered).await {
        Ok(done) => done.err().map(Err),
        Err(_) => Some(Ok("the store does not answer")),
    };
    (rows, trouble)
}

fn draw(frame: &mut Frame<'_>, seen: &Seen, palette: Palette) {
    let [top, body, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title(seen, palette)), top);
    let age = seen.at.map_or(Duration::ZERO, |at| at.elapsed());
    // The last line is for what does not fit.
    let room = usize::from(body.height.saturating_sub(1));
    let rows = seen.rows.iter().take(room);
    let rows = rows.map(|row| cells(row, age, seen.lease, palette));
    let widths = [
        Constraint::Fill(2),
        Constraint::Fill(2),
        Constraint::Length(20),
        Constraint::Length(9),
        Constraint::Length(18),
        Constraint::Fill(2),
    ];
    let header = ["NAME", "OWNER", "TOKEN", "HELD FOR", "TIME LEFT", "WAITERS"];
    let header = Cells::new(header.map(|text| Cell::from(text).style(palette.quiet())));
    frame.render_widget(Table::new(rows, widths).header(header), body);
    let more = seen.rows.len().saturating_sub(room);
    let hint = match more {
        0 => " q ends".to_owned(),
        more => format!(" and {more} more; q ends"),
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
fn cells(row: &Row, age: Duration, lease: Duration, palette: Palette) -> Cells<'static> {
    let dash = || "-".to_owned();
    let held = row.held_ms.map(Duration::from_millis);
    let left = row.left_ms.map(Duration::from_millis);
    let owner = match (&row.owner, &row.fault) {
        (_, Some(fault)) => Cell::from(plain(fault)).style(palette.bad()),
        (Some(owner), None) => Cell::from(plain(owner)).style(palette.good()),
        (None, None) => Cell::from("free").style(palette.quiet()),
    };
    let waiters = match row.waiters.as_slice() {
        [] => dash(),
        [one] => plain(one),
        [first, rest @ ..] => format!("{} and {} more", plain(first), rest.len()),
    };
    Cells::new([
        Cell::from(plain(&row.name)),
        owner,
        Cell::from(row.token.map_or_else(dash, |token| token.to_string())),
        Cell::from(held.map_or_else(dash, |held| brief(held + age))),
        left.map_or_else(
            || Cell::from("-"),
            |left| Cell::from(bar(left.saturating_sub(age), lease, palette)),
        ),
        Cell::from(waiters),
    ])
}

fn bar(left: Duration, lease: Duration, palette: Palette) -> Line<'static> {
    let part = left.as_secs_f64() / lease.as_secs_f64().max(0.001);
    let part = part.clamp(0.0, 1.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let full = (part * BAR as f64).round() as usize;
    Line::from(vec![
        Span::styled("█".repeat(full), palette.left(part)),
        Span::styled("░".repeat(BAR - full), palette.quiet()),
        Span::raw(format!(" {}", brief(left))),
    ])
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
        let seen = seen().await;
        for (width, height) in [(1, 1), (40, 3), (5, 100), (300, 2)] {
            drawn(&seen, width, height);
        }
    }
}

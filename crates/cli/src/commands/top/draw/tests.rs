use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tenure::Coordinator;
use tenure::model::MutexName;

use super::*;
use crate::view::Key;

fn drawn(picture: &mut Picture, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let palette = Palette::without_colour();
    terminal
        .draw(|frame| draw(frame, picture, palette))
        .unwrap();
    terminal.backend().to_string()
}

fn hear(picture: &mut Picture, keys: &[Key]) {
    for key in keys {
        assert!(picture.hear(*key).is_continue());
    }
}

/// One that has seen these rows.
fn seeing(rows: Vec<Row>) -> Picture {
    let mut picture = Picture::new("memory", Duration::from_secs(16));
    see(&mut picture, rows);
    picture
}

fn see(picture: &mut Picture, rows: Vec<Row>) {
    picture.rows = rows;
    picture.at = Some(Instant::now());
    picture.took = Some(Duration::from_millis(12));
    picture.history.hear_of(&picture.rows, true, Instant::now());
    picture.arrange();
}

async fn two() -> Vec<Row> {
    let coordinator = Coordinator::connect("memory:").await.unwrap();
    let lock = coordinator.lock("held").unwrap();
    let guard = lock.acquire().await.unwrap();
    let names = ["held", "free"].map(|name| MutexName::new(name).unwrap());
    let rows = tenure_dashboard::status::gather(&coordinator, &names).await;
    drop(guard);
    rows.unwrap()
}

fn owned(name: &str, owner: &str, token: u64) -> Row {
    let mut row = Row::free(&MutexName::new(name).unwrap());
    row.owner = Some(owner.to_owned());
    row.token = Some(token.to_string().parse().unwrap());
    (row.held_ms, row.left_ms) = (Some(5_000), Some(12_000));
    row
}

#[tokio::test]
async fn what_is_selected_stays_so_when_rows_come_and_go() {
    let mut picture = seeing(two().await);
    hear(&mut picture, &[Key::Down, Key::Down]);
    assert_eq!(picture.controls.selected.as_deref(), Some("held"));
    hear(&mut picture, &[Key::Letter('r')]);
    assert_eq!(picture.selected(), Some(0), "by its name");
    let rows = picture.rows.clone();
    see(&mut picture, vec![]);
    drawn(&mut picture, 80, 10);
    assert_eq!(picture.selected(), None);
    see(&mut picture, rows);
    assert_eq!(picture.selected(), Some(0));
}

#[tokio::test]
async fn what_was_seen_last_stays_when_the_store_does_not_answer() {
    let mut picture = seeing(two().await);
    let text = drawn(&mut picture, 120, 10);
    for part in ["1 owned, 1 free", "█", "● well", "told in 12ms", "memory"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    picture.trouble = Some("no answer".into());
    let text = drawn(&mut picture, 120, 10);
    assert!(
        text.contains("no answer; this is ") && text.contains("held"),
        "{text}"
    );
    picture.at = None;
    assert!(
        drawn(&mut picture, 120, 10).contains("no answer"),
        "it was never seen"
    );
}

#[tokio::test]
async fn a_lease_that_runs_out_between_two_looks_is_empty() {
    let mut picture = seeing(two().await);
    picture.at = Instant::now().checked_sub(Duration::from_secs(3600));
    let text = drawn(&mut picture, 120, 10);
    assert!(text.contains("░ 0ms") && text.contains("1h"), "{text}");
}

#[test]
fn a_change_of_owner_is_a_spark_and_a_line_of_the_history() {
    let mut picture = seeing(vec![owned("billing", "first", 1)]);
    see(&mut picture, vec![owned("billing", "second", 2)]);
    hear(&mut picture, &[Key::Down]);
    let text = drawn(&mut picture, 80, 24);
    for part in ["▁▁▁▁▁▁▁█ 1", "1 change in", "ago  second, token 2"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn waiters_stand_in_their_order_and_what_finds_no_room_is_counted() {
    let mut row = owned("billing", "me", 1);
    row.waiters = (1..=50).map(|number| format!("waiter-{number}")).collect();
    let mut picture = seeing(vec![row]);
    hear(&mut picture, &[Key::Down]);
    let text = drawn(&mut picture, 80, 24);
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} in\n{text}"))
    };
    assert!(place("1. waiter-1") < place("2. waiter-2"), "{text}");
    assert!(place("2. waiter-2") < place("lines more"), "{text}");
    assert!(text.contains("50 waiting"), "{text}");
}

#[test]
fn the_header_shows_what_is_sorted_by_and_the_filter_is_told() {
    let rows = vec![owned("a", "x", 1), owned("b", "y", 2)];
    let mut picture = seeing(rows);
    assert!(drawn(&mut picture, 80, 24).contains("NAME▲"));
    hear(&mut picture, &[Key::Right, Key::Right]);
    let text = drawn(&mut picture, 80, 24);
    assert!(text.contains("HELD FOR▼"), "{text}");
    let typed = ["/", "y"].map(|letter| Key::Letter(letter.chars().next().unwrap()));
    hear(&mut picture, &typed);
    let text = drawn(&mut picture, 80, 24);
    assert!(
        text.contains("filter: y█") && text.contains("1 found"),
        "{text}"
    );
    hear(&mut picture, &[Key::Enter]);
    assert!(drawn(&mut picture, 80, 24).contains("only \"y\": 1"));
}

#[test]
fn any_size_will_do() {
    let rows: Vec<Row> = (0..30)
        .map(|at| owned(&format!("m-{at}"), "me", at))
        .collect();
    let mut picture = seeing(rows);
    for width in [1, 2, 7, 13, 28, 40, 60, 80, 130] {
        for height in [1, 2, 3, 4, 6, 9, 24] {
            drawn(&mut picture, width, height);
            hear(&mut picture, &[Key::PageDown]);
            drawn(&mut picture, width, height);
        }
        hear(&mut picture, &[Key::Right, Key::Enter]);
    }
}

/// Only what is to be seen is made ready, and a key is answered at once.
#[test]
fn thirty_thousand_are_drawn_as_fast_as_thirty() {
    let many = |count: u64| {
        let rows = (0..count).map(|at| owned(&format!("mutex-{at:06}"), "me", at));
        seeing(rows.collect())
    };
    let fastest = |picture: &mut Picture| {
        let one = || {
            let start = Instant::now();
            hear(picture, &[Key::PageDown]);
            drawn(picture, 120, 40);
            start.elapsed()
        };
        std::iter::repeat_with(one).take(20).min().unwrap()
    };
    let (few, most) = (fastest(&mut many(30)), fastest(&mut many(30_000)));
    // Without a limit that a slow machine would miss: a thousand times as many
    // rows must not be ten times the work.
    assert!(most < few * 10, "{few:?} for 30, {most:?} for 30,000");
}

use std::time::Duration;

use super::*;
use crate::query::Query;

const LEASE: Duration = Duration::from_secs(16);

fn row(name: &str, owner: Option<&str>, token: u64) -> Row {
    let mut row = Row::free(&MutexName::new(name).unwrap());
    row.token = FencingToken::from_value(token).ok();
    if let Some(owner) = owner {
        row.owner = Some(owner.into());
        (row.held_ms, row.left_ms) = (Some(1_000), Some(15_000));
        row.since = Some("2026-01-01T00:00:00.000Z".into());
    }
    row
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

fn board(rows: Vec<Row>) -> Board {
    let mut board = Board::new(LEASE);
    board.take(rows, &Kinds::default(), None);
    board
}

#[test]
fn only_what_changed_is_told_again() {
    let kinds = Kinds::default();
    let mut board = board(vec![row("a", Some("x"), 1), row("b", None, 1)]);
    let first = board.changes(None, 10);
    assert!(first.whole && names(&first.mutexes) == ["a", "b"]);
    let told = Some(first.version);
    board.take(
        vec![row("a", Some("x"), 1), row("b", None, 1)],
        &kinds,
        None,
    );
    assert_eq!(board.version(), first.version, "nothing has changed");
    board.take(
        vec![row("a", Some("y"), 2), row("c", None, 1)],
        &kinds,
        None,
    );
    let next = board.changes(told, 10);
    assert!(!next.whole && next.version > first.version);
    assert_eq!(names(&next.mutexes), ["a", "c"]);
    assert_eq!(next.gone, ["b"]);
    // A part says nothing of the others.
    board.take(vec![row("c", Some("z"), 2)], &kinds, Some("slow".into()));
    let part = board.changes(Some(next.version), 10);
    assert_eq!((names(&part.mutexes), part.total), (vec!["c"], 2));
    assert!(part.gone.is_empty());
    assert!(board.changes(None, 1).too_many && board.changes(None, 1).mutexes.is_empty());
}

#[test]
fn a_renewal_is_news_and_the_lease_is_as_long_as_the_longest_seen() {
    let kinds = Kinds::default();
    let mut board = board(vec![row("a", Some("x"), 1)]);
    let told = board.changes(None, 10);
    assert_eq!(told.mutexes[0].lease_ms, Some(16_000), "held and left");
    let mut renewed = row("a", Some("x"), 1);
    (renewed.held_ms, renewed.left_ms) = (Some(21_000), Some(20_000));
    board.take(vec![renewed], &kinds, None);
    let told = board.changes(Some(told.version), 10);
    assert_eq!(told.mutexes[0].lease_ms, Some(20_000));
    let mut later = row("a", Some("x"), 1);
    (later.held_ms, later.left_ms) = (Some(31_000), Some(10_000));
    board.take(vec![later], &kinds, None);
    assert!(board.changes(Some(told.version), 10).mutexes.is_empty());
    let all = board.changes(None, 10);
    assert_eq!(all.mutexes[0].lease_ms, Some(20_000));
}

#[test]
fn who_is_too_far_behind_gets_all_of_it() {
    let kinds = Kinds::default();
    let mut board = board(vec![row("a", None, 1)]);
    let first = board.version();
    for turn in 0..3 {
        let rows = (0..MOST_GONE / 2 + 1).map(|at| row(&format!("m{turn}-{at}"), None, 1));
        board.take(rows.collect(), &kinds, None);
    }
    assert!(board.changes(Some(first), 10_000).whole);
    assert!(!board.changes(Some(board.version()), 10_000).whole);
    assert!(board.gone.len() <= MOST_GONE);
}

#[test]
fn rows_are_found_sorted_and_paged() {
    let mut waited = row("b", Some("Zoe"), 2);
    (waited.waiters, waited.held_ms) = (vec!["Ann".into()], Some(9_000));
    let mut bad = row("d", None, 1);
    bad.fault = Some("broken".into());
    let board = board(vec![
        row("a", Some("Yan"), 1),
        waited,
        row("c", None, 1),
        bad,
    ]);
    let asked = |query: &str| {
        let told = board.mutexes(&Ask::read(Query(query)).unwrap());
        let names: Vec<String> = told.mutexes.into_iter().map(|row| row.name).collect();
        (names.join(""), told.matched)
    };
    assert_eq!(asked(""), ("abcd".into(), 4));
    assert_eq!(asked("order=desc"), ("dcba".into(), 4));
    assert_eq!(asked("search=ANN"), ("b".into(), 1));
    assert_eq!(asked("search=y"), ("a".into(), 1));
    assert_eq!(asked("state=owned&sort=held&order=desc"), ("ba".into(), 2));
    assert_eq!(asked("sort=owner&order=desc"), ("bacd".into(), 4));
    assert_eq!(asked("sort=held"), ("abcd".into(), 4));
    assert_eq!(asked("state=free"), ("c".into(), 1));
    assert_eq!(asked("state=waited"), ("b".into(), 1));
    assert_eq!(asked("state=faulty&kind=unknown"), ("d".into(), 1));
    assert_eq!(asked("kind=schedule"), (String::new(), 0));
    assert_eq!(asked("offset=1&limit=2"), ("bc".into(), 4));
    assert_eq!(asked("offset=9"), (String::new(), 4));
    for wrong in [
        "kind=x",
        "kind=mutex",
        "state=x",
        "sort=x",
        "order=x",
        "limit=-1",
        "offset=a",
    ] {
        assert!(Ask::read(Query(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_gone_keeps_its_history() {
    let mut board = board(vec![row("a", Some("x"), 1)]);
    board.take(Vec::new(), &Kinds::default(), None);
    let detail = board.detail("a").unwrap();
    assert!(detail.mutex.owner.is_none() && detail.history.len() == 1);
    assert!(board.detail("b").is_none());
    let told = board.histories(&["a".into(), "b".into()]);
    assert_eq!(told.histories.len(), 1);
}

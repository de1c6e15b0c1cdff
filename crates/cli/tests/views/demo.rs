//! `tenure demo` on a terminal.

use std::time::{Duration, Instant};

use super::support::{Home, Screen, eventually, processes};

/// The token in the line that tells who leads.
fn leader(text: &str) -> Option<(String, u64)> {
    let line = text.lines().find(|line| line.starts_with(" leader"))?;
    let mut words = line.split_whitespace().skip(1);
    let name = words.next()?.to_owned();
    let token = words.nth(1)?.parse().ok()?;
    Some((name, token))
}

#[test]
fn a_person_sees_the_leader_die_and_another_take_over() {
    let home = Home::new();
    let start = Instant::now();
    let screen = Screen::show(&home, (100, 30), "demo");
    let text = screen.shows("a leader", |text| leader(text).is_some());
    let (first, token) = leader(&text).unwrap();
    assert!(
        text.contains("● leading") && text.contains("○ waiting"),
        "{text}"
    );
    assert!(screen.is_taken());
    assert!(screen.coloured().contains("38;5;"), "{}", screen.coloured());
    let dead = screen.sees("✗ killed");
    assert!(dead.contains(&format!("nobody: {first} is dead")), "{dead}");
    let text = screen.shows("a successor", |text| leader(text).is_some());
    let (second, larger) = leader(&text).unwrap();
    assert!(second != first && larger > token, "{text}");
    assert!(
        text.contains("█") && text.contains("takes over after"),
        "{text}"
    );
    screen.sees("REFUSES");
    screen.sees("◌ paused");
    assert_eq!(screen.code(&home), "0");
    assert!(
        start.elapsed() < Duration::from_secs(95),
        "and the start of tmux"
    );
    // On the normal screen, which was kept.
    let summary = screen.sees("ok  the late write");
    assert!(
        summary.contains("4 terms of office") && !summary.contains("lease  "),
        "{summary}"
    );
}

#[test]
fn a_small_screen_without_colours_will_do() {
    let home = Home::new();
    let script = "--version; NO_COLOR=1 \"$TENURE\" demo";
    let screen = Screen::show(&home, (60, 15), script);
    screen.shows("a leader", |text| leader(text).is_some());
    let coloured = screen.coloured();
    assert!(!coloured.contains("8;5;"), "{coloured:?}");
    screen.types("q");
    assert_eq!(screen.code(&home), "130");
    screen.shows("the normal screen", |text| text.starts_with("tenure 0."));
}

#[test]
fn ctrl_c_ends_everyone_and_leaves_a_sane_terminal() {
    let home = Home::new();
    let screen = Screen::show(&home, (100, 30), "demo");
    // One is stopped then, and must be ended, too.
    screen.sees("◌ paused");
    let here = home.path("tenure-demo-").display().to_string();
    assert_eq!(processes(&here).len(), 2, "{:?}", processes(&here));
    screen.types("C-c");
    assert_eq!(screen.code(&home), "130");
    eventually("all have ended", || processes(&here).is_empty());
    assert!(!screen.text().contains("leader"), "{}", screen.text());
    let left = std::fs::read_dir(home.path("")).unwrap().flatten();
    let left = left.filter(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("tenure-demo")
    });
    assert_eq!(left.count(), 0, "the temporary store is gone");
}

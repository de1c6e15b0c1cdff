//! `tenure status --watch` on a terminal.

use super::support::{Home, Screen, holder};

#[test]
fn the_table_is_live() {
    let home = Home::new();
    let screen = Screen::show(&home, (120, 20), "status --watch m never");
    let text = screen.sees("0 owned, 2 free");
    assert!(
        text.contains("NAME") && text.contains("TIME LEFT"),
        "{text}"
    );
    let holder = holder(&home, "me", "m");
    let text = screen.sees("1 owned, 1 free");
    let line = text.lines().find(|line| line.starts_with('m')).unwrap();
    assert!(line.contains("me/") && line.contains('█'), "{text}");
    drop(holder);
    screen.sees("0 owned, 2 free");
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn a_tiny_screen_shows_what_fits_and_ctrl_c_ends_it() {
    let home = Home::new();
    let screen = Screen::show(&home, (40, 6), "status --watch a b c d e f g");
    screen.sees("more; q ends");
    screen.types("C-c");
    assert_eq!(screen.code(&home), "130");
}

#[test]
fn without_a_terminal_it_is_refused_with_a_hint() {
    let home = Home::new();
    let output = home.tenure(&["status", "--watch"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let hint = String::from_utf8_lossy(&output.stderr);
    assert!(hint.contains("watch NAME… --output json"), "{hint}");
    assert!(output.stdout.is_empty());
    let screen = Screen::show(&home, (100, 20), "status --watch --output json");
    screen.sees("needs a terminal");
    assert_eq!(screen.code(&home), "2");
}

#[test]
fn what_hides_in_an_id_is_shown() {
    let home = Home::new();
    let _holder = holder(&home, "ad\u{202e}nim\u{200b}", "n\u{2066}m");
    let screen = Screen::show(&home, (160, 20), "status --watch");
    let text = screen.sees("1 owned");
    assert!(text.contains("ad\\u{202e}nim\\u{200b}/"), "{text:?}");
    assert!(text.contains("n\\u{2066}m"), "{text:?}");
}

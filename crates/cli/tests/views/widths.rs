//! The table of `tenure status` in terminals of every width: names stay whole.

use super::support::{Home, Screen, holder};

const NAME: &str = "billing-nightly-report";
const ID: &str = "worker-17.frankfurt.example.com";

/// The line of the table that tells of `name`.
fn line_of(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.contains(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}"))
        .to_owned()
}

#[test]
fn names_are_whole_in_the_live_table_at_every_usual_width() {
    let home = Home::new();
    let _held = holder(&home, ID, NAME);
    for width in [40, 60, 80, 200] {
        let screen = Screen::show(&home, (width, 12), &format!("top {NAME} other"));
        let text = screen.sees("1 owned, 1 free");
        let line = line_of(&text, NAME);
        assert!(line.contains("wor"), "the owner at {width}:\n{text}");
        assert!(text.contains("TIME LEFT"), "at {width}:\n{text}");
        screen.types("q");
        assert_eq!(screen.code(&home), "0");
        std::fs::remove_file(home.path("code")).unwrap();
    }
}

#[test]
fn a_selected_row_shows_all_that_the_table_leaves_out() {
    let home = Home::new();
    let _held = holder(&home, ID, NAME);
    let token = home.line("token");
    let screen = Screen::show(&home, (60, 16), &format!("top other {NAME}"));
    let text = screen.sees("1 owned, 1 free");
    assert!(!text.contains(&token), "no room for {token}:\n{text}");
    // What the store knows of comes first.
    screen.types("Down");
    let text = screen.sees(&token);
    let whole: String = text.split_whitespace().collect();
    assert!(whole.contains(ID), "the whole id:\n{text}");
    screen.types("Down");
    screen.shows("another row's details", |text| !text.contains(&token));
    screen.types("Up");
    screen.sees(&token);
    screen.types("Enter");
    screen.shows("no details", |text| !text.contains(&token));
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn with_arrow_keys_every_row_of_a_small_screen_can_be_reached() {
    let home = Home::new();
    let names: Vec<String> = (10..40).map(|number| format!("mutex-{number}")).collect();
    let screen = Screen::show(&home, (60, 12), &format!("top {}", names.join(" ")));
    let text = screen.sees("0 owned, 30 free");
    assert!(
        text.contains("mutex-10") && !text.contains("mutex-39"),
        "{text}"
    );
    screen.types("End");
    screen.sees("mutex-39");
    screen.types("Home");
    screen.sees("mutex-10");
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn the_plain_table_fits_the_terminal_and_a_pipe_gets_all() {
    let home = Home::new();
    let _held = holder(&home, ID, NAME);
    let token = home.line("token");
    for width in [40, 60, 80, 200] {
        let screen = Screen::show(&home, (width, 12), "status");
        assert_eq!(screen.code(&home), "0");
        let text = screen.text();
        // One line for the header and one for the mutex: none is wrapped.
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 2, "at {width}:\n{text}");
        assert!(lines[1].starts_with(NAME), "at {width}:\n{text}");
        assert_eq!(
            lines[1].contains(&token),
            width == 200,
            "at {width}:\n{text}"
        );
        std::fs::remove_file(home.path("code")).unwrap();
    }
    let screen = Screen::show(&home, (60, 12), "status -v 2> said");
    assert_eq!(screen.code(&home), "0");
    let whole: String = screen.text().split_whitespace().collect();
    assert!(whole.contains(&token) && whole.contains(ID), "{whole}");
    let piped = home.tenure(&["status"]).output().unwrap();
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert!(piped.contains(&token) && piped.contains(ID), "{piped}");
}

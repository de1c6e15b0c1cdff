//! What a person sees who sits before a terminal, and what a pipe does not.

use super::support::{Home, Screen, holder, text};

#[test]
fn revoke_asks_and_does_what_is_answered() {
    let home = Home::new();
    let _held = holder(&home);
    let script = format!("\"$TENURE\" revoke {}; echo $? > ended", home.mutex());
    for (answer, code) in [("n", "1"), ("", "1"), ("y", "0")] {
        let mut screen = Screen::show(&home, &script);
        screen.sees("Free it? [y/N] ");
        screen.sees("is owned by holder/");
        screen.sees("Its owner is not asked");
        screen.types(answer);
        assert_eq!(home.line("ended"), code, "{answer:?}");
        std::fs::remove_file(home.path("ended")).unwrap();
        screen.sees(match code {
            "0" => "has been freed",
            _ => "nothing was done",
        });
        let next = home.output(["run", "-n", home.mutex(), "--", "true"]);
        let expected = if code == "0" { 0 } else { 75 };
        assert_eq!(next.status.code(), Some(expected), "{answer:?}");
    }
}

#[test]
fn a_person_who_waits_sees_for_whom_and_how_long() {
    let home = Home::new();
    let mut held = holder(&home);
    let script = format!("\"$TENURE\" run {} -- sh -c 'echo > ran'", home.mutex());
    let screen = Screen::show(&home, &script);
    let waiting = format!("waiting for {} (held by holder/", home.mutex());
    screen.sees(&waiting);
    let line = screen.sees("s so far");
    assert!(line.contains(" for "), "since when: {line}");
    drop(held.0.stdin.take());
    home.line("ran");
}

#[test]
fn a_pipe_hears_nothing_of_the_waiting() {
    let home = Home::new();
    let _held = holder(&home);
    // Longer than it takes until a person is shown something.
    let refused = home.output(["run", "--wait", "2500ms", home.mutex(), "--", "true"]);
    assert_eq!(refused.status.code(), Some(75));
    let said = text(&refused.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("tenure: not acquired: "), "{said}");
}

//! What is said to one who does not know the program yet.

use std::process::Stdio;

use super::support::{Home, bounded, text};

#[test]
fn who_forgets_the_dashes_is_shown_the_right_line() {
    let home = Home::new();
    for (wrong, right) in [
        ("run x echo hi", "tenure run x -- echo hi"),
        ("lead x ./worker -v", "tenure lead x -- ./worker -v"),
        (
            "schedule x --every 1h ./tidy",
            "tenure schedule x --every 1h -- ./tidy",
        ),
        ("run x --fast -- ./job", "tenure run x -- ./job --fast"),
        ("nightly -- ./job", "tenure run nightly -- ./job"),
    ] {
        let output = home.output(wrong.split(' '));
        assert_eq!(output.status.code(), Some(2), "{wrong}: {output:?}");
        assert_eq!(text(&output.stdout), "", "{wrong}");
        let said = text(&output.stderr);
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        assert!(lines.contains(&right), "{wrong}: {said}");
    }
}

#[test]
fn the_line_that_is_shown_can_be_pasted_and_holds_no_password() {
    let home = Home::new();
    let output = home.output([
        "--url",
        "redis://:s3cret@h",
        "run",
        "x",
        "printf",
        "%s\n",
        "it's",
    ]);
    let said = text(&output.stderr);
    assert!(!said.contains("s3cret"), "{said}");
    assert!(said.contains(r"-- printf '%s\n' 'it'\''s'"), "{said}");
}

#[test]
fn an_option_of_ours_behind_the_dashes_is_explained() {
    let home = Home::new();
    let output = home.output(["run", home.mutex(), "--", "--wait", "3s", "true"]);
    assert_eq!(output.status.code(), Some(127), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("stand before the --"), "{said}");
}

#[test]
fn the_help_fits_a_screen_however_it_is_asked_for() {
    let home = Home::new();
    let help = home.output(["help"]);
    assert_eq!(help.status.code(), Some(0));
    let shown = text(&help.stdout);
    assert!(shown.lines().count() < 24, "{shown}");
    assert!(!shown.contains('\x1b'), "no colours in a pipe: {shown}");
    assert_eq!(text(&home.output(["-h"]).stdout), shown);
    let nothing = bounded(&mut home.tenure([""; 0]));
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(text(&nothing.stderr), shown);
    let long = text(&home.output(["--help"]).stdout);
    for heading in ["The store:", "The lease:", "Output:", "Exit codes:"] {
        assert!(long.contains(heading), "{long}");
    }
    for words in [["help", "run"], ["run", "--help"]] {
        let help = text(&home.output(words).stdout);
        assert!(help.contains("\nWaiting:\n"), "{help}");
        assert!(help.contains("Examples:"), "{help}");
    }
}

#[test]
fn the_manual_and_the_completions_know_the_options() {
    let home = Home::new();
    let page = text(&home.output(["man"]).stdout);
    for option in ["wait", "once\\-per", "misfire", "fail\\-fast", "url"] {
        assert!(page.contains(&format!("\\-\\-{option}")), "{option}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&home.output(["completions", shell]).stdout);
        assert!(script.contains("once-per"), "{shell}");
    }
    // It can be read by the shell that it is for.
    let script = home.output(["completions", "bash"]).stdout;
    std::fs::write(home.path("completions"), script).unwrap();
    let mut bash = home.command("bash");
    let read = bash.args(["-c", "set -e; . ./completions; complete -p tenure"]);
    let read = bounded(read.stdin(Stdio::null()));
    assert_eq!(read.status.code(), Some(0), "{read:?}");
}

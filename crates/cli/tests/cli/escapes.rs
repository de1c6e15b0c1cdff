//! What others wrote cannot command a terminal, turn letters around or hide.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use serde_json::Value;

use super::stores::{Lease, Store, on_every_store, unique};
use super::support::{Home, Screen, bounded, eventually, start, text};

/// Turns the letters around, has no width, isolates, ends a line.
const ODD: &str = "ad\u{202e}nim\u{200b}\u{2066}\u{feff}\u{2028}x";

/// Whether nothing hides in it.
fn is_plain(text: &str) -> bool {
    let hides = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    !text.contains(hides)
}

fn all(output: &Output) -> String {
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(is_plain(&shown), "{shown:?}");
    shown
}

on_every_store!(nothing_hides_in_names_and_ids);

fn nothing_hides_in_names_and_ids(store: Store) {
    let home = Home::on(store, Lease::Usual);
    let name = format!("{}{ODD}", unique());
    let script = "echo > held; exec cat";
    let mut holder = home.tenure(["--id", ODD, "run", &name, "--", "sh", "-c", script]);
    let _holder = start(holder.stdin(Stdio::piped()));
    home.line("held");
    let mut waiter = home.tenure(["--id", ODD, "-vvv", "run", &name, "--", "true"]);
    waiter.stderr(fs::File::create(home.path("waiter")).unwrap());
    let _waiter = start(&mut waiter);
    eventually("the waiter says for whom it waits", || {
        fs::read_to_string(home.path("waiter"))
            .unwrap()
            .contains("waiting for")
    });
    let said = fs::read_to_string(home.path("waiter")).unwrap();
    assert!(is_plain(&said) && said.contains("\\u{202e}"), "{said:?}");

    let shown = all(&home.output(["status", &name]));
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert_eq!(
        shown
            .lines()
            .nth(1)
            .unwrap()
            .matches("ad\\u{202e}nim\\u{200b}")
            .count(),
        {
            // The name and the owner, and the waiter where the store knows it.
            if shown.ends_with("-\n") { 2 } else { 3 }
        }
    );
    let output = home.output(["status", "--output", "json", &name]);
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        row["owner"].as_str().unwrap().starts_with(ODD),
        "JSON means what is there: {row}"
    );
    assert!(all(&output).contains("ad\\u202enim\\u200b"));
    let refused = home.output(["run", "-n", &name, "--", "true"]);
    assert!(
        all(&refused).contains("is held by ad\\u{202e}nim"),
        "{refused:?}"
    );
    for format in ["human", "json"] {
        let mut watch = home.tenure(["watch", "--output", format, &name]);
        let mut watch = start(watch.stdout(Stdio::piped()));
        let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(is_plain(&line) && line.contains("202e"), "{line:?}");
    }
    let wrong = home.output(["revoke", "--yes", "--token", "1", &name]);
    assert!(all(&wrong).contains("\\u{202e}"), "{wrong:?}");
}

/// A shell gets the very name, or it would let go of another; a person who
/// looks at a terminal does not.
#[test]
fn a_shell_that_holds_such_a_name_can_release_it() {
    let home = Home::new();
    let script = "eval \"$(\"$TENURE\" --id \"$ODD\" hold \"$ODD\")\"; [ \"$TENURE_NAME\" = \"$ODD\" ]; echo $?; \
                  case $TENURE_CONTENDER in \"$ODD\"*) echo ours; esac; \"$TENURE\" release \"$TENURE_NAME\"; echo $?";
    let mut command = home.command("sh");
    command.args(["-c", script]).env("ODD", ODD);
    let output = bounded(&mut command);
    assert_eq!(text(&output.stdout), "0\nours\n0\n", "{output:?}");
    assert!(is_plain(&text(&output.stderr)), "{output:?}");
    let screen = Screen::show(
        &home,
        &format!("\"$TENURE\" hold --on-loss warn --pid $$ '{ODD}'; echo done-$?"),
    );
    let seen = screen.sees("done-0");
    assert!(seen.contains("TENURE_NAME='ad\\u{202e}nim"), "{seen:?}");
}

#[test]
fn nothing_hides_in_a_question() {
    let home = Home::new();
    let script = "echo > held; exec cat";
    let mut holder = home.tenure(["--id", ODD, "run", ODD, "--", "sh", "-c", script]);
    let _holder = start(holder.stdin(Stdio::piped()));
    home.line("held");
    let mut screen = Screen::show(&home, &format!("\"$TENURE\" revoke '{ODD}'"));
    let seen = screen.sees("[y/N]");
    let question = seen.lines().find(|line| line.contains("[y/N]")).unwrap();
    assert!(
        is_plain(question) && question.contains("owned by ad\\u{202e}nim"),
        "{seen:?}"
    );
    screen.types("n");
    assert_eq!(screen.end(), Some(1));

    let screen = Screen::show(
        &home,
        &format!("timeout -s INT 30 \"$TENURE\" run '{ODD}' -- true"),
    );
    let seen = screen.sees("(held by ad");
    let line = seen.replace("\r\u{1b}[K", "\n");
    assert!(
        is_plain(&line) && line.contains("waiting for ad\\u{202e}nim"),
        "{seen:?}"
    );
}

#[test]
fn what_a_server_says_commands_no_terminal() {
    // Both repeat the name of a database that is not there.
    for store in [Store::Postgres, Store::MariaDb] {
        let place = store.place().unwrap();
        let (server, _) = place.rsplit_once('/').unwrap();
        let home = Home::at(format!("{server}/x%1B%5B2J%0Atenure%3A%20all%20is%20well"));
        for words in [
            &["status"][..],
            &["-vvv", "run", "m", "--", "true"],
            &["lead", "--fail-fast", "m", "--", "true"],
            &["doctor"],
            &["doctor", "--output", "json"],
        ] {
            let shown = all(&home.output(words));
            assert!(shown.contains("[2J"), "{store:?} {words:?}: {shown}");
            let forged = shown
                .lines()
                .any(|line| line.starts_with("tenure: all is well"));
            assert!(!forged, "{shown}");
        }
    }
}

#[test]
fn what_a_peer_left_in_a_ledger_commands_no_terminal() {
    let home = Home::on(Store::Redis, Lease::Usual);
    let evil = "\x1b[2Jrate\n1s\u{202e}";
    let name = home.mutex().to_owned();
    let mut first = home.tenure([
        "schedule",
        &name,
        "--every",
        "1h",
        "--",
        "sh",
        "-c",
        "echo > ran",
    ]);
    let first = start(&mut first);
    home.line("ran");
    drop(first);
    Store::Redis.spoil_plan(&name, evil);
    let words = ["schedule", &name, "--every", "2h", "--", "true"];
    let mut command = home.command("timeout");
    command
        .args(["-s", "TERM", "5", env!("CARGO_BIN_EXE_tenure")])
        .args(words);
    let shown = all(&bounded(&mut command));
    assert!(shown.contains("[2Jrate"), "{shown}");
}

#[test]
fn an_argument_commands_no_terminal() {
    let home = Home::new();
    let evil = "\x1b[2J\u{202e}\n";
    let command = format!("/no/such/{evil}");
    let file = format!("--config=/no/such/{evil}");
    for words in [
        &[evil][..],
        &["run", evil, "--", "true"],
        &["--id", evil, "run", "m", "--", "true"],
        &["run", "m", "--wait", evil, "--", "true"],
        &["hold", evil],
        &["hold", "m", "--on-loss", evil],
        &["release", evil],
        &["schedule", "m", "--preview", evil, "--every", "1s"],
        &["run", "m", "--", &command],
        &["status", evil],
        &["revoke", "--yes", evil],
        &[&file, "status"],
        &["--url", evil, "status"],
        &["--url", "sqlite:/no/such/%1B%5B2J", "status"],
        &["--url-file", evil, "status"],
        &["schedule", "m", "--cron", evil, "--", "true"],
        &[
            "schedule",
            "m",
            "--cron",
            "* * * * *",
            "--tz",
            evil,
            "--",
            "true",
        ],
        &["lead", "m", "--http", evil, "--", "true"],
        &["dashboard", "--listen", evil],
        &["-vvv", "status", evil],
        &["completions", evil],
    ] {
        let output = home.output(words);
        assert_ne!(all(&output), "", "{words:?}");
    }
}

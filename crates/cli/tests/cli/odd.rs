//! Odd arguments, given to the real program: whatever is refused is refused
//! before anything is opened or made. `src/args/odd.rs` has many more of them,
//! without processes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Home, text};

type Words = &'static [&'static str];
type Options = &'static [(&'static str, Kind)];

/// What each command needs beside the odd word, and the options that are its
/// own, each with how its value is read.
const COMMANDS: &[(&str, Words, Words, Options)] = &[
    (
        "run",
        &["m"],
        &["--", "true"],
        &[
            ("--wait", Kind::Length),
            ("--once-per", Kind::Length),
            ("--at-least-for", Kind::Length),
            ("--grace", Kind::Length),
        ],
    ),
    (
        "hold",
        &["m"],
        &[],
        &[
            ("--wait", Kind::Length),
            ("--pid", Kind::Number),
            ("--on-loss", Kind::Word),
            ("--grace", Kind::Length),
        ],
    ),
    (
        "lead",
        &["m", "--once"],
        &["--", "true"],
        &[("--grace", Kind::Length), ("--http", Kind::Place)],
    ),
    (
        "schedule",
        &["m"],
        &["--", "true"],
        &[
            ("--every", Kind::Length),
            ("--delay", Kind::Length),
            ("--cron", Kind::Word),
            ("--timeout", Kind::Length),
            ("--misfire", Kind::Word),
            ("--late-limit", Kind::Length),
            ("--http", Kind::Place),
            ("--preview", Kind::Number),
        ],
    ),
    ("schedules", &[], &[], &[]),
    ("status", &[], &[], &[]),
    ("top", &[], &[], &[]),
    ("watch", &["m"], &[], &[]),
    (
        "dashboard",
        &[],
        &[],
        &[
            ("--listen", Kind::Place),
            ("--http", Kind::Place),
            ("--token-file", Kind::File),
            ("--host", Kind::Word),
        ],
    ),
    ("revoke", &["m", "--yes"], &[], &[("--token", Kind::Word)]),
    ("prune", &[], &[], &[("--unused-for", Kind::Length)]),
    ("doctor", &[], &[], &[]),
    ("init", &[], &[], &[]),
];

/// What every command takes.
const COMMON: &[(&str, Kind)] = &[
    ("--url", Kind::Word),
    ("--ttl", Kind::Length),
    ("--transition", Kind::Length),
    ("--id", Kind::Id),
    ("--output", Kind::Word),
    ("--config", Kind::File),
    ("--url-file", Kind::File),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Length,
    Number,
    Place,
    Id,
    File,
    Word,
}

/// Values that are wrong for an option of this kind, whichever it is.
fn wrong(kind: Kind) -> Vec<OsString> {
    let long = "x".repeat(100_000);
    let of_kind: &[&str] = match kind {
        Kind::Length => &[
            "5",
            "-1s",
            "1.5s",
            "999999999999y",
            "NaN",
            "٣s",
            "18446744073709551615h",
        ],
        Kind::Number => &["0", "-1", "1.5", "x", "١", "99999999999999999999"],
        Kind::Place => &[
            "127.0.0.1",
            ":",
            "127.0.0.1:66000",
            "127.0.0.1:-1",
            "no host:80",
            "::1:x",
        ],
        Kind::Id => &["a@@b", " padded", "tab\t", "a\nb"],
        Kind::File => &["/", "/nowhere/tenure.toml", "/dev/zero"],
        Kind::Word => &["nothing known", "-", "\u{1b}[2J"],
    };
    let mut values: Vec<OsString> = of_kind.iter().map(Into::into).collect();
    values.extend([
        "".into(),
        long.into(),
        OsStr::from_bytes(b"\xff\xfe").into(),
    ]);
    values
}

/// The words of every case; each must be refused.
fn refused() -> Vec<Vec<OsString>> {
    let mut cases = Vec::new();
    for (at, (command, before, after, own)) in COMMANDS.iter().enumerate() {
        // Those that all have are tried with each command by turns.
        let shared = COMMON
            .iter()
            .enumerate()
            .filter(|(nth, _)| nth % 5 == at % 5);
        for (option, kind) in own.iter().chain(shared.map(|(_, option)| option)) {
            for value in wrong(*kind) {
                let mut words: Vec<OsString> = vec![command.into()];
                words.extend(before.iter().map(Into::into));
                let mut glued = OsString::from(format!("{option}="));
                glued.push(&value);
                words.push(glued);
                words.extend(needed(command, option).iter().map(Into::into));
                words.extend(after.iter().map(Into::into));
                cases.push(words);
            }
        }
    }
    let names = [
        String::new(),
        " ".into(),
        "x".repeat(67),
        "名".repeat(23),
        "}".into(),
        "a\u{1}".into(),
        " m".into(),
        "x".repeat(100_000),
    ];
    for name in names {
        for (command, rest) in [
            ("run", &["--", "true"][..]),
            ("hold", &[]),
            ("lead", &["--once", "--", "true"]),
            ("schedule", &["--every", "1h", "--", "true"]),
            ("watch", &[]),
        ] {
            let mut words = vec![OsString::from(command), (&name).into()];
            words.extend(rest.iter().map(Into::into));
            cases.push(words);
        }
    }
    // Outside of a script that holds anything, whatever the name.
    cases.push(vec!["release".into()]);
    cases.push(vec!["release".into(), "m".into()]);
    cases.push(vec!["release".into(), "m".into(), "n".into()]);
    cases
}

/// What a command cannot do without, unless that is what is tried.
fn needed(command: &str, option: &str) -> &'static [&'static str] {
    match command {
        "schedule" if !["--every", "--delay", "--cron"].contains(&option) => &["--every", "1h"],
        "prune" if option != "--unused-for" => &["--unused-for", "1h"],
        _ => &[],
    }
}

#[test]
fn whatever_is_refused_is_refused_before_anything_is_made() {
    let cases = refused();
    assert!(cases.len() > 150, "{}", cases.len());
    let mut faults = Vec::new();
    for (at, words) in cases.iter().enumerate() {
        let home = Home::new();
        let begun = Instant::now();
        let output = home.output(words);
        let said = text(&output.stderr);
        let mut fault = |what: &str| {
            let beginning: String = said.chars().take(300).collect();
            faults.push(format!("case {at} {}: {what}: {beginning:?}", brief(words)));
        };
        if output.status.code() != Some(2) {
            fault(&format!("ended with {}", output.status));
        }
        if said.trim().is_empty() || said.contains("panicked") {
            fault("says nothing useful");
        }
        // A script that evaluates nothing would go on; a person's shell, which
        // may run this test, is not to be ended.
        let wanted: &[&str] = match words[0] == "hold" {
            true => &["exit 2\n", "(exit 2)\n"],
            false => &[""],
        };
        if !wanted.contains(&text(&output.stdout).as_str()) {
            fault(&format!("wrote {:?} to stdout", text(&output.stdout)));
        }
        if !is_empty(&home.path("")) {
            fault("made something");
        }
        // Far above what one takes, also on a busy machine.
        if begun.elapsed() > Duration::from_secs(60) {
            fault("took too long");
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// The words, each at most as long as a person reads.
fn brief(words: &[OsString]) -> String {
    let shown = words.iter().map(|word| {
        let word = format!("{word:?}");
        let beginning: String = word.chars().take(60).collect();
        beginning
    });
    shown.collect::<Vec<_>>().join(" ")
}

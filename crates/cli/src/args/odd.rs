//! Every command with every option and every odd value that comes to mind:
//! made from the description of the arguments, so that a new option is among
//! them. `tests/cli/odd.rs` gives a part of them to the real program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::{Arg, Command, CommandFactory, Parser};

use super::Cli;
use crate::config::{Settings, Sources};
use crate::output::Voice;

/// What must become of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// Refused, with a message and code 2.
    Refused,
    /// Taken: an ordinary value, so that the sweep does not pass by refusing
    /// everything.
    Taken,
    /// Either, with a word.
    Either,
}

struct Case {
    words: Vec<OsString>,
    fate: Fate,
}

impl Case {
    fn new<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>, fate: Fate) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        Self {
            words: words.collect(),
            fate,
        }
    }

    /// What is wrong with how the program takes it, if anything is.
    fn fault(&self) -> Option<String> {
        let words = self.words.clone();
        let said = catch_unwind(AssertUnwindSafe(|| take(words)));
        let Ok(said) = said else {
            return Some("panicked".into());
        };
        match (said, self.fate) {
            (Ok(()), Fate::Refused) => Some("was taken".into()),
            (Err((code, said)), Fate::Taken) => Some(format!("was refused with {code}: {said}")),
            (Err((2, said)), _) if said.trim().len() > 10 => None,
            // `--help` and `--version` are answers.
            (Err((0, _)), Fate::Either) => None,
            (Err((code, said)), _) => Some(format!("ended with {code}: {said:?}")),
            (Ok(()), _) => None,
        }
    }
}

/// What the program does with its arguments before it touches anything.
fn take(words: Vec<OsString>) -> Result<(), (i32, String)> {
    let cli = Cli::try_parse_from(words)
        .map_err(|error| (error.exit_code(), error.render().to_string()))?;
    if !is_about_a_store(&cli.command) {
        return Ok(());
    }
    let told = |failure: crate::exit::Failure| (i32::from(failure.code), failure.message);
    let settings = Sources::read(cli.common)
        .and_then(|sources| Settings::gather(sources, &Voice::new(true, 0)))
        .map_err(told)?;
    super::check::check(&cli.command, &settings).map_err(told)
}

fn is_about_a_store(command: &super::Command) -> bool {
    use super::Command::{Completions, Demo, Man, Release};
    !matches!(command, Completions { .. } | Demo | Man | Release(_))
}

/// The subcommands as the program has them.
fn commands() -> Vec<Command> {
    let mut program = Cli::command();
    program.build();
    let all = program.get_subcommands();
    all.filter(|command| command.get_name() != "help")
        .cloned()
        .collect()
}

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Flag,
    Length,
    Days,
    Name,
    FoundName,
    Id,
    Url,
    Program,
    Other,
}

fn kind(command: &Command, arg: &Arg) -> Kind {
    if !arg.get_action().takes_values() {
        return Kind::Flag;
    }
    let value_names = arg.get_value_names().unwrap_or_default();
    match (command.get_name(), arg.get_id().as_str()) {
        (_, "command") => Kind::Program,
        (_, "url") => Kind::Url,
        (_, "id") => Kind::Id,
        (_, "unused_for") => Kind::Days,
        ("status" | "top" | "revoke" | "schedules", "name" | "names") => Kind::FoundName,
        ("release", _) => Kind::Other,
        (_, "name" | "names") => Kind::Name,
        _ if value_names.iter().any(|name| name == "DUR") => Kind::Length,
        _ => Kind::Other,
    }
}

/// Odd values, each with what must become of it as a value of this kind.
fn values(kind: Kind) -> Vec<(OsString, Fate)> {
    use Fate::{Either, Refused, Taken};
    let mut values: Vec<(OsString, Fate)> = Vec::new();
    let mut add = |text: &str, fate| values.push((text.into(), fate));
    let long = "x".repeat(100_000);
    let number = "9".repeat(100_000) + "s";
    let always = |good: bool| if good { Taken } else { Refused };
    let is_length = matches!(kind, Kind::Length | Kind::Days);
    // No length is any of these.
    for text in [
        "",
        " ",
        "5",
        "s",
        "ms",
        "-1s",
        "+1s",
        "0x10s",
        "1.5s",
        "1e3s",
        "1 s",
        " 1s",
        "1s ",
        "NaN",
        "inf",
        "٣s",
        "１s",
        "1S",
        "1sec",
        "1min",
        "1w",
        "1y",
        "999999999999y",
        "1s1s",
        "1h30m",
        "18446744073709551616ms",
        "18446744073709551615s",
        "5124095576030432h",
        "1\u{0}s",
        "1s\n",
        "\u{1b}[2J",
        "\u{202e}1s",
        &long,
        &number,
        "..",
        "/",
        "-",
        "--",
        "%00",
        "\"",
        "$(true)",
    ] {
        add(text, if is_length { Refused } else { Either });
    }
    add(
        "1d",
        if is_length {
            always(kind == Kind::Days)
        } else {
            Either
        },
    );
    add(
        "999999999999999999999d",
        if is_length { Refused } else { Either },
    );
    for text in [
        "0s",
        "0ms",
        "1ms",
        "1s",
        "1000000h",
        "18446744073709551615ms",
    ] {
        add(text, Either);
    }
    match kind {
        Kind::Name | Kind::FoundName => {
            let good = [
                "a/b",
                "..",
                ".",
                "a b",
                "%",
                "'; DROP TABLE x; --",
                "名",
                "a\\b",
                "🔒",
            ];
            for text in good.map(str::to_owned).into_iter().chain(["x".repeat(66)]) {
                add(&text, Taken);
            }
            let bad = [
                "", " ", " a", "a ", "\t", "a\nb", "a\u{7f}", "\u{85}a", "}", "}a",
            ];
            let long = ["x".repeat(67), "名".repeat(23), long.clone()];
            for text in bad.map(str::to_owned).into_iter().chain(long) {
                add(&text, if kind == Kind::Name { Refused } else { Either });
            }
        }
        Kind::Id => {
            for text in ["a", "0:1@h", "名", &"x".repeat(100)] {
                add(text, Taken);
            }
            for text in [
                "",
                " ",
                "a@@b",
                " a",
                "a\n",
                &"x".repeat(128),
                &"x".repeat(129),
                &long,
            ] {
                add(text, Refused);
            }
        }
        Kind::Url => {
            for text in [
                "",
                "x",
                "redis",
                "etcd://h",
                "sqlite:x?colour=red",
                "redis://h:99999",
            ] {
                add(text, Refused);
            }
            add("sqlite:x.db", Taken);
        }
        _ => {}
    }
    if kind != Kind::Program && kind != Kind::Other {
        values.push((OsStr::from_bytes(b"\xff\xfe").into(), Refused));
    }
    values
}

/// The words that make `command` whole without `left_out`.
fn whole(command: &Command, left_out: &str) -> (Vec<OsString>, Vec<OsString>) {
    let mut before: Vec<OsString> = vec!["tenure".into(), command.get_name().into()];
    let mut after: Vec<OsString> = Vec::new();
    let timed = ["every", "delay", "cron"];
    if command.get_name() == "schedule" && !timed.contains(&left_out) {
        before.extend(["--every".into(), "1h".into()]);
    }
    // Required, unless it is only a preview.
    if command.get_name() == "schedule" {
        if left_out != "name" {
            before.push("m".into());
        }
        if left_out != "command" {
            after.extend(["--".into(), "true".into()]);
        }
    }
    for arg in command.get_arguments().filter(|arg| arg.is_required_set()) {
        match arg.get_id().as_str() {
            id if id == left_out => {}
            "name" | "names" => before.push("m".into()),
            "unused_for" => before.extend(["--unused-for".into(), "1h".into()]),
            "shell" => before.push("bash".into()),
            "command" => after.extend(["--".into(), "true".into()]),
            id => panic!("how is {id} of {} given?", command.get_name()),
        }
    }
    (before, after)
}

/// One option or word of a command with every odd value.
fn of_argument(command: &Command, arg: &Arg) -> Vec<Case> {
    let id = arg.get_id().as_str();
    let kind = kind(command, arg);
    let (before, after) = whole(command, id);
    let case =
        |middle: Vec<OsString>, fate| Case::new(before.iter().chain(&middle).chain(&after), fate);
    let is_about_a_store = !["demo", "completions", "man", "release"].contains(&command.get_name());
    let spoken = |long: &str| OsString::from(format!("--{long}"));
    let mut cases = Vec::new();
    let Some(long) = arg.get_long() else {
        for (value, fate) in values(kind) {
            // A word that begins so is taken for an option.
            let fate = match value.as_bytes().first() {
                Some(b'-') => Fate::Either,
                _ => fate,
            };
            let middle = match kind {
                Kind::Program => vec!["--".into(), value],
                _ => vec![value],
            };
            cases.push(case(middle, fate));
        }
        return cases;
    };
    if kind == Kind::Flag {
        let given = spoken(long);
        cases.push(case(vec![given.clone()], Fate::Either));
        cases.push(case(vec![given.clone(), given], Fate::Either));
        for value in ["", "true", "0", "\u{1b}"] {
            cases.push(case(
                vec![format!("--{long}={value}").into()],
                Fate::Refused,
            ));
        }
        return cases;
    }
    // What all commands share is tried with each by turns.
    let (turn, of) = match arg.is_global_set() {
        true => (command.get_name().len(), 5),
        false => (0, 1),
    };
    for (value, fate) in values(kind).into_iter().skip(turn % of).step_by(of) {
        let fate = match is_about_a_store {
            true => fate,
            false => Fate::Either,
        };
        let mut glued = OsString::from(format!("--{long}="));
        glued.push(&value);
        cases.push(case(vec![glued], fate));
        // Apart, a value that begins with a dash is another option.
        cases.push(case(
            vec![spoken(long), value],
            match fate {
                Fate::Taken => Fate::Taken,
                _ => Fate::Either,
            },
        ));
    }
    let twice = vec![spoken(long), "1s".into(), spoken(long), "1s".into()];
    // Some may be given more than once.
    let fate = match arg.get_action() {
        clap::ArgAction::Append => Fate::Either,
        _ => Fate::Refused,
    };
    cases.push(case(twice, fate));
    // Without its value: whatever follows is none, or the word that was needed.
    let mut cut = before.clone();
    cut.push(spoken(long));
    cases.push(Case::new(cut, Fate::Refused));
    cases
}

/// Every two options of a command together.
fn pairs(command: &Command) -> Vec<Case> {
    let options: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| arg.get_long().is_some())
        .collect();
    let given = |arg: &Arg| -> Vec<OsString> {
        let mut words = vec![OsString::from(format!(
            "--{}",
            arg.get_long().unwrap_or_default()
        ))];
        if arg.get_action().takes_values() {
            words.push("1s".into());
        }
        words
    };
    let (before, after) = whole(command, "");
    let mut cases = Vec::new();
    for (at, one) in options.iter().enumerate() {
        for other in &options[at + 1..] {
            let middle = [given(one), given(other)].concat();
            cases.push(Case::new(
                before.iter().chain(&middle).chain(&after),
                Fate::Either,
            ));
        }
    }
    cases
}

fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for command in commands() {
        for arg in command.get_arguments() {
            cases.extend(of_argument(&command, arg));
        }
        cases.extend(pairs(&command));
        let name = command.get_name();
        let tails: [&[&str]; 6] = [
            &[],
            &["--"],
            &["--", "--"],
            &["--", ""],
            &["--nope"],
            &["-\u{1}"],
        ];
        cases.extend(tails.map(|tail| {
            Case::new(
                ["tenure", name].into_iter().chain(tail.iter().copied()),
                Fate::Either,
            )
        }));
    }
    for word in [
        "",
        "--",
        "-",
        "runn",
        "RUN",
        "run\n",
        "-x",
        "--=",
        "=",
        "\u{1b}[2J",
    ] {
        cases.push(Case::new(["tenure", word], Fate::Refused));
    }
    cases
}

#[test]
fn odd_arguments_are_refused_with_a_word_and_never_a_panic() {
    let cases = all();
    assert!(cases.len() > 1_617, "only {} cases", cases.len());
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let fault: String = case.fault()?.chars().take(300).collect();
            let words = case.words.iter().map(|word| format!("{word:?}"));
            let words = words.map(|word| word.chars().take(60).collect::<String>());
            Some(format!("{}: {fault}", words.collect::<Vec<_>>().join(" ")))
        })
        .collect();
    let few = faults
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        faults.is_empty(),
        "{} of {} cases:\n{few}",
        faults.len(),
        cases.len()
    );
}

//! Arguments that are nearly right: what the line should have been.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use super::Cli;
use crate::output::{Format, exit_with, plain};

/// The commands that run another one.
const RUNNERS: [&str; 3] = ["run", "lead", "schedule"];

/// Reads the arguments, the program's name first; ends the program when they
/// are wrong, or ask only for a text.
pub(crate) fn parse(words: Vec<OsString>) -> Cli {
    if let [_, word] = words.as_slice()
        && (word == "help" || word == "-h")
    {
        let _ = overview().print_help();
        std::process::exit(0);
    }
    let error = match Cli::try_parse_from(&words) {
        Ok(cli) => return cli,
        Err(error) => error,
    };
    if words.len() == 1 {
        eprint!("{}", overview().render_help());
        std::process::exit(i32::from(crate::exit::USAGE));
    }
    // A shell that evaluates nothing goes on as if it held the lock.
    let mut names = words.iter().skip(1).filter(|word| is_command(word));
    if error.use_stderr() && names.next().is_some_and(|name| name == "hold") {
        crate::hold::words::refused(crate::exit::USAGE, asked_format(&words));
    }
    match hint(&words, &error) {
        // With clap's exit code, and without the usage of all commands.
        Some(hint) => exit_with(&clap::Error::raw(error.kind(), hint + "\n")),
        None => exit_with(&error),
    }
}

/// The commands without the options, which each of them tells: it fits a
/// screen.
fn overview() -> clap::Command {
    Cli::command()
        .mut_args(|option| option.hide(true))
        .help_template("{about}\n{usage-heading} {usage}\n\n{subcommands}{after-help}\n")
}

/// What was meant, if it can be told from what was given.
fn hint(words: &[OsString], error: &clap::Error) -> Option<String> {
    let wrong = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(wrong)) => wrong.as_str(),
        _ => "",
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => forgotten_run(words),
        // Nearly an option of ours: clap knows which.
        _ if error.get(ContextKind::SuggestedArg).is_some() => None,
        ErrorKind::UnknownArgument => {
            forgotten_dashes(words, wrong).or_else(|| before_dashes(words, wrong))
        }
        _ => None,
    }
}

/// `tenure run x echo hi`: the command begins at the last place where dashes
/// before it make the line right.
fn forgotten_dashes(words: &[OsString], wrong: &str) -> Option<String> {
    let runner = runner(words)?;
    if words.iter().any(|word| word == "--") {
        return None;
    }
    let with_dashes = |at: usize| {
        let mut words = words.to_vec();
        words.insert(at, "--".into());
        words
    };
    // Something else may be missing beside the dashes.
    let is_right = |words: &Vec<OsString>| match Cli::try_parse_from(words) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::MissingRequiredArgument,
    };
    let line = (runner + 2..words.len())
        .rev()
        .map(with_dashes)
        .find(is_right)?;
    Some(format!(
        "unexpected argument '{}': the command to run stands behind --\n\n  {}",
        plain(wrong),
        shown(&line)
    ))
}

/// `tenure run x --fast -- job`: an option of the command's before the dashes.
fn before_dashes(words: &[OsString], wrong: &str) -> Option<String> {
    let runner = runner(words)?;
    let dashes = words.iter().position(|word| word == "--")?;
    let at = (runner..dashes).find(|at| words[*at] == wrong)?;
    let mut line = words.to_vec();
    let word = line.remove(at);
    line.push(word);
    Cli::try_parse_from(&line).ok()?;
    Some(format!(
        "tenure {} has no option '{}': what is for the command stands behind --, as in\n\n  {}",
        words[runner].display(),
        plain(wrong),
        shown(&line)
    ))
}

/// `tenure nightly -- ./job`.
fn forgotten_run(words: &[OsString]) -> Option<String> {
    let dashes = words.iter().position(|word| word == "--")?;
    let mut line = words.to_vec();
    line.insert(1, "run".into());
    Cli::try_parse_from(&line).ok()?;
    let wrong = words[..dashes].iter().skip(1).find(|word| {
        let text = word.to_string_lossy();
        !text.starts_with('-')
    })?;
    Some(format!(
        "there is no command '{}'; to hold a lock of that name while a command runs:\n\n  {}",
        plain(&wrong.to_string_lossy()),
        shown(&line)
    ))
}

/// How data was to be written, as far as that can be told.
fn asked_format(words: &[OsString]) -> Format {
    let is_flag = words.iter().any(|word| word == "--output=json");
    let is_pair = |pair: &[OsString]| pair[0] == "--output" && pair[1] == "json";
    match is_flag || words.windows(2).any(is_pair) {
        true => Format::Json,
        false => Format::Human,
    }
}

fn is_command(word: &OsStr) -> bool {
    let program = Cli::command();
    program.find_subcommand(word).is_some()
}

/// Where the command that runs another one stands.
fn runner(words: &[OsString]) -> Option<usize> {
    let is_runner = |word: &OsString| RUNNERS.iter().any(|runner| word == runner);
    words.iter().position(is_runner)
}

/// The line as one would type it, without what others should not see.
fn shown(words: &[OsString]) -> String {
    let mut line = vec!["tenure".to_owned()];
    let mut is_secret = false;
    for word in &words[1..] {
        let text = word.to_string_lossy();
        line.push(match text.split_once('=') {
            _ if is_secret => "…".into(),
            Some(("--url", _)) => "--url=…".into(),
            _ => quoted(word),
        });
        is_secret = word == "--url";
    }
    line.join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &OsStr) -> String {
    let text = plain(&word.to_string_lossy());
    let is_harmless = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    match !text.is_empty() && text.chars().all(is_harmless) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_fits_a_screen_and_has_every_command() {
        let help = overview().render_help().to_string();
        let lines: Vec<&str> = help.lines().collect();
        assert!(lines.len() < 24, "the prompt needs a line:\n{help}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{help}"
        );
        for part in Cli::command().get_subcommands() {
            assert!(help.contains(&format!("\n  {}", part.get_name())), "{help}");
        }
    }

    fn told(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Cli::try_parse_from(&words).unwrap_err();
        hint(&words, &error)
    }

    fn proposed(line: &str) -> Option<String> {
        let told = told(line)?;
        told.lines().last().map(|line| line.trim().to_owned())
    }

    #[test]
    fn forgotten_dashes_are_put_where_they_belong() {
        for (line, right) in [
            ("tenure run x echo hi", "tenure run x -- echo hi"),
            ("tenure run x ls -l", "tenure run x -- ls -l"),
            (
                "tenure -v run x --wait 3s job -n",
                "tenure -v run x --wait 3s -- job -n",
            ),
            ("tenure run -n x job", "tenure run -n x -- job"),
            (
                "tenure lead web --once ./web --port 80",
                "tenure lead web --once -- ./web --port 80",
            ),
            (
                "tenure schedule t --every 1h ./t",
                "tenure schedule t --every 1h -- ./t",
            ),
            ("tenure schedule t ./t", "tenure schedule t -- ./t"),
            ("tenure run x sh -c a;b", "tenure run x -- sh -c 'a;b'"),
        ] {
            assert_eq!(proposed(line).as_deref(), Some(right));
        }
    }

    #[test]
    fn what_is_the_commands_goes_behind_the_dashes() {
        assert_eq!(
            proposed("tenure run x --fast -- job 1").as_deref(),
            Some("tenure run x -- job 1 --fast")
        );
        assert_eq!(
            proposed("tenure nightly -- job").as_deref(),
            Some("tenure run nightly -- job")
        );
    }

    #[test]
    fn nothing_is_guessed_that_is_not_plain() {
        // Nearly ours, no command at all, or nothing that dashes could mend.
        for line in [
            "tenure run x --no-wiat -- job",
            "tenure rum x -- job --",
            "tenure status x --frob",
            "tenure run --frob x job",
            "tenure nightly",
            "tenure run x",
        ] {
            let told = told(line).unwrap_or_default();
            assert!(!told.contains("-- -"), "{line}: {told}");
            if line != "tenure rum x -- job --" {
                assert_eq!(told, "", "{line}");
            }
        }
    }

    #[test]
    fn a_url_is_not_repeated() {
        for line in [
            "tenure --url redis://:s3cret@h run x job",
            "tenure --url=redis://:s3cret@h run x job",
            "tenure run x --url redis://:s3cret@h job",
        ] {
            let told = told(line).unwrap();
            assert!(
                !told.contains("s3cret") && told.contains("-- job"),
                "{told}"
            );
        }
    }
}

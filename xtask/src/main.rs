//! `cargo xtask`: what the README and CI call. Run `cargo xtask help` for the commands.

mod api;
mod areas;
mod args;
mod bench;
mod crew;
mod features;
// Shared with the launchers, so that both look for the same programs in the same places.
#[path = "../../crates/testkit/src/servers/find.rs"]
mod find;
mod fuzz;
mod install;
mod job;
mod missing;
mod neighbours;
mod order;
mod plan;
mod programs;
mod run;
#[cfg(test)]
mod scratch;
mod servers;
mod summary;
mod system;
mod targets;
mod test;

use std::io;
use std::process::ExitCode;

use args::Command;
use test::End;

fn main() -> ExitCode {
    if std::env::var_os(fuzz::WRAPPER).is_some() {
        let ran = fuzz::wrap(std::env::args_os().skip(1));
        return ran.unwrap_or(ExitCode::FAILURE);
    }
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == job::NOTE) {
        let directory = words.next().unwrap_or_default();
        let noted = job::note(directory.as_ref(), &words.collect::<Vec<_>>());
        return noted.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("xtask: {error}\nrun `cargo xtask help` for the commands");
            return ExitCode::from(2);
        }
    };
    execute(&command).unwrap_or_else(|error| {
        eprintln!("xtask: cargo could not be run: {error}");
        ExitCode::FAILURE
    })
}

fn execute(command: &Command) -> io::Result<ExitCode> {
    let root = run::root();
    match command {
        Command::Help => {
            println!("{}", args::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Command::Test(args) => Ok(code(test::test(&root, args)?)),
        Command::Bench(args) => Ok(code(bench::bench(&root, args)?)),
        Command::Faults(args) => Ok(code(bench::faults(&root, args)?)),
        Command::Fuzz(args) => Ok(code(fuzz::fuzz(&root, args)?)),
        Command::Counts { write } => Ok(code(bench::counts(&root, *write)?)),
        Command::Api { write } => Ok(match api::look(&root, *write)? {
            api::Look::Same => ExitCode::SUCCESS,
            api::Look::NoDocs => ExitCode::FAILURE,
            api::Look::Differs { gone, new } => {
                for line in &gone {
                    eprintln!("- {line}");
                }
                for line in &new {
                    eprintln!("+ {line}");
                }
                eprintln!(
                    "xtask: the public API is not as docs/api.txt has it; if that is meant, run \
                     `cargo xtask api --write` and say so in CHANGELOG.md"
                );
                ExitCode::FAILURE
            }
        }),
        Command::CheckFeatures => Ok(verdict("does not compile with", &features::check(&root)?)),
        Command::CheckSqlite => {
            // Its tests need what those of every run do.
            if !test::is_provided(&[areas::Area::Sqlite], &args::TestArgs::default(), &[]) {
                return Ok(ExitCode::from(3));
            }
            Ok(verdict("SQLite beside others", &neighbours::check(&root)?))
        }
    }
}

fn code(end: End) -> ExitCode {
    match end {
        End::Passed => ExitCode::SUCCESS,
        End::Failed => ExitCode::FAILURE,
        End::Missing => ExitCode::from(3),
    }
}

fn verdict(what: &str, failed: &[String]) -> ExitCode {
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("xtask: {what}: {}", failed.join(", "));
    ExitCode::FAILURE
}

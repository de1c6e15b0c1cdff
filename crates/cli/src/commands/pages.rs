//! `tenure completions` and `tenure man`: texts made from the arguments.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Failure;

pub(crate) fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut script);
    let _ = std::io::stdout().write_all(&script);
    ExitCode::SUCCESS
}

/// The manual page of the program, and those of its commands behind it.
pub(crate) fn man() -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let failed = |error| Failure::system("write the manual page", &error);
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(failed)?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        if part.get_name() == "help" {
            continue;
        }
        let man = clap_mangen::Man::new(part.clone());
        writeln!(page, ".SH {}", part.get_name().to_uppercase()).map_err(failed)?;
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    let _ = std::io::stdout().write_all(&page);
    Ok(ExitCode::SUCCESS)
}

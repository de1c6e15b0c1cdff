//! The `tenure` program: locks and leaders for any command, on any store.

mod args;
mod commands;
mod complaints;
mod config;
mod exit;
mod files;
mod gate;
mod guardian;
mod hold;
#[cfg(feature = "http")]
mod metrics;
mod moment;
mod output;
mod place;
mod probes;
mod reaper;
mod signals;
mod store;
mod supervise;
mod terminal;
mod trace;
mod tree;
#[cfg(feature = "views")]
mod view;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use output::Voice;

fn main() -> ExitCode {
    // Its own helpers come first: they are started with every command that
    // runs, and know nothing of options.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some(guardian::WORD) => return guardian::main(words),
        Some(gate::WORD) => return gate::main(words),
        Some(hold::WORD) => return hold::main(),
        Some(commands::demo::CONTENDER) => return commands::demo::contender(words),
        _ => {}
    }
    let cli = args::parse(std::env::args_os().collect());
    let voice = Voice::new(cli.common.quiet, cli.common.verbose);
    trace::show(cli.common.verbose, false);
    commands::dispatch(cli, &voice)
}

/// This very program, also when its file has been replaced meanwhile.
fn ourselves() -> Command {
    let link = std::path::Path::new("/proc/self/exe");
    let path = if link.exists() {
        link.to_path_buf()
    } else {
        std::env::current_exe().unwrap_or_else(|_| "tenure".into())
    };
    let mut command = Command::new(path);
    command.arg0("tenure");
    command
}

//! One file for each command.

#[cfg(feature = "dashboard")]
mod dashboard;
pub(crate) mod demo;
mod doctor;
mod init;
mod lead;
mod once;
mod pages;
mod prune;
mod revoke;
mod run;
mod schedule;
mod schedules;
mod status;
mod waiting;
mod watch;

use std::process::ExitCode;
use std::time::Duration;

use tenure::Coordinator;

use crate::args::{Cli, Command};
use crate::config::Settings;
use crate::exit::Failure;
use crate::output::Voice;

/// Does what was asked.
pub(crate) fn dispatch(cli: Cli, voice: &Voice) -> Result<ExitCode, Failure> {
    let settings = match &cli.command {
        Command::Completions { shell } => return Ok(pages::completions(*shell)),
        Command::Man => return pages::man(),
        Command::Demo => None,
        _ => Some(Settings::gather(cli.common)?),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system("start the runtime", &error))?;
    let Some(settings) = settings else {
        return runtime.block_on(Box::pin(demo::demo()));
    };
    let work = async {
        let runs_commands = matches!(
            cli.command,
            Command::Run(_) | Command::Lead(_) | Command::Schedule(_)
        );
        if runs_commands {
            crate::reaper::begin()
                .map_err(|error| Failure::system("look after orphans", &error))?;
        }
        match cli.command {
            Command::Run(run) => Box::pin(run::run(run, &settings, voice)).await,
            Command::Lead(lead) => Box::pin(lead::lead(lead, &settings, voice)).await,
            Command::Schedule(schedule) => {
                Box::pin(schedule::schedule(schedule, &settings, voice)).await
            }
            Command::Schedules(schedules) => {
                schedules::schedules(schedules, &settings, voice).await
            }
            Command::Status(status) => status::status(status, &settings, voice).await,
            Command::Watch(watch) => watch::watch(watch, &settings, voice).await,
            #[cfg(feature = "dashboard")]
            Command::Dashboard(dashboard) => {
                dashboard::dashboard(dashboard, &settings, voice).await
            }
            Command::Revoke(revoke) => revoke::revoke(revoke, &settings, voice).await,
            Command::Prune(prune) => prune::prune(prune, &settings, voice).await,
            Command::Doctor => doctor::doctor(&settings, voice).await,
            Command::Init(init) => init::init(init, &settings, voice).await,
            Command::Demo | Command::Completions { .. } | Command::Man => {
                unreachable!("done before")
            }
        }
    };
    let ended = runtime.block_on(work);
    // A thread that still waits for something must not keep the program.
    runtime.shutdown_background();
    ended
}

/// The grace that was asked for, or half of the transition.
fn grace(asked: Option<Duration>, coordinator: &Coordinator) -> Result<Duration, Failure> {
    let transition = coordinator.terms().transition();
    match asked {
        Some(grace) if !grace.is_zero() && grace >= transition => Err(Failure::usage(format!(
            "--grace must be shorter than the transition, which is {transition:?}: give a \
             shorter one, or a longer --transition"
        ))),
        Some(grace) => Ok(grace),
        None => Ok(transition / 2),
    }
}
